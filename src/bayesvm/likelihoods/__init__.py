"""Likelihoods: pointwise losses that are minus the logarithm of a probability of y given the latent value f.

One file per likelihood; ``base`` is the contract, ``quadrature`` the Gaussian integrals. See each class for its
formula.
"""

from __future__ import annotations

import re

from bayesvm.likelihoods.base import Classification, Derivatives, Likelihood, Regression, ThetaDerivatives, Traits
from bayesvm.likelihoods.epsilon_insensitive import EpsilonInsensitive
from bayesvm.likelihoods.gaussian_noise import GaussianNoise
from bayesvm.likelihoods.hinge import Hinge
from bayesvm.likelihoods.huber import Huber
from bayesvm.likelihoods.laplace import Laplace
from bayesvm.likelihoods.logistic import Logistic
from bayesvm.likelihoods.normalized_hinge import NormalizedHinge
from bayesvm.likelihoods.probit import Probit
from bayesvm.likelihoods.raised_cosine import RaisedCosine
from bayesvm.likelihoods.smooth_insensitive import SmoothInsensitive
from bayesvm.likelihoods.soft_insensitive import SoftInsensitive
from bayesvm.likelihoods.trigonometric import Trigonometric
from bayesvm.likelihoods.weighted import Weighted
from bayesvm.lookup import did_you_mean

_LABELS = (Trigonometric, RaisedCosine, Logistic, Probit, Hinge, NormalizedHinge)
_TARGETS = (SoftInsensitive, SmoothInsensitive, Huber, Laplace, EpsilonInsensitive, GaussianNoise)
#: The likelihoods by name: RaisedCosine is "raised-cosine".
_BY_NAME: dict[str, type[Likelihood]] = {
    re.sub("(?<!^)(?=[A-Z])", "-", cls.__name__).lower(): cls for cls in (*_LABELS, *_TARGETS)
}


def from_name(name: str) -> Likelihood:
    """Return the likelihood of that lower-case hyphenated name, with its default parameters."""
    if name not in _BY_NAME:
        hint = did_you_mean(name.replace("_", "-").replace(" ", "-"), _BY_NAME, "; {}")
        raise ValueError(f"no likelihood is called {name!r}; the names are {', '.join(_BY_NAME)}{hint}")
    return _BY_NAME[name]()


__all__ = [
    "Classification",
    "Derivatives",
    "EpsilonInsensitive",
    "GaussianNoise",
    "Hinge",
    "Huber",
    "Laplace",
    "Likelihood",
    "Logistic",
    "NormalizedHinge",
    "Probit",
    "RaisedCosine",
    "Regression",
    "SmoothInsensitive",
    "SoftInsensitive",
    "ThetaDerivatives",
    "Traits",
    "Trigonometric",
    "Weighted",
    "from_name",
]
