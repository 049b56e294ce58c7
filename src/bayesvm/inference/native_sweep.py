"""Expectation propagation in native code, for labels whose tilted moments it knows (:mod:`bayesvm._core.sites`).

The iteration is that of :mod:`bayesvm.inference.ep`, the reference: damped sweeps, then predicted ones. Where these do
not lead to the fixed point (sites as precise as rounding allows, cavities that are improper, sweeps that go on without
an end) native code gives up, and the reference begins afresh.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesvm._core import sites as native
from bayesvm.inference.leave_one_out import Marginals
from bayesvm.inference.sweep import Mask, Matched, SiteTerms, Sweep
from bayesvm.likelihoods.native import native_moments
from bayesvm.likelihoods.tilted import Tilted
from bayesvm.linalg import Cholesky, SupportFactor
from bayesvm.linalg.site_posterior import PlainSitePosterior
from bayesvm.solvers.base import Status
from bayesvm.typing import Matrix, Vector

#: Tolerance, size of a site that is dropped, largest number of sweeps.
Limits = tuple[float, float, int]
#: No site is frozen.
NONE = np.empty(0, dtype=np.uint8)


def native_iterate(
    K: Matrix, y: Vector, likelihood: SiteTerms, sites: Matrix, frozen: Mask, limits: Limits, settle: float = 0.0
) -> tuple[Sweep, Status, int] | None:
    """Return what :meth:`bayesvm.inference.ep.EP.iterate` does, None if native code does not find it.

    With a positive ``settle`` a rough fixed point is followed by a prediction of where moments match to that tolerance;
    marginals and what matches are then those of the prediction, not those of the factor.
    """
    terms = native_moments(likelihood, y.size)
    if terms is None:
        return None
    kept = frozen.view(np.uint8) if frozen.any() else NONE
    found = native.propagate(K, y, terms.kind, terms.weights, sites[0], sites[1], kept, *limits, settle)
    return None if found is None else (told_sweep(found, likelihood.copies), Status.CONVERGED, int(found[0]))


def told_sweep(told: tuple[Any, ...], copies: Vector | float) -> Sweep:
    """Return the last sweep from what native code tells of it."""
    _, tau, nu, support, root, L, inverse, alpha, mean, var, rest, log_z, slope, bend, *image, residual = told
    m = support.size
    factor = SupportFactor(support, root, Cholesky(L.reshape(m, m, order="F")))
    posterior = PlainSitePosterior(factor, alpha, mean, var, rest, inverse.reshape(m, m, order="F"))
    matched = Matched(Marginals.of_sites(posterior, copies), Tilted(log_z, slope, bend), np.stack(image), residual)
    return Sweep(np.stack([tau, nu]), posterior, matched)


__all__ = ["Limits", "native_iterate", "told_sweep"]
