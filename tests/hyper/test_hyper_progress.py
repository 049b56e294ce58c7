"""Progress bars: silent where standard error is not a terminal; what is missing is said."""

import io
import re
import sys
import time

import numpy as np
import pytest

from bayesvm import BayesianSVC, GPRegressor
from bayesvm.estimators import _attributes as attributes
from bayesvm.estimators import _large
from bayesvm.hyper import SearchProgress
from bayesvm.hyper.progress import ProgressBar


def test_a_bar_is_silent_off_a_terminal(capsys):
    with ProgressBar("BayesianSVC") as bar:
        for k in range(3):
            bar(SearchProgress(0, k + 1, np.zeros(2), -1.0 - k, -1.0))
    assert capsys.readouterr() == ("", "")


class Terminal(io.StringIO):
    """What a person looks at."""

    def isatty(self):
        return True


def test_a_bar_has_a_total_and_a_time_left_and_no_evidence(monkeypatch):
    pytest.importorskip("tqdm")
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with ProgressBar("BayesianSVC", expected=4) as bar:
        bar._bar.mininterval = 0.0
        for k in range(9):
            time.sleep(0.01)
            bar(SearchProgress(k % 2, k + 1, np.zeros(2), -1.0 - k, -1.0))
            assert bar._bar.n < bar._bar.total  # more than expected: the guess grows
    shown = terminal.getvalue()
    assert re.search(r"\d+%\|", shown)
    assert re.search(r"\d+/\d+ \[\d\d:\d\d<\d\d:\d\d", shown)  # time spent < time left
    assert "start 2" in shown
    assert "evidence" not in shown


def test_an_estimator_expects_more_of_more_starts_and_outputs(monkeypatch):
    pytest.importorskip("tqdm")
    expected = []
    monkeypatch.setattr(attributes, "ProgressBar", lambda title, total: expected.append(total) or ProgressBar(title))
    for model, outputs in ((BayesianSVC(n_starts=1, verbose=1), 1), (BayesianSVC(n_starts=4, verbose=1), 3)):
        with attributes.progress(model, outputs):
            pass
    assert expected[1] == 12 * expected[0]


def test_the_bar_says_what_a_fit_of_many_rows_is_expected_to_need(monkeypatch):
    pytest.importorskip("tqdm")
    titles = []
    monkeypatch.setattr(attributes, "ProgressBar", lambda title, total: titles.append(title) or ProgressBar(title))
    monkeypatch.setattr(_large, "EXACT_ROWS", 40)
    X = np.random.default_rng(0).normal(size=(60, 2))
    for n in (40, 60):
        GPRegressor("rbf", inducing=10, optimizer=None, verbose=1).fit(X[:n], X[:n, 0])
    assert titles[0] == "GPRegressor"
    assert re.fullmatch(r"GPRegressor \(up to about \d+ MiB and \d+ s\)", titles[1])


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with pytest.raises(ImportError, match=r"pip install 'bayesvm\[progress\]'"):
        ProgressBar("BayesianSVC")
