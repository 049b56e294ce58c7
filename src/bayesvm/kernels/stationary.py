r"""Kernels of the distance, :math:`k(x, z) = v\,\varphi(r^2)`: the Matern family and the rational quadratic kernel.

A new one is two functions: the profile :math:`\varphi` and its slope :math:`\varphi' = d\varphi/dr^2`.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from bayesvm.kernels.ard import PerFeature
from bayesvm.kernels.inputs import Inputs
from bayesvm.kernels.leaf import frobenius
from bayesvm.parameters import Bounds
from bayesvm.typing import Matrix, Vector


@dataclasses.dataclass(frozen=True, repr=False)
class Radial(PerFeature):
    r"""A kernel of the scaled squared distance, Thesis (3.41) and (3.46).

    .. math:: k(x, z) = v\,\varphi(r^2), \qquad r^2 = \sum_l (x_l - z_l)^2 / \ell_l^2, \qquad \varphi(0) = 1.

    The papers write :math:`\kappa_0` for the variance :math:`v` and :math:`\kappa_l` for :math:`1/\ell_l^2`.
    """

    variance: float = 1.0
    lengthscale: float | Sequence[float] = 1.0

    def _r2(self, X: Inputs, Z: Inputs | None) -> Matrix:
        """Scaled squared distances in a fresh array."""
        inverse = self._checked_values(X, Z) ** -2.0
        if self._is_vector:
            return X.squared_distances(Z, weights=inverse)
        return X.squared_distances(Z) * inverse

    def _diag(self, X: Inputs) -> Vector:
        return np.full(len(X), self.variance)

    def _diag_pullback(self, X: Inputs, q: Vector) -> Vector:
        still = {name: np.zeros(np.shape(getattr(self, name))) for name in self.positive}
        return self._of_free({**still, "variance": self.variance * float(q.sum())})


@dataclasses.dataclass(frozen=True, repr=False)
class Stationary(Radial):
    r"""A radial kernel that is written as its profile :math:`\varphi` and the slope :math:`\varphi'`."""

    @abstractmethod
    def _profile(self, r2: Matrix) -> Matrix:
        r"""Return :math:`\varphi(r^2)`; it may overwrite ``r2``."""

    @abstractmethod
    def _slope(self, r2: Matrix, k: Matrix) -> Matrix:
        r"""Return :math:`d\varphi/dr^2`, given :math:`k = \varphi(r^2)`; it may overwrite ``k`` and leaves ``r2``.

        Only :math:`r^2 d\varphi/dr^2` counts, so a slope that is infinite at :math:`r = 0` is returned as zero there.
        """

    def _shape_gradients(self, r2: Matrix, k: Matrix, Q: Matrix) -> Mapping[str, float]:
        """Return the gradients of the profile's own parameters; it leaves its arguments as they are."""
        return {}

    def _gram(self, X: Inputs, Z: Inputs | None) -> Matrix:
        K = self._profile(self._r2(X, Z))
        K *= self.variance
        return K

    def _gradients(self, X: Inputs, Q: Matrix) -> Mapping[str, float | Vector]:
        return self._moved(X, None, Q)

    def _cross_pullback(self, X: Inputs, Z: Inputs, Q: Matrix) -> Vector:
        return self._of_free(self._moved(X, Z, Q))

    def _moved(self, X: Inputs, Z: Inputs | None, Q: Matrix) -> dict[str, float | Vector]:
        r2 = self._r2(X, Z)
        k = self._profile(r2.copy())
        gradients: dict[str, float | Vector] = {"variance": self.variance * frobenius(Q, k)}
        gradients.update(self._shape_gradients(r2, k, Q))
        if self._is_free("lengthscale"):
            k = self._slope(r2, k)
            k *= Q
            # d r2 / d log l_l = -2 (x_l - z_l)^2 / l_l^2
            if self._is_vector:
                del r2
                moved: float | Vector = X.spread(k, Z) / self._values**2
            else:
                moved = frobenius(k, r2)
            gradients["lengthscale"] = -2.0 * self.variance * moved
        return gradients


@dataclasses.dataclass(frozen=True, repr=False)
class OrnsteinUhlenbeck(Stationary):
    r"""Ornstein-Uhlenbeck (exponential) kernel.

    .. math:: k(x, z) = v\,e^{-r}, \qquad r^2 = \sum_l (x_l - z_l)^2 / \ell_l^2

    Domain: dense or sparse vectors. Positive definite on distinct points; sample functions are continuous and nowhere
    differentiable.

    Parameters
    ----------
    variance : float
        :math:`v`.
    lengthscale : float or sequence of float
        :math:`\ell_l`.
    ard : bool
        Whether every feature has a length scale of its own, which a sequence implies.

    Notes
    -----
    Special cases: Matern kernel of smoothness 1/2; in one dimension the covariance of a Markov process. The slope
    :math:`dk/dr^2 = -k/2r` is infinite at :math:`r = 0`, but there :math:`r^2\,dk/dr^2 = 0`, which is what is used.

    References
    ----------
    Rasmussen2006 section 4.2.1.
    """

    def _profile(self, r2: Matrix) -> Matrix:
        r = np.sqrt(r2, out=r2)
        np.negative(r, out=r)
        return np.exp(r, out=r)

    def _slope(self, r2: Matrix, k: Matrix) -> Matrix:
        r = np.sqrt(r2)
        r *= -2.0
        zero = r == 0.0
        r[zero] = 1.0
        k /= r
        k[zero] = 0.0
        return k


@dataclasses.dataclass(frozen=True, repr=False)
class Matern32(Stationary):
    r"""Matern kernel of smoothness 3/2.

    .. math:: k(x, z) = v\,(1 + s)\,e^{-s}, \qquad s^2 = 3 \sum_l (x_l - z_l)^2 / \ell_l^2

    Domain: dense or sparse vectors. Positive definite on distinct points; sample functions are once differentiable.

    Parameters
    ----------
    variance : float
        :math:`v`.
    lengthscale : float or sequence of float
        :math:`\ell_l`.
    ard : bool
        Whether every feature has a length scale of its own, which a sequence implies.

    References
    ----------
    Rasmussen2006 section 4.2.1.
    """

    def _profile(self, r2: Matrix) -> Matrix:
        s = _root(3.0, r2, out=r2)
        decay = np.exp(-s)
        s += 1.0
        s *= decay
        return s

    def _slope(self, r2: Matrix, k: Matrix) -> Matrix:
        # -3/2 exp(-s), with exp(-s) = k / (1 + s)
        s = _root(3.0, r2)
        s += 1.0
        k /= s
        k *= -1.5
        return k


@dataclasses.dataclass(frozen=True, repr=False)
class Matern52(Stationary):
    r"""Matern kernel of smoothness 5/2.

    .. math:: k(x, z) = v\,(1 + s + s^2/3)\,e^{-s}, \qquad s^2 = 5 \sum_l (x_l - z_l)^2 / \ell_l^2

    Domain: dense or sparse vectors. Positive definite on distinct points; sample functions are twice differentiable.

    Parameters
    ----------
    variance : float
        :math:`v`.
    lengthscale : float or sequence of float
        :math:`\ell_l`.
    ard : bool
        Whether every feature has a length scale of its own, which a sequence implies.

    References
    ----------
    Rasmussen2006 section 4.2.1.
    """

    def _profile(self, r2: Matrix) -> Matrix:
        s = _root(5.0, r2, out=r2)
        decay = np.exp(-s)
        decay *= _quadratic(s)
        return decay

    def _slope(self, r2: Matrix, k: Matrix) -> Matrix:
        # -5/6 (1 + s) exp(-s), with exp(-s) = k / (1 + s + s^2/3)
        s = _root(5.0, r2)
        k /= _quadratic(s)
        s += 1.0
        k *= s
        k *= -5.0 / 6.0
        return k


@dataclasses.dataclass(frozen=True, repr=False)
class RationalQuadratic(Stationary):
    r"""Rational quadratic kernel.

    .. math:: k(x, z) = v\,\Bigl(1 + \frac{r^2}{2\alpha}\Bigr)^{-\alpha}, \qquad
              r^2 = \sum_l (x_l - z_l)^2 / \ell_l^2

    Domain: dense or sparse vectors. Positive definite on distinct points; it decays like a power of the distance.

    Parameters
    ----------
    variance : float
        :math:`v`.
    lengthscale : float or sequence of float
        :math:`\ell_l`.
    alpha : float
        :math:`\alpha`: how narrow the mixture of length scales is.
    ard : bool
        Whether every feature has a length scale of its own, which a sequence implies.

    Notes
    -----
    Special cases: ``alpha`` to infinity is :class:`Gaussian`; ``alpha=1`` is the Cauchy kernel. The power is computed
    as :math:`\exp(-\alpha \log(1 + r^2/2\alpha))` with ``log1p``, exact for large ``alpha`` too.

    References
    ----------
    Rasmussen2006 section 4.2.1.
    """

    positive: ClassVar[Mapping[str, Bounds]] = {**PerFeature.positive, "alpha": (1e-3, 1e4)}

    alpha: float = 1.0

    def _profile(self, r2: Matrix) -> Matrix:
        r2 *= 0.5 / self.alpha
        np.log1p(r2, out=r2)
        r2 *= -self.alpha
        return np.exp(r2, out=r2)

    def _slope(self, r2: Matrix, k: Matrix) -> Matrix:
        # -1/2 k / (1 + r2 / 2 alpha)
        base = r2 * (0.5 / self.alpha)
        base += 1.0
        k /= base
        k *= -0.5
        return k

    def _shape_gradients(self, r2: Matrix, k: Matrix, Q: Matrix) -> Mapping[str, float]:
        # d log k / d log alpha = alpha [h / (1 + h) - log(1 + h)],  h = r2 / 2 alpha
        h = r2 * (0.5 / self.alpha)
        term = np.log1p(h)
        np.negative(term, out=term)
        h /= 1.0 + h
        term += h
        term *= k
        return {"alpha": self.variance * self.alpha * frobenius(Q, term)}


def _root(factor: float, r2: Matrix, out: Matrix | None = None) -> Matrix:
    """Return ``sqrt(factor * r2)``."""
    scaled = np.multiply(r2, factor, out=out)
    return np.asarray(np.sqrt(scaled, out=scaled))


def _quadratic(s: Matrix) -> Matrix:
    """Return ``1 + s + s**2 / 3`` in a fresh array."""
    value = s / 3.0
    value += 1.0
    value *= s
    value += 1.0
    return value


__all__ = ["Matern32", "Matern52", "OrnsteinUhlenbeck", "Radial", "RationalQuadratic", "Stationary"]
