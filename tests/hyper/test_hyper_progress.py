"""Progress bars: silent where standard error is not a terminal; what is missing is said."""

import sys

import numpy as np
import pytest

from bayesvm.hyper import SearchProgress
from bayesvm.hyper.progress import ProgressBar


def test_a_bar_is_silent_off_a_terminal(capsys):
    with ProgressBar("BayesianSVC") as bar:
        for k in range(3):
            bar(SearchProgress(0, k + 1, np.zeros(2), -1.0 - k, -1.0))
    assert capsys.readouterr() == ("", "")


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with pytest.raises(ImportError, match=r"pip install 'bayesvm\[progress\]'"):
        ProgressBar("BayesianSVC")
