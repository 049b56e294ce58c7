"""The posterior under Gaussian sites; :mod:`bayesvm._core.sites.reference` states the same in NumPy.

BLAS and LAPACK are SciPy's own, through the pointers that it offers to other compiled code.
"""

from typing import Any

from scipy.linalg import cython_blas, cython_lapack

from bayesvm._core.sites._sites import (
    inverse,
    inverse_diagonal,
    lower_square,
    response,
    site_posterior,
    use_lapack,
)

_routines: dict[str, Any] = {**cython_blas.__pyx_capi__, **cython_lapack.__pyx_capi__}
use_lapack({name: _routines[name] for name in ("dpotrf", "dpotrs", "dlauum", "dtrmm", "dsymv")})

__all__ = ["inverse", "inverse_diagonal", "lower_square", "response", "site_posterior"]
