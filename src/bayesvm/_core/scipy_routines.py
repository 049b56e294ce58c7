"""SciPy's routines of BLAS and LAPACK as capsules for native code, so that there is no second BLAS in the process."""

from __future__ import annotations

from typing import Any

from scipy.linalg import cython_blas, cython_lapack

_ALL: dict[str, Any] = {**cython_blas.__pyx_capi__, **cython_lapack.__pyx_capi__}

#: Those that native code calls.
ROUTINES = {name: _ALL[name] for name in ("dpotrf", "dtrsv", "dlauum", "dtrmm", "dtrsm", "dsymv", "dgemm", "dsymm")}

__all__ = ["ROUTINES"]
