"""One evaluation of Laplace's evidence with its gradient as one call of native code.

Gram matrix, mode, evidence and pullback need no other memory than that of the support then: only the rows of the Gram
matrix are computed that the mode asks for. Kernels, inference and likelihoods know nothing of one another; this is
where they meet. The NumPy path of :class:`~bayesvm.hyper.objective.EvidenceObjective` is the reference.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm._core import mode as native
from bayesvm.inference.base import Evidence, Inference, Posterior
from bayesvm.inference.laplace import Laplace, Slopes, evidence_at_mode
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.kernels.native import native_terms, pulled_back
from bayesvm.likelihoods.base import Likelihood
from bayesvm.likelihoods.native import native_loss
from bayesvm.linalg import Cholesky, SupportFactor
from bayesvm.solvers.newton import Newton, native_mode
from bayesvm.typing import Vector


@dataclasses.dataclass(frozen=True)
class NativeLaplace:
    """Posterior, evidence, and its gradient in the free parameters of the kernel."""

    posterior: Posterior
    evidence: Evidence
    gradient: Vector


def native_laplace(
    inference: Inference, kernel: Kernel, likelihood: Likelihood, X: Inputs, y: Vector, warm_start: Vector | None
) -> NativeLaplace | None:
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
    return NativeLaplace(posterior, evidence, pulled_back(terms, np.asarray(gradients)))


__all__ = ["NativeLaplace", "native_laplace"]
