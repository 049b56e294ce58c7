r"""Class probabilities of the softmax, averaged over Gaussian latent values.

.. math:: P_k = \int \frac{e^{f_k}}{\sum_l e^{f_l}}\, \mathcal N(f; m, \Sigma)\, df

The softmax does not change if all latent values of a row grow by the same amount, so their mean over the classes is
taken out of m and :math:`\Sigma`: C - 1 dimensions remain. Two classes leave one, where the integral is that of the
logistic likelihood, by quadrature. For more, the average is taken over ``POINTS`` points, the same ones at every call:
half of them a scrambled Sobol sequence with a fixed seed, turned into normal variates along the principal axes of
:math:`\Sigma`, the longest first; the other half their mirror images, so that all odd moments are exact. The result
does not depend on chance, and on the order of the classes only within the error of the rule. For standard deviations of
the latent values of up to 3 and up to 20 classes that error is below 0.01 in a probability.
"""

from __future__ import annotations

import functools

import numpy as np
from scipy.special import log_expit, log_softmax, logsumexp, ndtri
from scipy.stats import qmc

from bayesvm.likelihoods.logistic import Logistic
from bayesvm.linalg.small_blocks import Blocks, principal_roots
from bayesvm.typing import Matrix

#: Number of points, a power of two, and the seed of the scrambling.
POINTS, SEED = 1024, 0
#: Numbers that are held at a time.
BLOCK = 1 << 21


def averaged_log_proba(mean: Matrix, covariance: Blocks) -> Matrix:
    """Return logarithms of the averaged class probabilities, shape (m, C).

    Parameters
    ----------
    mean : array, shape (m, C)
        Means of the latent values.
    covariance : array, shape (m, C, C)
        Their covariances.
    """
    n, C = mean.shape
    if C == 2:
        sign = np.array([-1.0, 1.0])
        odds = Logistic().log_odds(mean @ sign, np.maximum((covariance @ sign) @ sign, 0.0))
        return np.column_stack([log_expit(-odds), log_expit(odds)])
    found = np.empty((n, C))
    step = max(1, BLOCK // (POINTS * C))
    for first in range(0, n, step):
        rows = slice(first, first + step)
        found[rows] = _averaged(mean[rows], covariance[rows])
    return np.asarray(log_softmax(found, axis=1))


def _averaged(mean: Matrix, covariance: Blocks) -> Matrix:
    """Return logarithms of the mean over the points, for three classes or more."""
    C = mean.shape[1]
    centring = np.eye(C) - 1.0 / C
    roots = principal_roots(centring @ covariance @ centring)[:, :, : C - 1]
    f = mean[:, None, :] + normal_points(C - 1) @ roots.transpose(0, 2, 1)
    return np.asarray(logsumexp(log_softmax(f, axis=2), axis=1))


@functools.cache
def normal_points(dimensions: int) -> Matrix:
    """Return the points, shape (POINTS, dimensions)."""
    uniform = qmc.Sobol(dimensions, rng=np.random.default_rng(SEED)).random(POINTS // 2)
    half = ndtri(np.clip(uniform, 1e-9, 1.0 - 1e-9))
    return np.concatenate([half, -half])


__all__ = ["averaged_log_proba", "normal_points"]
