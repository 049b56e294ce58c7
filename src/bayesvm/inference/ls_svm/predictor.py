r"""The posterior at new points: mean, variances, and variances of differences to class centres.

The posterior covariance of w is (VanGestel2002, appendix A)

.. math:: (\mu I + \zeta G)^{-1} = \mu^{-1} \bigl[I - B (B^\top B + I/\gamma)^{-1} B^\top\bigr], \quad B = \Upsilon S P,

hence, for the difference :math:`\delta = \varphi(x) - \sum_c \pi_c \hat m_c` to a mixture of centres in feature space,

.. math:: \operatorname{var}(w^\top \delta) = \mu^{-1} \bigl[\delta^\top\delta - \textstyle\sum_i g_i u_i^2\bigr], \quad
          u = V^\top S \Upsilon^\top \delta, \quad g_i = \frac{1}{\lambda_i + 1/\gamma},

which is (3.11) for one centre. If V spans only part of the space, the sum is smaller than it should be, whatever
orthonormal V and its Rayleigh quotients are: it is the maximum of :math:`2 u^\top z - z^\top (B^\top B + I/\gamma) z`
over z in the span. Variances are then too large, never too small.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm.inference.ls_svm.design import Design
from bayesvm.inference.ls_svm.level1 import LevelOne
from bayesvm.inference.ls_svm.level2 import LevelTwo
from bayesvm.inference.ls_svm.spectrum import Spectrum
from bayesvm.linalg.cholesky import Cholesky
from bayesvm.linalg.eigen import Product
from bayesvm.typing import Matrix, Vector

#: A variance below this share of the two squared lengths whose difference it is, is rounding.
ROUNDING = 16.0 * float(np.finfo(float).eps)


@dataclasses.dataclass(frozen=True)
class GroupCentres:
    """Centres of groups of training rows in feature space, as seen from the rows on which the machine rests."""

    rho: Matrix  #: Coefficients of the centres; shape (m, C).
    shift: Matrix  #: Their coordinates u; shape (r, C).
    gram: Matrix  #: Their inner products; shape (C, C).
    counts: Vector  #: Weight of each group; shape (C,).


@dataclasses.dataclass(frozen=True)
class Predictor:
    r"""Everything that prediction needs, in terms of kernels with m rows (training rows or landmarks)."""

    #: Mean of the latent function, :math:`k(x)^\top\beta + b`; shapes (m, q) and (q,).
    beta: Matrix
    bias: Vector
    T: Matrix  #: Coordinates of x, :math:`u = T^\top k(x)`; shape (m, r).
    gain: Vector  #: :math:`1/(\lambda_i + 1/\gamma)`; shape (r,).
    #: Precisions of weights and noise.
    mu: float
    zeta: float
    anchors: GroupCentres  #: Group centres; the mean of all rows is their mixture with the counts as weights.
    has_bias: bool  #: Whether the bias is part of the model.

    def mean(self, K_s: Matrix) -> Matrix:
        """Return the latent means, shape (n, q); ``K_s`` has one row per new point."""
        return np.asarray(K_s @ self.beta + self.bias)

    def spreads(self, K_s: Matrix, k_ss: Vector, mixtures: Matrix) -> Matrix:
        r"""Return :math:`\operatorname{var}(w^\top\delta) \ge 0` (n, R) for the columns of ``mixtures`` (C, R)."""
        a = self.anchors
        U, to_anchors = K_s @ self.T, K_s @ a.rho
        result = np.empty((K_s.shape[0], mixtures.shape[1]))
        for j, mixture in enumerate(mixtures.T):
            u = U - a.shift @ mixture
            lengths = k_ss + float(mixture @ a.gram @ mixture)
            left = lengths - 2.0 * (to_anchors @ mixture) - (u * u) @ self.gain
            result[:, j] = np.where(left > ROUNDING * lengths, left, 0.0)
        return result / self.mu

    @property
    def centre(self) -> Vector:
        """Mixture of anchors that the bias subtracts: the mean of all rows, or nothing."""
        counts = self.anchors.counts
        return counts / counts.sum() if self.has_bias else np.zeros_like(counts)

    @property
    def bias_var(self) -> float:
        """Posterior variance of the mean of the latent function over the training rows, Q_22 of (A.2) in part."""
        return 1.0 / (float(self.anchors.counts.sum()) * self.zeta) if self.has_bias else 0.0

    def var(self, K_s: Matrix, k_ss: Vector) -> Vector:
        """Return the variance of the latent function at new points; the same for every output."""
        return np.asarray(self.spreads(K_s, k_ss, self.centre[:, None])[:, 0] + self.bias_var)

    def covariance(self, K_s: Matrix, K_ss: Matrix) -> Matrix:
        """Return the joint covariance of the latent function at new points."""
        a, centre = self.anchors, self.centre
        u = K_s @ self.T - a.shift @ centre
        to_centre = K_s @ (a.rho @ centre)
        inner = K_ss - to_centre[:, None] - to_centre + float(centre @ a.gram @ centre)
        return np.asarray((inner - (u * self.gain) @ u.T) / self.mu + self.bias_var)


def group_weights(groups: Matrix, counts: Vector) -> tuple[Matrix, Vector]:
    """Return the averaging weights of each group of rows (columns of an indicator matrix) and its total weight."""
    weighted = groups * counts[:, None]
    totals = weighted.sum(axis=0)
    return weighted / totals, totals


def row_predictor(product: Product, spectrum: Spectrum, first: LevelOne, second: LevelTwo, groups: Matrix) -> Predictor:
    """Build the predictor of a machine that rests on all training rows; ``groups`` is an indicator matrix (n, C)."""
    gain = second.gamma / (1.0 + second.gamma * spectrum.values)
    return coordinate_predictor(product, spectrum.design, spectrum.basis, gain, first, second, groups)


def coordinate_predictor(
    product: Product,
    design: Design,
    basis: Matrix,
    gain: Vector,
    first: LevelOne,
    second: LevelTwo,
    groups: Matrix,
) -> Predictor:
    r"""Build the predictor from any basis (n, r) of scaled space in which the inverse is diagonal.

    :math:`P (P^\top \tilde K P + I/\gamma)^{-1} P^\top` is ``basis`` times ``gain`` times the transpose of ``basis``.
    """
    T = design.scaled(basis)
    rho, totals = group_weights(groups, design.counts)
    K_rho = product(rho)
    anchors = GroupCentres(rho, T.T @ K_rho, rho.T @ K_rho, totals)
    return Predictor(first.alpha, first.bias, T, gain, second.mu, second.zeta, anchors, design.bias)


def feature_predictor(
    factor: Cholesky,
    spectrum: Spectrum,
    coordinates: Matrix,
    second: LevelTwo,
    centres: Matrix,
    counts: Vector,
    mean: Vector,
    y_mean: Vector,
) -> Predictor:
    r"""Build the predictor of a machine in the features :math:`\varphi(x) = L^{-1} k(x)` of landmarks.

    Parameters
    ----------
    factor : Cholesky
        :math:`L L^\top` is the Gram matrix of the landmarks.
    spectrum, coordinates : Spectrum, array (m, r)
        What :func:`~bayesvm.inference.ls_svm.spectrum.feature_spectrum` returns.
    second : LevelTwo
        Hyperparameters.
    centres, counts : arrays, shapes (m, C) and (C,)
        Mean features and weights of the groups.
    mean, y_mean : arrays, shapes (m,) and (q,)
        Weighted means of features and targets.
    """
    gain = second.gamma / (1.0 + second.gamma * spectrum.values)
    w = coordinates @ (gain[:, None] * spectrum.targets)
    has_bias = spectrum.design.bias
    bias = y_mean - mean @ w if has_bias else np.zeros(w.shape[1])
    lift = factor.back_solve
    anchors = GroupCentres(lift(centres), coordinates.T @ centres, centres.T @ centres, counts)
    return Predictor(lift(w), bias, lift(coordinates), gain, second.mu, second.zeta, anchors, has_bias)


__all__ = ["GroupCentres", "Predictor", "coordinate_predictor", "feature_predictor", "group_weights", "row_predictor"]
