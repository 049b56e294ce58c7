r"""Weights that take outliers out: the reweighting step of the weighted least-squares machine (Suykens2002).

With residuals :math:`e_i` and the robust scale :math:`\hat s = 1.483\, \operatorname{MAD}(e)`, a row counts fully up to
:math:`|e_i| = 2.5\, \hat s`, hardly at all beyond :math:`3\, \hat s`, and linearly between.
"""

from __future__ import annotations

import numpy as np

from bayesvm.typing import Matrix, Vector

#: Where weights begin to fall and where they have reached ``LEAST``, in robust standard deviations.
FULL, NONE = 2.5, 3.0
LEAST = 1e-4


def robust_weights(residuals: Matrix) -> Vector:
    """Return one weight per row; with several outputs, that of the output with the largest residual."""
    deviation = np.abs(residuals - np.median(residuals, axis=0))
    scale = 1.483 * np.median(deviation, axis=0)
    scale = np.where(scale > 0.0, scale, np.inf)
    z = np.max(np.abs(residuals) / scale, axis=1)
    return np.asarray(np.clip((NONE - z) / (NONE - FULL), LEAST, 1.0))


__all__ = ["robust_weights"]
