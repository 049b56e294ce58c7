r"""What a likelihood is (the contract page of this folder).

A likelihood is written as a loss, :math:`\ell = -\ln p(y|f)`, normalising constant included, so that evidences need no
further terms. Every likelihood of this library depends on its two arguments through one number,

* classification: the margin :math:`t = y f` with labels :math:`y \in \{-1, +1\}`,
* regression: the residual :math:`t = y - f`,

and a subclass gives the mathematics in t: ``traits`` (facts that solvers and inference read), ``knots`` and ``domain``,
``profile`` (:math:`\ell(t)` with its derivatives), and ``profile_parameters`` if it has parameters. All else is
derived: the derivatives in f; the Gaussian integrals that prediction, expectation propagation and the variational bound
need, by quadrature between the knots (:mod:`~bayesvm.likelihoods.tilted`, :mod:`~bayesvm.likelihoods.expectations`,
where closed forms are registered); the distribution of the noise (:mod:`~bayesvm.likelihoods.noise`).
"""

from __future__ import annotations

import dataclasses
import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Self

import numpy as np
from scipy.special import expit, ndtr

from bayesvm.exceptions import IncompatibleError
from bayesvm.likelihoods.dual import Dual
from bayesvm.likelihoods.expectations import Expected, expected, expected_theta, require_finite
from bayesvm.likelihoods.noise import NoiseDistribution, log_survival, noise_average
from bayesvm.likelihoods.quadrature import by_variance, check_gaussians
from bayesvm.likelihoods.tilted import Tilted, log_normalizer, tilted, tilted_theta
from bayesvm.parameters import Parameterized
from bayesvm.typing import Indices, Matrix, Vector

#: Latent values at which :meth:`Classification.least_log_odds` reads the likelihood.
LEVELS = (0.5, 1.0, 2.0)
#: How close to one a probability may come there; odds may be infinite beyond.
SURE = 1e-6


@dataclasses.dataclass(frozen=True)
class Traits:
    """Facts about a likelihood that solvers and inference methods read.

    Parameters
    ----------
    smoothness : int
        Number of continuous derivatives of the loss where it is finite: 0 (kinks), 1 (curvature jumps), 2, or 3 for
        "as many as needed".
    convex : bool
        Whether the loss is convex in f.
    normalized : bool
        Whether the likelihood is a probability of y: sums to one over the labels, or integrates to one over the
        targets.
    sparse : bool
        Whether the loss is flat somewhere, so that some training points drop out of the solution.
    quadratic : bool
        Whether the loss is quadratic in f (Gaussian noise), so that inference is exact.
    levels_off : bool
        For labels: whether dp(y|f)/df falls as f moves away from zero. The average of p(y|f) over a Gaussian of given
        mean then comes the closer to one half, the larger the variance.
    """

    smoothness: int
    convex: bool
    normalized: bool
    sparse: bool
    quadratic: bool = False
    levels_off: bool = False


@dataclasses.dataclass(frozen=True)
class Derivatives:
    r"""Loss and its derivatives in f, one entry per sample.

    Attributes
    ----------
    loss, gradient, curvature, third : arrays, shape (n,)
        :math:`\ell`, :math:`\ell'`, :math:`\ell''`, :math:`\ell'''`; the loss is ``inf`` outside the domain.
    """

    loss: Vector
    gradient: Vector
    curvature: Vector
    third: Vector


@dataclasses.dataclass(frozen=True)
class ThetaDerivatives:
    """Derivatives of (loss, gradient, curvature) in the logarithms of the free parameters, each of shape (p, n)."""

    loss: Matrix
    gradient: Matrix
    curvature: Matrix


@dataclasses.dataclass(frozen=True, kw_only=True)
class Likelihood(Parameterized, ABC):
    """A pointwise loss, minus the logarithm of a probability; see the module for the contract."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.positive:
            if isinstance(getattr(self, name), tuple):
                raise ValueError(f"{type(self).__name__}.{name}: expected one positive number, found a sequence")

    # -- the mathematics, given by a subclass -------------------------------------------------------------------------
    @property
    @abstractmethod
    def traits(self) -> Traits:
        """What solvers and inference may rely on; usually a plain class attribute."""

    @property
    @abstractmethod
    def knots(self) -> tuple[float, ...]:
        """Increasing points in t between which the profile is smooth at the scale of the quadrature rule; at least one.

        Between them the loss must be convex. A plain class attribute, unless they depend on parameters.
        """

    @property
    def domain(self) -> tuple[float, float]:
        """Open interval of t on which the loss is finite."""
        return (-np.inf, np.inf)

    @abstractmethod
    def profile(self, t: Vector) -> Derivatives:
        """Return the loss and its first three derivatives in t (the margin or the residual), an array of any shape.

        Outside the domain the loss is ``inf`` and the derivatives are 0: a solver rejects such a point by its loss. At
        a knot where a derivative jumps, one of its two values is returned.
        """

    def profile_parameters(self, t: Vector) -> Mapping[str, tuple[Vector, Vector, Vector]]:
        """Return the derivatives of (loss, loss', loss'') in the logarithm of each positive parameter, at fixed t."""
        needed = ", ".join(self.positive)
        raise TypeError(f"{type(self).__name__}.profile_parameters: expected the derivatives in {needed}, found none")

    @abstractmethod
    def argument(self, y: Vector, f: Vector) -> Vector:
        """Return t, the margin or the residual."""

    @abstractmethod
    def slope(self, y: Vector) -> Vector:
        """Return dt/df, which is +1 or -1 for every sample."""

    # -- what a subclass may know besides -----------------------------------------------------------------------------
    def dual(self, y: Vector) -> Dual | None:
        """Return the dual of the losses of ``y`` if it has the form that the working-set solver treats, else None."""
        return None

    @property
    def smoothed(self) -> Likelihood:
        """A likelihood of the same shape and parameters with a continuous second derivative: itself, if it has one."""
        return self

    @property
    def companion(self) -> Likelihood:
        """Gaussian noise of the same variance, whose evidence is exact and smooth: itself, if that is no help."""
        return self

    def matching(self, companion: Likelihood) -> tuple[Likelihood, ...]:
        """Return likelihoods of this kind, of different shapes, whose noise has the variance of a companion's."""
        return (self,)

    @property
    def margin_loss(self) -> Likelihood:
        """The convex loss of the support vector machine that belongs to it: itself, unless that is another one."""
        return self

    def eased(self, n: int, enough: int) -> Likelihood:
        """Return a likelihood of the same parameters whose evidence is easier to maximise: itself, if none is.

        Of n samples about ``enough`` (or all) have curvature under it.
        """
        return self

    def majorant(self, t: Vector) -> Vector:
        r"""Return the curvature at t, or more where the loss is straight: :math:`\ell'(t)/(t - t_0)`.

        That is the curvature of the parabola that touches the loss at t, lies above it, and has its minimum where that
        of the loss begins, at :math:`t_0`. Steps of Newton's method with it are not too long. The curvature itself,
        unless a subclass has straight parts.
        """
        return self.profile(t).curvature

    @property
    def origin(self) -> float:
        """Point from which :meth:`shifted_profile` measures t: the end of the domain if there is one, else zero."""
        return next((end for end in self.domain if math.isfinite(end)), 0.0)

    def shifted_profile(self, x: Vector) -> Derivatives:
        """Return the profile at ``t = origin + x``, exact for tiny x if the loss is infinite at the origin."""
        origin = self.origin
        return self.profile(origin + x if origin else x)

    def shifted_loss(self, x: Vector) -> Vector:
        """Return the loss alone at ``t = origin + x``: what a quadrature with many nodes asks for."""
        return self.shifted_profile(x).loss

    # -- sample weights -----------------------------------------------------------------------------------------------
    @property
    def plain(self) -> Likelihood:
        """The likelihood of one new sample: itself, unless it carries sample weights."""
        return self

    @property
    def copies(self) -> Vector | float:
        """How often each training sample occurs: once, unless it carries a sample weight above one."""
        return 1.0

    def part(self, rows: Indices) -> Likelihood:
        """Return the likelihood of some of the training samples: itself, unless it carries sample weights."""
        return self

    # -- derived ------------------------------------------------------------------------------------------------------
    def profile_theta(self, t: Vector) -> ThetaDerivatives:
        """Return the derivatives of (loss, loss', loss'') in the free parameters' logarithms, at fixed t."""
        t = np.asarray(t, dtype=float)
        names = self.names
        rows = self.profile_parameters(t) if names else {}
        parts = (np.array([rows[name][i] for name in names]).reshape(len(names), *t.shape) for i in range(3))
        return ThetaDerivatives(*parts)

    def derivatives(self, y: Vector, f: Vector) -> Derivatives:
        """Return the loss and its first three derivatives in f."""
        p = self.profile(self.argument(y, f))
        s = self.slope(y)
        return Derivatives(p.loss, s * p.gradient, p.curvature, s * p.third)

    def curvatures(self, y: Vector, f: Vector, thetas: Matrix) -> Vector:
        """Return d2loss/df2 of samples with free parameters of their own, the logarithms of which are rows of theta."""
        found = np.empty_like(f)
        changes = np.flatnonzero((thetas[1:] != thetas[:-1]).any(axis=1)) + 1
        for rows in np.split(np.arange(f.size), changes) if f.size else []:
            own = self.with_theta(thetas[rows[0]]).part(rows)
            found[rows] = own.derivatives(y[rows], f[rows]).curvature
        return found

    def theta_derivatives(self, y: Vector, f: Vector) -> ThetaDerivatives:
        """Return the derivatives of (loss, dloss/df, d2loss/df2) in the free parameters' logarithms."""
        p = self.profile_theta(self.argument(y, f))
        return ThetaDerivatives(p.loss, self.slope(y) * p.gradient, p.curvature)

    def log_predictive(self, y: Vector, mean: Vector, var: Vector) -> Vector:
        r"""Return :math:`\ln \int p(y|f)\, \mathcal N(f; m, v)\, df` for each new sample, arrays of any shape."""
        t, var = self._gaussians(y, mean, var)
        integral, plain = functools.partial(log_normalizer, self.plain), self.plain
        return by_variance(integral, lambda t: -plain.profile(t).loss, t.ravel(), var.ravel()).reshape(t.shape)

    def tilted(self, y: Vector, mean: Vector, var: Vector) -> Tilted:
        r"""Return :math:`\ln \int p(y|f)\, \mathcal N(f; m, v)\, df` with its derivatives in the mean, for positive v.

        With sample weights: the normaliser of one of the ``copies``.
        """
        found = tilted(self, self.argument(y, mean), var)
        return Tilted(found.log_z, self.slope(y) * found.slope, found.bend)

    def tilted_theta(self, y: Vector, mean: Vector, var: Vector) -> Matrix:
        """Return the derivatives of the same in the free parameters' logarithms, shape (p, n)."""
        return tilted_theta(self, self.argument(y, mean), var) if self.theta.size else np.zeros((0, mean.size))

    def expected(self, y: Vector, mean: Vector, var: Vector) -> Expected:
        r"""Return :math:`\int \ell(y, f)\, \mathcal N(f; m, v)\, df` with its first six derivatives in the mean.

        A loss that is infinite somewhere, so that its expectation is, is refused by an ``IncompatibleError``.
        """
        require_finite(self)
        t, var = self._gaussians(y, mean, var)

        def at(t: Vector) -> Matrix:
            p, zero = self.profile(t), np.zeros_like(t)
            return np.array([p.loss, p.gradient, p.curvature, *[zero] * 4])

        found = by_variance(lambda t, var: expected(self, t, var).rows(), at, t, var)
        return Expected(*found).scaled(1.0, self.slope(y))

    def expected_theta(self, y: Vector, mean: Vector, var: Vector) -> Matrix:
        """Return the derivatives of the expected loss in the free parameters' logarithms, shape (p, n)."""
        require_finite(self)
        t, var = self._gaussians(y, mean, var)
        if not self.theta.size:
            return np.zeros((0, t.size))
        return by_variance(functools.partial(expected_theta, self), lambda t: self.profile_theta(t).loss, t, var)

    def _gaussians(self, y: Vector, mean: Vector, var: Vector) -> tuple[Vector, Vector]:
        """Return the means and variances of t, checked and brought to one shape."""
        y, mean, var = np.broadcast_arrays(*(np.asarray(a, dtype=float) for a in (y, mean, var)))
        check_gaussians(mean, var)
        return self.argument(y, mean), var


@dataclasses.dataclass(frozen=True, kw_only=True)
class Classification(Likelihood):
    """A likelihood of labels -1 and +1 that depends on the margin t = y f."""

    def argument(self, y: Vector, f: Vector) -> Vector:
        """Return the margin."""
        return y * f

    def slope(self, y: Vector) -> Vector:
        """Return dt/df = y."""
        return y

    def log_odds(self, mean: Vector, var: Vector) -> Vector:
        r"""Return :math:`\ln P(y=+1) / P(y=-1)` with :math:`P(y) = \int p(y|f)\, \mathcal N(f; m, v)\, df`.

        The probability of the less likely label is computed, and the other one from it, so that both are accurate. The
        likelihood must be normalised.
        """
        if not self.traits.normalized:
            raise IncompatibleError(
                f"{type(self).__name__}.log_odds: this likelihood is not a probability of the label (it is not "
                "normalised); use a normalised one such as NormalizedHinge, Trigonometric or Logistic"
            )
        mean = np.asarray(mean, dtype=float)
        unlikely = np.minimum(self.log_predictive(-np.ones_like(mean), np.abs(mean), var), -np.log(2.0))
        return np.asarray(np.sign(mean) * (np.log1p(-np.exp(unlikely)) - unlikely))

    def least_log_odds(self, mean: Vector, var: Vector) -> Vector:
        r"""Return a lower bound of :math:`|\ln P(y=+1) / P(y=-1)|` for all variances up to ``var``, with no integral.

        :math:`h(f) = p(+1|f) - \tfrac12` is odd and grows with f. So for m > 0 and every a > 0

        .. math:: \int h(f)\, \mathcal N(f; m, v)\, df \ge h(a) \Bigl[\Phi\Bigl(\frac{m - a}{\sqrt v}\Bigr)
                  - \Phi\Bigl(\frac{-m - a}{\sqrt v}\Bigr)\Bigr] ,

        and the left-hand side falls with v if the likelihood levels off; otherwise the bound is zero.
        """
        bound = np.zeros_like(np.asarray(mean, dtype=float))
        if self.traits.levels_off:
            size, std = np.abs(mean), np.sqrt(np.maximum(var, np.finfo(float).tiny))
            for a in LEVELS:
                height = float(np.exp(-self.profile(np.array([a])).loss[0])) - 0.5
                bound = np.maximum(bound, height * (ndtr((size - a) / std) - ndtr((-size - a) / std)))
        bound = np.minimum(bound, 0.5 - SURE)
        return np.asarray(np.log((0.5 + bound) / (0.5 - bound)))

    def predict_proba(self, mean: Vector, var: Vector) -> Vector:
        r"""Return :math:`P(y=+1)`; see :meth:`log_odds`."""
        return np.asarray(expit(self.log_odds(mean, var)))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Regression(Likelihood):
    r"""A likelihood of real targets that depends on the residual t = y - f, symmetric about zero.

    A subclass also gives ``powers``: the power of the unit of y in which each positive parameter is measured, as in
    ``{"scale": 1}``. With one parameter its derivatives then follow. In other units the density is the same,
    :math:`\ell(ct;\, c^p\phi) = \ell(t; \phi) + \ln c`, hence
    :math:`p\, \partial\ell/\partial\ln\phi = 1 - t\,\ell'(t)`.
    """

    powers: ClassVar[Mapping[str, int]] = {}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.powers.keys() != self.positive.keys():
            raise TypeError(
                f"{type(self).__name__}.powers: expected the power of the unit of y for each parameter "
                f"({', '.join(self.positive) or 'none'}), found {dict(self.powers)}"
            )

    def argument(self, y: Vector, f: Vector) -> Vector:
        """Return the residual."""
        return y - f

    def slope(self, y: Vector) -> Vector:
        """Return dt/df = -1."""
        return -np.ones_like(y)

    def profile_parameters(self, t: Vector) -> Mapping[str, tuple[Vector, Vector, Vector]]:
        """Return the derivatives in the logarithm of the one parameter, if it has a unit; else subclasses give them."""
        if len(self.powers) != 1 or 0 in self.powers.values():
            return super().profile_parameters(t)
        ((name, power),) = self.powers.items()
        p = self.profile(t)
        first, second = p.gradient + t * p.curvature, 2.0 * p.curvature + t * p.third
        return {name: ((1.0 - t * p.gradient) / power, -first / power, -second / power)}

    @property
    def noise_variance(self) -> float:
        """Variance of the noise, the second moment of the density of the residual."""
        return noise_average(self, lambda t: t * t)

    def log_survival(self, t: Vector) -> Vector:
        """Return ln P(noise > t) for residuals t >= 0 (elsewhere by symmetry; see :class:`NoiseDistribution`)."""
        return log_survival(self, np.asarray(t, dtype=float))

    def rescaled(self, scale: float) -> Self:
        """Return the likelihood of ``scale`` times the noise: the same model with y in other units.

        Parameters change by their ``powers`` of the scale, and so do bounds that were set; default bounds stay.
        """
        if not 0.0 < scale < np.inf:
            raise ValueError(f"{type(self).__name__}.rescaled: expected a positive scale, found {scale!r}")
        factors = {name: float(scale) ** self.powers[name] for name in self.positive}
        values = {name: getattr(self, name) * factor for name, factor in factors.items()}
        limits = {
            name: None if pair is None else (pair[0] * factors[name], pair[1] * factors[name])
            for name, pair in self.limits.items()
        }
        return dataclasses.replace(self, limits=limits, **values)

    def distribution(self, scale: float = 1.0) -> NoiseDistribution:
        """Return the distribution of ``scale`` times the noise, with the methods of SciPy's distributions."""
        return NoiseDistribution(self.rescaled(scale))


@expected_theta.register
def _(likelihood: Regression, t: Vector, var: Vector) -> Matrix:
    """Return, for one parameter, the expectation of its derivative: that of t loss' is m E' + v E''."""
    derived = type(likelihood).profile_parameters is Regression.profile_parameters
    if not derived or len(likelihood.powers) != 1 or 0 in likelihood.powers.values():
        return expected_theta.dispatch(object)(likelihood, t, var)
    (power,) = likelihood.powers.values()
    e = expected(likelihood, t, var)
    return np.asarray((1.0 - t * e.gradient - var * e.curvature)[None] / power)


__all__ = ["Classification", "Derivatives", "Likelihood", "Regression", "ThetaDerivatives", "Traits"]
