"""Weights that take outliers out."""

import numpy as np
import pytest

from bayesvm.inference.ls_svm import (
    robust_weights,
)


def test_robust_weights_leave_the_bulk_alone():
    e = np.concatenate([np.linspace(-1.0, 1.0, 41), [50.0]])[:, None]
    weights = robust_weights(e)
    assert np.all(weights[:-1] == 1.0)
    assert weights[-1] == pytest.approx(1e-4)
    assert np.all(robust_weights(np.zeros((5, 2))) == 1.0)


def test_deviations_are_from_the_median():
    e = np.array([1.0, 2.0, 3.0, 4.0, 100.0])[:, None]  # median 3, deviations 2, 1, 0, 1, 97, their median 1
    expected = [1.0, 1.0, 1.0, (3.0 - 4.0 / 1.483) / 0.5, 1e-4]
    np.testing.assert_allclose(robust_weights(e), expected)
