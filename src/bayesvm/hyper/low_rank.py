r"""The evidence where the Gram matrix has a low rank: the same numbers at the cost of the rank.

Targets over one or two inputs have Gram matrices of rank 20 to 100 up to rounding, whatever their number. Laplace's
method, exact for Gaussian noise, then works on the weights of as many features
(:class:`~bayesvm.hyper.covariance.PivotedCovariance`, :mod:`bayesvm.inference.low_rank.whole`), in O(n r^2) for n rows.
An evaluation looks at some of the rows for this; where their rank is not low, or where what is left over
could change the evidence by more than ``NEGLIGIBLE`` nats, it is computed as usual.

What is left over, :math:`E = K - \Phi\Phi^\top \succeq 0`, changes the evidence to first order by
:math:`\tfrac12 \alpha^\top E \alpha - \tfrac12 \operatorname{tr} R E` (:mod:`bayesvm.inference.laplace`), which is
judged by :math:`\tfrac12 \sum_i (\alpha_i^2 + W_i) E_{ii}`, since :math:`R \preceq W`.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence

import numpy as np

from bayesvm.hyper.covariance import Candidates, PivotedCovariance, PriorCovariance
from bayesvm.hyper.objective import Evaluation, EvidenceObjective
from bayesvm.inference import Exact, Laplace
from bayesvm.inference.low_rank.whole import FeatureEvidence, infer_features
from bayesvm.kernels.base import Kernel
from bayesvm.solvers import Newton
from bayesvm.typing import Vector

#: Change of the log evidence, in nats, by which a low rank may be wrong.
NEGLIGIBLE = 1e-6
#: Rows from which on it is looked for.
ENOUGH = 200
#: Share of the rows that is the highest rank worth using, and the share of the candidates that it may reach.
SHARE = 0.125
TRUSTED = 0.7
#: Least number of candidates; else an eighth of the rows.
CANDIDATES = 64


def with_low_rank(objective: EvidenceObjective, starts: Sequence[Vector] | None = None) -> EvidenceObjective:
    """Return the objective that uses a low rank where it finds one; the given one where that is not known to pay.

    It may pay for Laplace's method with Newton's solver and for exact inference, with one output and dense inputs, and
    does so if the rank is low at one of the starts (by default at the given parameters).
    """
    inference = objective.inference
    known = type(inference) is Exact or (type(inference) is Laplace and type(inference.solver) is Newton)
    plain = type(objective) is EvidenceObjective and objective.y.ndim == 1 and not objective.X.is_sparse
    if not (known and plain) or objective.n_rows < ENOUGH:
        return objective
    low = LowRankObjective(**{field.name: getattr(objective, field.name) for field in dataclasses.fields(objective)})
    points = (np.clip(start, *low.bounds.T) for start in ([low.theta0] if starts is None else starts))
    return low if any(low.pivoted(low.model(point)[0]) is not None for point in points) else objective


@dataclasses.dataclass(frozen=True)
class LowRankObjective(EvidenceObjective):
    """An evidence that is computed by a low rank of the Gram matrix where it has one; see the module.

    The evidence then has no derivative in the Gram matrix, as with inducing inputs.
    """

    #: The last covariance by a low rank, which an outlook asks for after an evaluation.
    _last: list[PivotedCovariance] = dataclasses.field(default_factory=list, init=False, repr=False, compare=False)

    @functools.cached_property
    def candidates(self) -> Candidates:
        """Rows among which pivots are chosen: some at random, and those at the ends of every feature."""
        X = self.X.dense()
        drawn = np.random.default_rng(0).permutation(self.n_rows)[: max(CANDIDATES, int(SHARE * self.n_rows))]
        rows = np.unique(np.concatenate([X.argmin(axis=0), X.argmax(axis=0), drawn]))
        return Candidates.of(self.X, rows, min(SHARE * self.n_rows, TRUSTED * rows.size))

    def covariance(self, kernel: Kernel) -> PriorCovariance:
        """Return the prior covariance, by its columns where its rank is low."""
        return self.pivoted(kernel) or super().covariance(kernel)

    def pivoted(self, kernel: Kernel) -> PivotedCovariance | None:
        """Return the covariance by a low rank, None if there is none."""
        for last in self._last:
            if last.kernel == kernel:
                return last
        found = PivotedCovariance.of(kernel, self.X, self.candidates)
        self._last[:] = [] if found is None else [found]
        return found

    def evaluate(self, theta: Vector, warm_start: Vector | None = None) -> Evaluation:
        """Return value, gradient, posterior and evidence at ``theta``; see :class:`EvidenceObjective`."""
        theta = np.asarray(theta, dtype=float)
        kernel, likelihood = self.model(theta)
        K = self.pivoted(kernel)
        found = None if K is None else infer_features(K.phi, self.y, likelihood, warm_start=warm_start)
        if K is None or found is None or not _left_over(K, found) <= NEGLIGIBLE:
            return super().evaluate(theta, warm_start)
        log_prior, prior_gradient = self.prior.log_density(theta, self.names)
        gradient = np.concatenate([K.pullback(found.bar), found.evidence.dphi]) + prior_gradient
        return Evaluation(theta, found.evidence.value + log_prior, gradient, (found.posterior,), found.evidence)


def _left_over(K: PivotedCovariance, found: FeatureEvidence) -> float:
    """Return about how much the evidence would change, in nats, with what the pivots leave of the diagonal."""
    posterior, residual = found.posterior, K.residual
    square = posterior.alpha**2 @ residual[posterior.support]
    return 0.5 * float(square + posterior.factor.curvature @ residual[posterior.factor.support])


__all__ = ["LowRankObjective", "with_low_rank"]
