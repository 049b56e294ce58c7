r"""The posterior under Gaussian terms :math:`\exp(\nu_i f_i - \tfrac12 \tau_i f_i^2)`, with its marginals, in one pass.

Given a prior :math:`\mathcal N(0, K)` and :math:`W = \mathrm{diag}(\tau)` the posterior is
:math:`\mathcal N(K\alpha, (K^{-1} + W)^{-1})`, :math:`\alpha = (I - R K)\nu`. For :math:`\tau \ge 0` everything is
computed by one native function; precisions of either sign go through :class:`~bayesvm.linalg.SignedFactor`.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm._core.sites import site_posterior as native
from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.linalg.cholesky import Cholesky
from bayesvm.linalg.signed_factor import SignedFactor
from bayesvm.linalg.support_factor import B_NAME, SupportFactor
from bayesvm.typing import Matrix, Vector


@dataclasses.dataclass(frozen=True)
class SitePosterior:
    """Factor, coefficients, and the marginals of all points: means, variances v, and 1 - v tau."""

    factor: SupportFactor | SignedFactor
    alpha: Vector
    mean: Vector
    var: Vector
    rest: Vector


def site_posterior(K: Matrix, tau: Vector, nu: Vector) -> SitePosterior:
    """Return the posterior for the Gram matrix K.

    Raises
    ------
    NotPositiveDefiniteError
        If there is no proper posterior: K is not positive definite, or precisions are too negative.
    """
    if np.any(tau < 0.0):
        signed, alpha = SignedFactor.of(K, tau), nu.copy()
        alpha[signed.support] -= signed.apply((K @ nu)[signed.support])
        return SitePosterior(signed, alpha, K @ alpha, *signed.marginals(K))
    info, support, root, L, log_det, alpha, mean, var, rest = native(K, tau, nu)
    if info or not np.isfinite(log_det):
        reason = "contains non-finite values" if not np.all(np.isfinite(K)) else "is not positive definite"
        raise NotPositiveDefiniteError(f"{B_NAME} ({support.size} x {support.size}) {reason}")
    return SitePosterior(SupportFactor(support, root, Cholesky(L)), alpha, mean, var, rest)


__all__ = ["SitePosterior", "site_posterior"]
