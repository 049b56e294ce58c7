"""The posterior under Gaussian sites and expectation propagation, whose kinds of terms are those of the mode.

:mod:`bayesvm._core.sites.reference` states the posterior in NumPy, :mod:`bayesvm.inference.ep` the iteration.
"""

from bayesvm._core.scipy_routines import ROUTINES
from bayesvm._core.sites._sites import (
    evidence,
    inverse,
    inverse_diagonal,
    lower_solve,
    lower_square,
    propagate,
    response,
    site_posterior,
    tilted,
    use_lapack,
)

use_lapack(ROUTINES)

__all__ = [
    "evidence",
    "inverse",
    "inverse_diagonal",
    "lower_solve",
    "lower_square",
    "propagate",
    "response",
    "site_posterior",
    "tilted",
]
