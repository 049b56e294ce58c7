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
from collections.abc import Iterator

import numpy as np
from scipy.special import log_expit, log_softmax, logsumexp, ndtri, xlogy
from scipy.stats import qmc

from bayesvm.likelihoods.logistic import Logistic
from bayesvm.linalg.small_blocks import principal_roots
from bayesvm.typing import Blocks, Matrix, Vector

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
    for rows, log_proba in _at_points(mean, covariance):
        found[rows] = logsumexp(log_proba, axis=1)
    return np.asarray(log_softmax(found, axis=1))


def mutual_information(mean: Matrix, covariance: Blocks) -> Vector:
    r"""Return the mutual information between the class and the latent values, in nats, shape (m,).

    It is the entropy of the averaged probabilities less the averaged entropy, :math:`H(\bar\pi) - \overline{H(\pi)}`:
    what observing the class is expected to tell. Averages are those over the points; arguments as in
    :func:`averaged_log_proba`.
    """
    found = np.empty(len(mean))
    for rows, log_proba in _at_points(mean, covariance):
        proba = np.exp(log_proba)
        whole, within = np.mean(proba, axis=1), np.sum(proba * log_proba, axis=2)
        found[rows] = np.mean(within, axis=1) - np.sum(xlogy(whole, whole), axis=1)
    return np.maximum(found, 0.0)


def _at_points(mean: Matrix, covariance: Blocks) -> Iterator[tuple[slice, Blocks]]:
    """Yield rows with logarithms of the softmax at all points, shape (rows, POINTS, C)."""
    n, C = mean.shape
    centring, step = np.eye(C) - 1.0 / C, max(1, BLOCK // (POINTS * C))
    for first in range(0, n, step):
        rows = slice(first, first + step)
        roots = principal_roots(centring @ covariance[rows] @ centring)[:, :, : C - 1]
        f = mean[rows, None, :] + normal_points(C - 1) @ roots.transpose(0, 2, 1)
        yield rows, log_softmax(f, axis=2)


@functools.cache
def normal_points(dimensions: int) -> Matrix:
    """Return the points, shape (POINTS, dimensions)."""
    uniform = qmc.Sobol(dimensions, seed=np.random.default_rng(SEED)).random(POINTS // 2)
    half = ndtri(np.clip(uniform, 1e-9, 1.0 - 1e-9))
    return np.concatenate([half, -half])


__all__ = ["averaged_log_proba", "mutual_information", "normal_points"]
