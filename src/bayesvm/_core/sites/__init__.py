"""The posterior under Gaussian sites; :mod:`bayesvm._core.sites.reference` states the same in NumPy."""

from bayesvm._core.scipy_routines import ROUTINES
from bayesvm._core.sites._sites import (
    inverse,
    inverse_diagonal,
    lower_square,
    response,
    site_posterior,
    use_lapack,
)

use_lapack(ROUTINES)

__all__ = ["inverse", "inverse_diagonal", "lower_square", "response", "site_posterior"]
