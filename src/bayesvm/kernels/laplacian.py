"""Kernels of the Manhattan distance, whose functions bend along the axes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
from scipy.spatial.distance import cdist

from bayesvm.kernels.ard import PerFeature
from bayesvm.kernels.inputs import BLOCK, Inputs
from bayesvm.kernels.leaf import frobenius
from bayesvm.parameters import check_positive
from bayesvm.typing import Matrix, Vector

#: Distances below which a power with a negative exponent could be infinite.
TINY = float(np.finfo(np.float64).tiny)


@dataclasses.dataclass(frozen=True, repr=False)
class Laplacian(PerFeature):
    r"""Laplacian kernel: exponential in a power of the Manhattan distance.

    .. math:: k(x, z) = v\,e^{-s^p}, \qquad s = \sum_l |x_l - z_l| / \ell_l

    Domain: dense vectors. Positive definite on distinct points for :math:`0 < p \le 1`, because :math:`s` is a
    conditionally negative definite function and such powers keep that.

    Parameters
    ----------
    variance : float
        :math:`v`.
    lengthscale : float or sequence of float
        :math:`\ell_l`.
    power : float
        :math:`p`, above zero and at most one; not learnt.
    ard : bool
        Whether every feature has a length scale of its own, which a sequence implies.

    Notes
    -----
    Special cases: with :math:`p = 1` it is the product over the features of :class:`OrnsteinUhlenbeck` kernels of one
    feature each, the limit of averages over many random trees with axis-parallel cuts (Mondrian trees);
    with one feature and :math:`p = 1` it is that kernel. Its functions may change along one axis and be constant along
    all others, which suits features that act by thresholds, counts of which most are zero, and codes of categories.
    Smaller powers are rougher nearby and reach further.

    The derivative in :math:`\ln \ell_l` is :math:`k\,p\,s^{p-1} |x_l - z_l| / \ell_l`, zero at :math:`s = 0`.

    References
    ----------
    Schoenberg1938; Balog2016.
    """

    variance: float = 1.0
    lengthscale: float | Sequence[float] = 1.0
    power: float = dataclasses.field(default=1.0, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        power = check_positive("Laplacian.power", self.power, sequence=False)
        assert isinstance(power, float)
        if power > 1.0:
            raise ValueError(
                f"Laplacian.power: expected a number above zero and at most one, found {power:g}; exponentials of "
                "higher powers of the Manhattan distance are no covariance functions"
            )
        object.__setattr__(self, "power", power)

    def _scaled(self, X: Inputs) -> Matrix:
        return np.asarray(X.dense() / self._checked_values(X))

    def _distances(self, X: Inputs, Z: Inputs | None) -> Matrix:
        """Return s in a fresh array."""
        left = self._scaled(X)
        return np.asarray(cdist(left, left if Z is None else self._scaled(Z), "cityblock"))

    def _profile(self, s: Matrix) -> Matrix:
        r"""Return :math:`e^{-s^p}` in the place of ``s``."""
        if self.power != 1.0:
            np.power(s, self.power, out=s)
        np.negative(s, out=s)
        return np.asarray(np.exp(s, out=s))

    def _gram(self, X: Inputs, Z: Inputs | None) -> Matrix:
        K = self._profile(self._distances(X, Z))
        K *= self.variance
        return K

    def _diag(self, X: Inputs) -> Vector:
        X.dense()
        return np.full(len(X), self.variance)

    def _gradients(self, X: Inputs, Q: Matrix) -> Mapping[str, float | Vector]:
        return self._moved(X, None, Q)

    def _cross_pullback(self, X: Inputs, Z: Inputs, Q: Matrix) -> Vector:
        return self._of_free(self._moved(X, Z, Q))

    def _moved(self, X: Inputs, Z: Inputs | None, Q: Matrix) -> dict[str, float | Vector]:
        s = self._distances(X, Z)
        k = self._profile(s.copy())
        gradients: dict[str, float | Vector] = {"variance": self.variance * frobenius(Q, k)}
        if self._is_free("lengthscale"):
            k *= Q
            if self._is_vector:
                if self.power != 1.0:
                    np.power(s, self.power - 1.0, out=s, where=s > TINY)
                    k *= s
                moved: float | Vector = self._spread(k, X, X if Z is None else Z)
            else:
                moved = frobenius(k, np.power(s, self.power, out=s))
            gradients["lengthscale"] = self.variance * self.power * moved
        return gradients

    def _spread(self, W: Matrix, X: Inputs, Z: Inputs) -> Vector:
        r"""Return :math:`\sum_{ij} W_{ij} |x_{il} - z_{jl}| / \ell_l`, one number per feature, by blocks of rows."""
        left, right = self._scaled(X), np.ascontiguousarray(self._scaled(Z).T)
        total, step = np.zeros(len(right)), max(1, BLOCK // max(1, len(Z)))
        for start in range(0, len(left), step):
            rows = slice(start, start + step)
            for l, z in enumerate(right):
                away = np.subtract.outer(left[rows, l], z)
                np.abs(away, out=away)
                total[l] += frobenius(W[rows], away)
        return total


__all__ = ["Laplacian"]
