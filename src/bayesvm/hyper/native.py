"""One evaluation of an evidence with its gradient as one call of native code: by Laplace's method, or by EP.

Laplace's method: Gram matrix, mode, evidence and pullback need no other memory than that of the support then; only the
rows of the Gram matrix are computed that the mode asks for. Expectation propagation: Gram matrix, sweeps from the sites
of an earlier evaluation, pullback. Kernels, inference and likelihoods know nothing of one another; this is where they
meet. The NumPy path of :class:`~bayesvm.hyper.objective.EvidenceObjective` is the reference.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

import numpy as np

from bayesvm._core import mode as native
from bayesvm._core import sites as native_sites
from bayesvm.inference.base import Evidence, Inference, Posterior
from bayesvm.inference.ep import EP
from bayesvm.inference.laplace import Laplace, Slopes, evidence_at_mode
from bayesvm.inference.native_sweep import told_sweep
from bayesvm.inference.sweep import evidence_terms
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.kernels.native import native_terms, pulled_back
from bayesvm.likelihoods.base import Likelihood
from bayesvm.likelihoods.native import native_loss, native_moments
from bayesvm.linalg import Cholesky, SupportFactor
from bayesvm.solvers.base import Status
from bayesvm.solvers.newton import Newton, native_mode
from bayesvm.typing import Vector


@dataclasses.dataclass(frozen=True)
class NativeEvaluation:
    """Posterior, evidence, and its gradient in the free parameters of the kernel."""

    posterior: Posterior
    evidence: Evidence
    gradient: Vector


def native_laplace(
    inference: Inference, kernel: Kernel, likelihood: Likelihood, X: Inputs, y: Vector, warm_start: Vector | None
) -> NativeEvaluation | None:
    """Return the evaluation, None if native code does not know one of its parts.

    Raises
    ------
    NotPositiveDefiniteError
        As :meth:`~bayesvm.inference.laplace.Laplace.infer` does.
    """
    if type(inference) is not Laplace or type(inference.solver) is not Newton:
        return None
    loss = native_loss(likelihood)
    terms = None if loss is None else native_terms(kernel, X)
    if loss is None or terms is None:
        return None
    inference.check(likelihood)
    arguments = inference.solver.native_arguments(y, likelihood, loss, warm_start)
    found, *rest = native.laplace([term.given for term in terms], y, *arguments)
    mode = native_mode(found, lambda: kernel.gram(X))
    support, root, L, var, rows, dK, K_moved, gradients = rest
    factor = SupportFactor(support, root, Cholesky(L.reshape(support.size, support.size, order="F")))
    slopes = Slopes(rows, dK.reshape(rows.size, rows.size), var, K_moved)
    evidence = evidence_at_mode(y, likelihood, mode, factor, slopes)
    posterior = Posterior(rows, mode.alpha[rows], factor)
    return NativeEvaluation(posterior, evidence, pulled_back(terms, np.asarray(gradients)))


def native_ep(
    inference: Inference, kernel: Kernel, likelihood: Likelihood, X: Inputs, y: Vector, warm_start: Vector | None
) -> NativeEvaluation | None:
    """Return the evaluation from given sites, None if native code does not know a part or does not find the end."""
    if type(inference) is not EP or warm_start is None or warm_start.ndim != 2:
        return None
    labels = native_moments(likelihood, y.size)
    terms = None if labels is None else native_terms(kernel, X)
    if labels is None or terms is None:
        return None
    limits = inference.tol, inference.drop, inference.max_iter
    given = [term.given for term in terms]
    found = native_sites.evidence(given, y, labels.kind, labels.weights, warm_start[0], warm_start[1], *limits)
    if found is None:
        return None
    told, dK, gradients = found
    sweep = told_sweep(told, likelihood.copies)
    summands, M, alpha = evidence_terms(sweep), sweep.factor.support, sweep.posterior.alpha
    evidence = Evidence(
        sum(summands.values()),
        summands,
        M,
        dK.reshape(M.size, M.size),
        np.zeros(0),
        Status.CONVERGED,
        sweep.sites,
        int(told[0]),
    )
    return NativeEvaluation(Posterior.of(alpha, sweep.factor), evidence, pulled_back(terms, np.asarray(gradients)))


#: What evaluates as one native call, by the method of inference; each returns None for what native code does not know.
NATIVE: Mapping[type[Inference], Callable[..., NativeEvaluation | None]] = {EP: native_ep, Laplace: native_laplace}

__all__ = ["NATIVE", "NativeEvaluation", "native_ep", "native_laplace"]
