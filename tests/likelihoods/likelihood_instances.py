"""The likelihoods under test, with readable ids."""

from __future__ import annotations

import bayesvm.likelihoods as lib

INSTANCES = [
    lib.Trigonometric(),
    lib.RaisedCosine(),
    lib.Logistic(),
    lib.Probit(),
    lib.Hinge(),
    lib.Hinge(7.0),
    lib.NormalizedHinge(),
    lib.NormalizedHinge(30.0),
    lib.NormalizedHinge(0.1),
    lib.SoftInsensitive(),
    lib.SoftInsensitive(3.0, 0.5, 1.0),
    lib.SoftInsensitive(3.0, 0.5, 0.01),
    lib.SmoothInsensitive(),
    lib.SmoothInsensitive(5.0, 0.5, 0.9),
    lib.SmoothInsensitive(5.0, 0.5, 1.0),
    lib.Huber(),
    lib.Laplace(),
    lib.Laplace(0.5),
    lib.EpsilonInsensitive(),
    lib.EpsilonInsensitive(2.0, 1.0).fix("epsilon"),
    lib.GaussianNoise(),
    lib.GaussianNoise(0.5).fix(),
]
IDS = [
    type(x).__name__ + "".join(f",{v:g}" for v in vars(x).values() if isinstance(v, float)) + ("*" if x.limits else "")
    for x in INSTANCES
]


def concrete_subclasses(base):
    """Return every concrete class of the library below ``base``."""
    found = set()
    for cls in base.__subclasses__():
        found |= concrete_subclasses(cls)
        if not cls.__abstractmethods__ and cls.__module__.startswith("bayesvm."):
            found.add(cls)
    return found
