r"""The evidence where the Gram matrix has a low rank: the same numbers at the cost of the rank.

Targets over one or two inputs have Gram matrices of rank 20 to 100 up to rounding, whatever their number. Laplace's
method, exact for Gaussian noise, then works on the weights of as many features
(:class:`~bayesvm.hyper.covariance.PivotedCovariance`, :mod:`bayesvm.inference.low_rank.weights`), in O(n r^2) for n rows.
An evaluation looks at an eighth of the rows for this; where their rank is not low, or where what is left over
could change the evidence by more than ``NEGLIGIBLE`` nats, it is computed as usual.

What is left over, :math:`E = K - \Phi\Phi^\top \succeq 0`, changes the evidence to first order by
:math:`\tfrac12 \alpha^\top E \alpha - \tfrac12 \operatorname{tr} R E` (:mod:`bayesvm.inference.laplace`), which is
judged by :math:`\tfrac12 \sum_i (\alpha_i^2 + W_i) E_{ii}`, since :math:`R \preceq W`.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from bayesvm.hyper.covariance import Candidates, PivotedCovariance, PriorCovariance
from bayesvm.hyper.objective import Evaluation, EvidenceObjective
from bayesvm.inference import Exact, Laplace
from bayesvm.inference.base import Evidence, Posterior
from bayesvm.inference.low_rank import FeatureBlock, Features, infer_weights
from bayesvm.inference.low_rank.features import Sums
from bayesvm.inference.low_rank.weights import plus_identity, weighted_gram
from bayesvm.kernels.base import Kernel
from bayesvm.likelihoods.base import Likelihood
from bayesvm.linalg import cholesky
from bayesvm.linalg.feature_factor import FeatureFactor
from bayesvm.solvers import Newton
from bayesvm.typing import Vector

#: Change of the log evidence, in nats, by which a low rank may be wrong.
NEGLIGIBLE = 1e-6
#: Rows from which on it is looked for, and the share of them among which pivots are chosen.
ENOUGH = 200
SHARE = 0.125


def with_low_rank(objective: EvidenceObjective) -> EvidenceObjective:
    """Return the objective that uses a low rank where it finds one; the given one where that is not known to pay.

    Looked for are Laplace's method with Newton's solver and exact inference, for one output and dense inputs.
    """
    inference = objective.inference
    known = type(inference) is Exact or (type(inference) is Laplace and type(inference.solver) is Newton)
    plain = type(objective) is EvidenceObjective and objective.y.ndim == 1 and not objective.X.is_sparse
    if not (known and plain) or objective.n_rows < ENOUGH:
        return objective
    return LowRankObjective(**{field.name: getattr(objective, field.name) for field in dataclasses.fields(objective)})


@dataclasses.dataclass(frozen=True)
class LowRankObjective(EvidenceObjective):
    """An evidence that is computed by a low rank of the Gram matrix where it has one; see the module.

    The evidence then has no derivative in the Gram matrix, as with inducing inputs.
    """

    @functools.cached_property
    def candidates(self) -> Candidates:
        """Rows among which pivots are chosen: some at random, and those at the ends of every feature."""
        X = self.X.dense()
        drawn = np.random.default_rng(0).permutation(self.n_rows)[: int(SHARE * self.n_rows)]
        return Candidates.of(self.X, np.unique(np.concatenate([X.argmin(axis=0), X.argmax(axis=0), drawn])))

    def covariance(self, kernel: Kernel) -> PriorCovariance:
        """Return the prior covariance, by its columns where its rank is low."""
        return PivotedCovariance.of(kernel, self.X, self.candidates) or super().covariance(kernel)

    def evaluate(self, theta: Vector, warm_start: Vector | None = None) -> Evaluation:
        """Return value, gradient, posterior and evidence at ``theta``; see :class:`EvidenceObjective`."""
        theta = np.asarray(theta, dtype=float)
        kernel, likelihood = self.model(theta)
        K = PivotedCovariance.of(kernel, self.X, self.candidates)
        found = None if K is None else self._by_features(K, likelihood, warm_start)
        if found is None:
            return super().evaluate(theta, warm_start)
        posterior, evidence, gradient = found
        log_prior, prior_gradient = self.prior.log_density(theta, self.names)
        gradient = np.concatenate([gradient, evidence.dphi]) + prior_gradient
        return Evaluation(theta, evidence.value + log_prior, gradient, (posterior,), evidence)

    def _by_features(
        self, K: PivotedCovariance, likelihood: Likelihood, warm_start: Vector | None
    ) -> tuple[Posterior, Evidence, Vector] | None:
        """Return posterior, evidence and its gradient in the kernel's parameters, None if too much is left over."""
        block = FeatureBlock(K.phi, K.residual, self.y[:, None], likelihood)
        start = None if warm_start is None else _first_weights(block, warm_start)
        found = infer_weights(_Block(block), likelihood, n_rows=self.n_rows, warm_start=start, chords=False)
        f = K.phi @ found.posterior.mean
        d = likelihood.derivatives(self.y, f)
        if not 0.5 * float((d.gradient**2 + d.curvature) @ K.residual) <= NEGLIGIBLE:
            return None
        factor = FeatureFactor.of(K.phi, d.curvature, found.posterior.factor)
        none = np.empty(0, dtype=np.intp)
        terms = {name: value for name, value in found.terms.items() if name != "trace"}
        value = sum(terms.values())
        evidence = Evidence(value, terms, none, np.empty((0, 0)), found.dphi, found.status, f, found.n_iter)
        gradient = K.pullback(*found.feature_cotangent(block), found.gram_cotangent())
        return Posterior.of(-d.gradient, factor), evidence, gradient


def _first_weights(block: FeatureBlock, latent: Vector) -> Vector | None:
    r"""Return the weights after a Newton step from given latent values, :math:`S^{-1} \Phi^\top (W f - \ell'(f))`.

    None where the loss is infinite.
    """
    d = block.likelihood.derivatives(block.target(0), latent)
    if not np.all(np.isfinite(d.loss)):
        return None
    S = plus_identity(weighted_gram(block.phi, d.curvature))
    return cholesky(S, overwrite=True).solve(block.phi.T @ (d.curvature * latent - d.gradient))


@dataclasses.dataclass(frozen=True)
class _Block(Features):
    """All rows in one block."""

    block: FeatureBlock

    @property
    def n_features(self) -> int:
        return self.block.phi.shape[1]

    def total(self, share: Callable[[Any], Sums]) -> Sums:
        return share(self.block)


__all__ = ["LowRankObjective", "with_low_rank"]
