r"""A matrix R with :math:`R R^\top = A`, for drawing from a Gaussian with covariance A.

A posterior covariance :math:`K_{**} - K_{*M} R K_{M*}` is a difference of matrices that may be nearly equal: its
eigenvalues are right up to the rounding errors of the prior covariance, and where the data leave next to nothing open
the smallest of them come out negative. Cholesky's factor does not exist then; the symmetric root with negative
eigenvalues set to zero does, and differs from the exact one by rounding only.
"""

from __future__ import annotations

import numpy as np

from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.linalg.cholesky import cholesky
from bayesvm.linalg.eigen import symmetric_eigen
from bayesvm.typing import Matrix

#: Largest negative eigenvalue, relative to the scale of the prior, that counts as rounding.
ROUNDING = 1e-6


def covariance_root(A: Matrix, scale: float, *, what: str) -> Matrix:
    """Return R with R R' = A.

    Parameters
    ----------
    A : array, shape (n, n)
        Symmetric, positive semidefinite up to rounding.
    scale : float
        Largest prior variance, to whose size A was computed.
    what : str
        Name of A in messages.

    Raises
    ------
    NotPositiveDefiniteError
        If an eigenvalue is below ``-ROUNDING * scale``.
    """
    try:
        return cholesky(A, jitter=True, what=what).lower()
    except NotPositiveDefiniteError:
        values, vectors = symmetric_eigen(A)
        if values.min(initial=0.0) < -ROUNDING * scale:
            raise
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


__all__ = ["ROUNDING", "covariance_root"]
