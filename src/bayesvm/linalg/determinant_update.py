"""The determinant of a covariance when the curvatures of a few rows change."""

from __future__ import annotations

import numpy as np

from bayesvm.typing import Matrix, Vector


def log_det_change(S: Matrix, D: Vector) -> Vector:
    r"""Return :math:`\ln |I + S D|`, infinity if the determinant is not positive.

    With S the posterior covariance :math:`(K^{-1} + W)^{-1}` of some rows and D the change of their curvatures that is
    :math:`\ln |I + K (W + D)| - \ln |I + K W|` (matrix determinant lemma). Leading axes hold several such problems. A
    row whose curvature does not change adds nothing, so problems of different sizes can be filled up with zeros in D.
    """
    sign, log_det = np.linalg.slogdet(np.eye(D.shape[-1]) + S * D[..., None, :])
    return np.where(sign > 0.0, log_det, np.inf)


__all__ = ["log_det_change"]
