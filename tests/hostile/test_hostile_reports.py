"""Reports: names and labels from the data are text, whatever they look like."""

import re

import numpy as np
import pandas as pd
import pytest

import bayesvm
from bayesvm.report import collect_facts, render

HOSTILE = (
    "<script>alert(1)</script>",
    "\"><img src=x onerror='alert(2)'>",
    "</title><svg onload=alert(3)>",
    "&lt;b&gt;",
)


@pytest.mark.filterwarnings("ignore:.*did not converge:sklearn.exceptions.ConvergenceWarning")
def test_a_report_holds_no_active_content_from_the_data():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(24, 2)), columns=list(HOSTILE[:2]))
    y = np.where(X.iloc[:, 0] > 0.0, HOSTILE[2], HOSTILE[0])
    machine = bayesvm.BayesianLSSVC(n_starts=1).fit(X, y)
    page = render(collect_facts(machine, X, y, target=HOSTILE[3]), model=HOSTILE[1])
    for text in HOSTILE[:3]:
        assert text not in page
    tags = re.sub(r'="[^"]*"', "", page)  # values of attributes are text, whatever they say
    assert not re.search(r"<[^>]*\son\w+\s*", tags)  # no handler of events in any tag
    assert not re.search(r"(src|href)\s*=\s*[\"']?(https?:|//|javascript:)", page)  # nothing is fetched from elsewhere
