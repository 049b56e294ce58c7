"""The machines that the papers compare with."""

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

pytest.importorskip("bayesvm.experiments", reason="the experiments are part of the source, not of the wheel")

from bayesvm.experiments.baselines import searched_svc


def test_of_equal_validation_errors_the_one_with_the_fewest_support_vectors_counts():
    """Chu2003, footnote 9: two classes far apart have many points of the grid without any error."""
    rng = np.random.default_rng(0)
    y = np.repeat([-1, 1], 15)
    X = 3.0 * y[:, None] + rng.normal(size=(30, 1))
    machine, C, kappa = searched_svc(X, y, 5, coarse=4, fine=1)
    assert (machine.C, machine.gamma) == pytest.approx((C, 0.5 * kappa))
    counts = []
    for c in np.logspace(0.0, 3.0, 4):
        for k in np.logspace(-3.0, 0.0, 4):
            other = SVC(C=c, gamma=0.5 * k)
            if cross_val_score(other, X, y, cv=5).mean() == 1.0:
                counts.append(other.fit(X, y).n_support_.sum())
    assert len(counts) > 1
    assert min(counts) < max(counts)
    assert machine.n_support_.sum() == min(counts)
