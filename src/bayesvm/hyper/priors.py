r"""Hyperpriors: densities of :math:`\theta`, the logarithms of the parameters.

A hyperprior returns the logarithm of its density at :math:`\theta` with the gradient. It is given the names of the
entries so that different parameters can have different priors (:class:`ByName`). :class:`Flat` is the default: within
the bounds every value of the logarithm is as good as any other, and the maximum of the posterior is the maximum of the
evidence.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

import numpy as np
from scipy.special import gammaln, logsumexp

from bayesvm.typing import Vector


class Hyperprior(ABC):
    r"""A density of :math:`\theta`."""

    @abstractmethod
    def log_density(self, theta: Vector, names: Sequence[str]) -> tuple[float, Vector]:
        r"""Return the logarithm of the density of :math:`\theta` and its gradient."""

    def proper(self, names: Sequence[str]) -> bool:
        """Whether the density of the entries with these names integrates to one; False unless a subclass knows it does.

        Only then can hyperparameters be integrated out (:mod:`bayesvm.hyper.model_evidence`).
        """
        return False


@dataclasses.dataclass(frozen=True)
class Flat(Hyperprior):
    """Constant in the logarithm of every parameter (improper; the bounds limit it)."""

    def log_density(self, theta: Vector, names: Sequence[str]) -> tuple[float, Vector]:
        """Return zero."""
        return 0.0, np.zeros_like(theta)


@dataclasses.dataclass(frozen=True)
class LogNormal(Hyperprior):
    """Gaussian in the logarithm of every parameter it is applied to.

    Parameters
    ----------
    mean, std : float
        Mean and standard deviation of the logarithm.
    """

    mean: float = 0.0
    std: float = 1.0

    def __post_init__(self) -> None:
        if not self.std > 0.0:
            raise ValueError(f"LogNormal: expected std > 0, found {self.std}")

    def proper(self, names: Sequence[str]) -> bool:
        """Whether the density integrates to one: it does."""
        return True

    def log_density(self, theta: Vector, names: Sequence[str]) -> tuple[float, Vector]:
        """Return the sum of Gaussian log-densities."""
        z = (theta - self.mean) / self.std
        value = -0.5 * float(z @ z) - theta.size * (np.log(self.std) + 0.5 * np.log(2.0 * np.pi))
        return float(value), -z / self.std


@dataclasses.dataclass(frozen=True)
class RelevanceGamma(Hyperprior):
    r"""Gamma prior of the relevances :math:`\kappa = 1/\text{lengthscale}^2`, Thesis (3.71).

    .. math:: P(\ln \kappa) = \frac{c^{a/2}}{\Gamma(a/2)} \exp\left(\tfrac a2 \ln\kappa - c\, \kappa\right), \qquad
              c = \frac{a}{2 \mu_0 d^{2/a}},

    with d the number of relevances; here stated for the logarithm of the length scale, which adds :math:`\ln 2` per
    entry. Small ``shape`` makes it vague.

    Parameters
    ----------
    shape : float
        The thesis' :math:`\alpha`.
    mean : float
        The thesis' :math:`\mu_0`.
    """

    shape: float = 1.0
    mean: float = 1.0

    def __post_init__(self) -> None:
        if not (self.shape > 0.0 and self.mean > 0.0):
            raise ValueError(f"RelevanceGamma: expected shape > 0 and mean > 0, found {self.shape} and {self.mean}")

    def proper(self, names: Sequence[str]) -> bool:
        """Whether the density integrates to one: it does."""
        return True

    def log_density(self, theta: Vector, names: Sequence[str]) -> tuple[float, Vector]:
        """Return the sum over all entries, each a logarithm of a length scale."""
        half, d = 0.5 * self.shape, theta.size
        if d == 0:
            return 0.0, np.zeros(0)
        log_rate = np.log(half / self.mean) - np.log(d) / half
        log_kappa = -2.0 * theta
        pull = np.exp(log_kappa + log_rate)
        value = np.sum(half * (log_kappa + log_rate) - pull) - d * (gammaln(half) - np.log(2.0))
        return float(value), -2.0 * (half - pull)


@dataclasses.dataclass(frozen=True)
class RelevanceShares(Hyperprior):
    r"""Symmetric Dirichlet prior of the shares of the features in the relevances :math:`\kappa = 1/\ell^2`.

    .. math:: P(\theta) \propto \prod_{i=1}^d (d\, s_i)^a, \qquad s_i = \kappa_i \Big/ \sum_j \kappa_j .

    The common scale of the length scales is left free (flat in its logarithm), and equal length scales have density
    one. Near them :math:`\ln\kappa_i` has the standard deviation :math:`1/\sqrt a`; a feature whose relevance is
    divided by r costs about :math:`a \ln r` nats, so features can be switched off if the evidence asks for it. With a =
    1 all divisions are equally probable.

    Parameters
    ----------
    concentration : float
        a; zero would be flat, large values tie the length scales.
    """

    concentration: float = 1.0

    def __post_init__(self) -> None:
        if not self.concentration > 0.0:
            raise ValueError(f"RelevanceShares: expected concentration > 0, found {self.concentration}")

    def log_density(self, theta: Vector, names: Sequence[str]) -> tuple[float, Vector]:
        """Return the logarithm and its gradient for entries that are all logarithms of length scales."""
        if theta.size == 0:
            return 0.0, np.zeros(0)
        log_shares = -2.0 * theta - logsumexp(-2.0 * theta)
        excess = theta.size * np.exp(log_shares) - 1.0
        value = self.concentration * np.sum(log_shares + np.log(theta.size))
        return float(value), 2.0 * self.concentration * excess


@dataclasses.dataclass(frozen=True)
class ByName(Hyperprior):
    """Different hyperpriors for different parameters.

    Parameters
    ----------
    rules : mapping
        From a shell-style pattern of parameter names (``"*.lengthscale*"``) to a hyperprior. The first pattern that
        fits decides; the entries that fall to one rule are passed to it together. Parameters that no pattern fits are
        flat.
    """

    rules: Mapping[str, Hyperprior]

    def _shares(self, names: Sequence[str]) -> tuple[list[tuple[Hyperprior, list[int]]], list[int]]:
        """Return every rule's hyperprior with the entries that fall to it, and the entries that no pattern fits."""
        shares, left = [], list(range(len(names)))
        for pattern, prior in self.rules.items():
            chosen = [i for i in left if fnmatchcase(names[i], _literal_brackets(pattern))]
            left = [i for i in left if i not in chosen]
            if chosen:
                shares.append((prior, chosen))
        return shares, left

    def proper(self, names: Sequence[str]) -> bool:
        """Whether every entry falls to a rule, and all these rules have proper densities."""
        shares, left = self._shares(names)
        return not left and all(prior.proper([names[i] for i in chosen]) for prior, chosen in shares)

    def log_density(self, theta: Vector, names: Sequence[str]) -> tuple[float, Vector]:
        """Return the sum of the rules' log-densities."""
        value, gradient = 0.0, np.zeros_like(theta)
        for prior, chosen in self._shares(names)[0]:
            part, gradient[chosen] = prior.log_density(theta[chosen], [names[i] for i in chosen])
            value += part
        return value, gradient


def _literal_brackets(pattern: str) -> str:
    """Keep the brackets of names such as ``lengthscale[3]`` from being read as character classes."""
    return pattern.replace("[", "[[]")


def thesis_prior(shape: float = 1.0) -> ByName:
    r"""Return the hyperprior of Thesis section 3.2.5.2, for standardised data.

    Variance of the stationary part: :math:`\ln\kappa_0 \sim N(-1, 1^2)`; variances of the linear part and of the
    constant: :math:`N(-3, 3^2)`; relevances: :class:`RelevanceGamma` with the given shape. Parameters of the likelihood
    are flat.
    """
    return ByName(
        {
            "likelihood.*": Flat(),
            "*lengthscale*": RelevanceGamma(shape),
            "constant*.variance": LogNormal(-3.0, 3.0),
            "linear*.variance*": LogNormal(-3.0, 3.0),
            "*variance": LogNormal(-1.0, 1.0),
        }
    )


__all__ = ["ByName", "Flat", "Hyperprior", "LogNormal", "RelevanceGamma", "RelevanceShares", "thesis_prior"]
