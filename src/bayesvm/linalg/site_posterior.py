r"""The posterior under Gaussian terms :math:`\exp(\nu_i f_i - \tfrac12 \tau_i f_i^2)`, with its marginals, in one pass.

Given a prior :math:`\mathcal N(0, K)` and :math:`W = \mathrm{diag}(\tau)` the posterior is
:math:`\mathcal N(K\alpha, V)`, :math:`V = (K^{-1} + W)^{-1}`, :math:`\alpha = (I - R K)\nu`. For :math:`\tau \ge 0`
everything is computed by one native function; precisions of either sign go through
:class:`~bayesvm.linalg.SignedFactor`.

When the terms change by :math:`\Delta = \mathrm{diag}(d\tau)` and :math:`d\nu`, the mean changes by
:math:`(I + V \Delta)^{-1} V (d\nu - d\tau \circ m)`, and the variances, to first order, by
:math:`-(V \circ V)\, d\tau`: two products with :math:`m \times m` matrices instead of a factorisation. The precision
:math:`1/v_i` is nearer to a linear function of the terms than :math:`v_i` is: exactly one of :math:`d\tau_i` alone, and
of all :math:`d\tau` for perfectly correlated points. So the first-order change is one of the precisions,

.. math:: \frac{1}{v_i} \to \frac{1}{v_i} + \frac{[(V \circ V)\, d\tau]_i}{v_i^2} .
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm._core.sites import lower_square, response
from bayesvm._core.sites import site_posterior as native
from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.linalg.cholesky import Cholesky
from bayesvm.linalg.inducing_factor import InducingFactor
from bayesvm.linalg.signed_factor import SignedFactor
from bayesvm.linalg.support_factor import B_NAME, SupportFactor
from bayesvm.typing import Matrix, Vector


@dataclasses.dataclass(frozen=True)
class SitePosterior:
    """Factor, coefficients, and the marginals of all points: means, variances v, and 1 - v tau."""

    factor: SupportFactor | SignedFactor | InducingFactor
    alpha: Vector
    mean: Vector
    var: Vector
    rest: Vector

    def matrix(self) -> Matrix:
        """Return R on the support."""
        return self.factor.matrix()


@dataclasses.dataclass(frozen=True)
class PlainSitePosterior(SitePosterior):
    r"""The same for :math:`\tau \ge 0`, with the inverse of the Cholesky factor."""

    factor: SupportFactor
    inverse: Matrix

    def matrix(self) -> Matrix:
        r"""Return :math:`R = W^{1/2} B^{-1} W^{1/2}` on the support."""
        R, root = lower_square(self.inverse), self.factor.root
        R *= root[:, None]
        R *= root
        return R

    def response(self) -> SiteResponse:
        """Return how the marginals change with the sites."""
        return SiteResponse(self, lower_square(self.inverse))


@dataclasses.dataclass(frozen=True)
class SiteResponse:
    """How means and variances on the support change with the sites; ``B_inverse`` has both triangles."""

    posterior: PlainSitePosterior
    B_inverse: Matrix

    def moved(self, dtau: Vector, dnu: Vector, dmean: Vector) -> tuple[Vector, Vector]:
        """Return the changes of means and variances on the support.

        ``dmean`` is a guess of the first, such as what the last call returned: repeated calls with the same changes of
        the sites converge to the exact change of the means. That of the precisions 1/v is of first order; a variance
        grows a thousandfold at most.
        """
        factor = self.posterior.factor
        mean, var = (vector[factor.support] for vector in (self.posterior.mean, self.posterior.var))
        moved, wider = response(self.B_inverse, factor.root, dtau, dnu - dtau * (mean + dmean))
        return moved, var / np.maximum(1.0 - wider / var, 1e-3) - var


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
    info, support, root, L, inverse, log_det, alpha, mean, var, rest = native(K, tau, nu)
    if info or not np.isfinite(log_det):
        reason = "contains non-finite values" if not np.all(np.isfinite(K)) else "is not positive definite"
        raise NotPositiveDefiniteError(f"{B_NAME} ({support.size} x {support.size}) {reason}")
    return PlainSitePosterior(SupportFactor(support, root, Cholesky(L)), alpha, mean, var, rest, inverse)


__all__ = ["PlainSitePosterior", "SitePosterior", "SiteResponse", "site_posterior"]
