"""The posterior under Gaussian sites, tilted moments of labels and expectation propagation.

:mod:`bayesvm._core.sites.reference` states the posterior in NumPy, :mod:`bayesvm.inference.ep` the iteration.
"""

from bayesvm._core.scipy_routines import ROUTINES
from bayesvm._core.sites._sites import (
    LabelKind,
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
    "LabelKind",
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
