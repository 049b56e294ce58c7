"""The determinant of a covariance when the curvatures of a few rows change."""

from __future__ import annotations

import numpy as np

from bayesvm.typing import Matrix, Vector


def log_det_change(S: Matrix, D: Vector) -> float:
    r"""Return :math:`\ln |I + S D|`, infinity if the determinant is not positive.

    With S the posterior covariance :math:`(K^{-1} + W)^{-1}` of some rows and D the change of their curvatures that is
    :math:`\ln |I + K (W + D)| - \ln |I + K W|` (matrix determinant lemma).
    """
    sign, log_det = np.linalg.slogdet(np.eye(D.size) + S * D)
    return float(log_det) if sign > 0.0 else np.inf


__all__ = ["log_det_change"]
