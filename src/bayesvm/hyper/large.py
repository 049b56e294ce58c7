r"""The search for the hyperparameters of many rows.

1. *A sample.* The exact evidence of about a thousand rows is maximised from all starts
   (:func:`~bayesvm.hyper.search.maximize_evidence`), which tells the features that matter. A sample of rows is too thin
   to show structure on a small scale, so it says little about how smooth the function is.
2. *Some blocks.* A sample of blocks, each given its neighbours among all rows, sees the data as dense as they are
   (:meth:`LargeProblem.some_blocks`). Its evidence is maximised next, from the end of step 1 and from the same with
   shorter length scales, and again with blocks chosen anew. The same is done from a short length scale for all
   features, for a thin sample switches off those that matter on a small scale alone, and neighbours are then chosen
   without them. Where it can only be neighbours or inducing inputs (other noise than Gaussian, labels) it is also done
   with inducing inputs and a sample of rows. The best end counts.
3. *All rows*, or :data:`ROWS` of them. The approximation is chosen at that point (:meth:`LargeProblem.at`). Inducing
   inputs are taken by greedy conditional variance until what they leave over, :math:`\tfrac12 W r` per row, is below
   :data:`ENOUGH` nats and below a share of the whole, :data:`UNEXPLAINED`. Where this is never reached, rows are
   conditioned on their neighbours: for Gaussian noise on top of a few inducing inputs, if these raise the evidence, for
   other likelihoods in their place, if the evidence is then higher. The evidence is maximised, inducing inputs and
   neighbours are chosen anew, and so on, until the hyperparameters stay where they are. Choosing anew is what matters
   most: neighbours under the wrong length scales are not the rows that count.

Losses with jumps of the curvature are replaced by their smooth surrogates in steps 2 and 3, as in
:mod:`bayesvm.hyper.surrogate`.
"""

from __future__ import annotations

import dataclasses
import functools
import logging
from collections.abc import Callable, Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.hyper.bfgs import SearchStatus
from bayesvm.hyper.cost import expected_cost
from bayesvm.hyper.inducing import InducingEvidence, InducingObjective, greedy_rows
from bayesvm.hyper.local import LocalGaussianObjective, LocalObjective
from bayesvm.hyper.multistart import Maximizer, Maximum, StartRecord
from bayesvm.hyper.neighbours import OWN, Neighbourhood, neighbourhoods
from bayesvm.hyper.objective import EvidenceObjective, ModelParameters
from bayesvm.hyper.priors import Flat, Hyperprior
from bayesvm.hyper.search import maximize_evidence
from bayesvm.hyper.subsample import drawn_rows
from bayesvm.inference.base import Inference
from bayesvm.inference.ep import EP
from bayesvm.inference.exact import Exact
from bayesvm.inference.laplace import Laplace
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods.base import Likelihood, Regression
from bayesvm.typing import Indices, Matrix, Vector

logger = logging.getLogger(__name__)

#: Rows of the sample on which the search begins, blocks with which it goes on, rows among which inputs are chosen.
SAMPLE = 1000
BLOCKS = 64
POOL = 4000
#: Nats per row, left over by the inducing inputs, below which there is nothing left for neighbours.
ENOUGH = 0.01
#: Share of the prior variance that they may leave over; it counts where the function is far below the noise.
UNEXPLAINED = 0.05
#: Inducing inputs that are tried by themselves, beside neighbours, and on a sample; nats per row that those beside
#: neighbours must gain.
MOST = 500
BESIDE = 100
FEWER = 200
WORTH = 0.02
#: Rows up to which neighbours are considered: Gaussian noise, and likelihoods whose blocks have modes to be found.
GAUSSIAN_ROWS = 200_000
OTHER_ROWS = 50_000
#: Rows that are enough for the rest of the search, with neighbours and with inducing inputs alone.
ROWS = 20_000
FEATURE_ROWS = 10_000
#: Evaluations of each round with some blocks, and with as many rows.
FIRST = (20, 20)
THEN = (20, 60)
#: By how much the logarithms of the length scales are smaller in the second start with some blocks, and what all length
#: scales are in the third, in units of the distance of two rows, of which as many are looked at.
SHORTER = 1.0
CLOSE = 0.15
PAIRS = 200
#: Change of an entry of theta below which inducing inputs and neighbours need not be chosen anew.
STAYS = 0.05
#: Predicted gain per hyperparameter and row, in nats, at which a round has converged.
GAIN = 1e-5

#: What the evidence of many rows may be: of rows in memory, or wherever they are.
LargeObjective = InducingObjective | LocalGaussianObjective | LocalObjective
ManyRows = InducingEvidence | LocalGaussianObjective | LocalObjective


@dataclasses.dataclass(frozen=True)
class LargeProblem(ModelParameters):
    r"""Many rows, a kernel and a likelihood, before it is known how their evidence is approximated.

    Parameters
    ----------
    kernel, likelihood, inference : Kernel, Likelihood, Inference
        The model; their current parameters are ``theta0``.
    X : Inputs
        Training inputs.
    y : array, shape (n,) or (n, q)
        Labels -1/+1 or targets, one column per output.
    size : int or None
        Number of inducing inputs, with no neighbours beside them; None: as many as are needed.
    prior : Hyperprior
        Density of theta.
    seed : int
        Of the samples and the order of the blocks.
    neighbours : bool
        Whether rows may be conditioned on their neighbours, where inducing inputs are not enough.
    """

    kernel: Kernel
    likelihood: Likelihood
    inference: Inference
    X: Inputs
    y: Matrix
    size: int | None = None
    prior: Hyperprior = dataclasses.field(default_factory=Flat)
    seed: int = 0
    neighbours: bool = True

    @property
    def n_rows(self) -> int:
        """Number of training rows."""
        return len(self.X)

    @property
    def local(self) -> bool:
        """Whether neighbours are considered: there are not too many rows, and nothing else was asked for."""
        most = GAUSSIAN_ROWS if self.likelihood.traits.quadratic else OTHER_ROWS
        return self.neighbours and self.size is None and (self.n_rows <= most or not self.in_weights)

    @property
    def in_weights(self) -> bool:
        """Whether the inference method is known for the weights of features, and not only for rows."""
        return isinstance(self.inference, Laplace | Exact | EP)

    @property
    def sample_rows(self) -> Indices:
        """Rows of the sample."""
        return drawn_rows(self.y, min(SAMPLE, self.n_rows))

    def sample(self) -> EvidenceObjective:
        """Return the exact evidence of a sample of the rows."""
        rows = self.sample_rows
        likelihood = self.likelihood.part(rows)
        return EvidenceObjective(self.kernel, likelihood, self.inference, self.X.take(rows), self.y[rows], self.prior)

    def evaluate(self, theta: Vector, warm_start: Vector | None = None) -> object:
        """Return the evaluation of the approximation that suits ``theta``."""
        return self.at(theta).evaluate(theta)

    def smoothed(self) -> Self:
        """Return the problem with the smooth surrogate of its likelihood."""
        likelihood = self.likelihood.smoothed
        return dataclasses.replace(self, likelihood=likelihood, inference=self.inference.suited(likelihood))

    # -- the approximation --------------------------------------------------------------------------------------------
    def some_blocks(self, theta: Vector) -> LargeObjective:
        """Return the evidence of a sample of the blocks, each given its neighbours among all rows.

        Without neighbours it is that of a sample of the rows.
        """
        if not self.local:
            return self.some_rows(theta)
        kernel, likelihood = self.model(np.asarray(theta, dtype=float))
        blocks = self._blocks(kernel, BLOCKS)
        return self._with_neighbours(theta, blocks, self.greedy(kernel, likelihood)[0])

    def shorter(self, theta: Vector) -> Vector:
        """Return theta with shorter length scales."""
        return np.clip(theta - SHORTER * self._scales, *self.bounds.T)

    def close(self, theta: Vector) -> Vector:
        """Return theta with the same short length scale for all features.

        A sample of rows switches off features that matter on a small scale alone: here they are all on.
        """
        square = float(np.mean(self.X.take(self.sample_rows[:PAIRS]).squared_distances()))
        if square == 0.0:
            return theta
        return np.clip(np.where(self._scales, np.log(CLOSE * np.sqrt(square)), theta), *self.bounds.T)

    @property
    def _scales(self) -> NDArray[np.bool_]:
        """Which entries of theta are logarithms of length scales."""
        return np.array(["lengthscale" in name for name in self.names])

    def some_rows(self, theta: Vector) -> InducingObjective:
        """Return the evidence of a sample of the rows with fewer inducing inputs."""
        return self._low_rank(self.greedy(*self.model(np.asarray(theta, dtype=float)))[0][:FEWER], POOL)

    @property
    def either(self) -> bool:
        """Whether it is inducing inputs or neighbours, but not both, and the evidence has to decide."""
        return self.in_weights and self.local and not self.likelihood.traits.quadratic

    def value_per_row(self, theta: Vector) -> float:
        """Return the evidence per row of the approximation that suits ``theta``, from as many rows as tell kernels."""
        objective = self.judged_at(theta)
        return objective.evaluate(theta).value / covered(objective)

    def judged_at(self, theta: Vector) -> LargeObjective:
        """Return the evidence by which kernels are compared, with the approximation that suits ``theta``.

        Kernels differ by hundredths of a nat per row, and so do samples of 4000 rows; for Gaussian noise more rows are
        cheap.
        """
        return self.at(theta, most=ROWS if self.likelihood.traits.quadratic else POOL)

    def at(self, theta: Vector, most: int | None = None) -> LargeObjective:
        """Return the evidence of all rows, or of about as many as are enough, with the approximation that suits theta.

        Parameters
        ----------
        theta : array
            Hyperparameters.
        most : int, optional
            Number of rows that is enough; of blocks given their neighbours, the neighbours do not count.
        """
        kernel, likelihood = self.model(np.asarray(theta, dtype=float))
        rows, left = self.greedy(kernel, likelihood)
        low_rank = self._low_rank(rows, most)
        if self.in_weights and (not self.local or left <= ENOUGH):
            return low_rank
        blocks = self._blocks(kernel, None if most is None else -(-most // OWN))
        local = self._with_neighbours(theta, blocks, rows)
        if not self.either:
            return local
        values = [objective.evaluate(theta).value / covered(objective) for objective in (low_rank, local)]
        logger.info("log evidence per row with %d inducing inputs %.4g, with neighbours %.4g", rows.size, *values)
        return low_rank if values[0] >= values[1] else local

    def _low_rank(self, rows: Indices, most: int | None) -> InducingObjective:
        """Return the evidence with inducing inputs alone, of all rows or of as many as are enough."""
        X, y, likelihood, rows = self.X, self.y, self.likelihood, np.sort(rows)
        if most is not None and min(most, FEATURE_ROWS) < self.n_rows:
            part = np.random.default_rng(self.seed).choice(self.n_rows, min(most, FEATURE_ROWS), replace=False)
            part = np.union1d(part, rows)
            X, y, likelihood, rows = X.take(part), y[part], likelihood.part(part), np.searchsorted(part, rows)
        return InducingObjective(self.kernel, likelihood, X, y, rows, self.prior, self.inference)

    def _blocks(self, kernel: Kernel, most: int | None = None) -> tuple[Neighbourhood, ...]:
        return neighbourhoods(kernel, self.X, np.random.default_rng(self.seed), most=most)

    def _with_neighbours(self, theta: Vector, blocks: tuple[Neighbourhood, ...], rows: Indices) -> LargeObjective:
        """Return the evidence given neighbours; ``rows`` are inducing inputs in the order of their choice."""
        parts = (self.kernel, self.likelihood, self.X, self.y, blocks)
        if not self.likelihood.traits.quadratic:
            return LocalObjective(*parts, self.inference, self.prior)
        alone = LocalGaussianObjective(*parts, rows[:0], self.prior)
        beside = alone.at_inputs(rows[:BESIDE], blocks)
        gain = beside.evaluate(theta).value - alone.evaluate(theta).value
        return beside if gain > WORTH * sum(block.own.size for block in blocks) else alone

    def greedy(self, kernel: Kernel, likelihood: Likelihood) -> tuple[Indices, float]:
        r"""Return inducing inputs in the order of their choice, and what they leave, :math:`\tfrac12 W r` per row."""
        pool = np.arange(self.n_rows)
        if self.n_rows > POOL:
            pool = np.sort(np.random.default_rng(self.seed).choice(self.n_rows, POOL, replace=False))
        inputs = self.X.take(pool)
        all_of_it = 0.5 * typical_curvature(likelihood) * float(np.mean(kernel.diag(inputs)))
        enough = min(ENOUGH / all_of_it, UNEXPLAINED) if self.size is None else 0.0
        choice = greedy_rows(kernel, inputs, self.size or MOST, enough=enough)
        return pool[choice.rows], all_of_it * float(choice.left[-1])


def covered(objective: ManyRows) -> int:
    """Return the number of rows whose evidence it is."""
    return objective.n_rows if isinstance(objective, InducingEvidence) else objective.own.size


def typical_curvature(likelihood: Likelihood) -> float:
    """Return the curvature of a row's loss: one over the variance of the noise, or that of an undecided label."""
    plain = likelihood.plain
    if isinstance(plain, Regression):
        return 1.0 / plain.noise_variance
    return float(plain.derivatives(np.ones(1), np.zeros(1)).curvature[0])


def maximize_large(maximizer: Maximizer, problem: LargeProblem, starts: Sequence[Vector]) -> Maximum:
    """Maximise the evidence of many rows; see the module.

    Parameters
    ----------
    maximizer : Maximizer
        Options of the searches.
    problem : LargeProblem
        What is maximised.
    starts : sequence of arrays
        Each a theta of the kernel (followed by that of the likelihood), or of the kernel with its features tied. A
        single start searches with all rows at once.
    """
    if len(starts) == 1:
        return search_rounds(maximizer, starts, THEN, functools.partial(problem.smoothed().at, most=ROWS))
    first = maximize_on_blocks(maximizer, problem, starts)
    if first.interrupted:
        return first
    maximum = maximize_large(maximizer, problem, [first.theta])
    return dataclasses.replace(maximum, history=first.history + maximum.history)


def maximize_on_blocks(maximizer: Maximizer, problem: LargeProblem, starts: Sequence[Vector]) -> Maximum:
    """Maximise the evidence of a sample of rows, then that of a sample of blocks: steps 1 and 2 of the module.

    A search whose evidence cannot be computed is left out; its starts are in the history, with the status that says so.

    Raises
    ------
    NotPositiveDefiniteError
        If it cannot be computed in any of the searches.
    """
    first = maximize_evidence(maximizer, problem.sample(), starts)
    if first.interrupted:
        return first
    smooth = problem.smoothed()
    searches: list[tuple[list[Vector], Sequence[int], Callable[[Vector], LargeObjective]]]
    searches = [([first.theta, problem.shorter(first.theta)], FIRST, smooth.some_blocks)]
    if smooth.local:
        searches.append(([problem.close(first.theta)], FIRST, smooth.some_blocks))
    if smooth.either:
        searches.append(([first.theta], FIRST[:1], smooth.some_rows))
    history, failures = first.history, []
    ends: list[tuple[float, Maximum]] = []
    for own, budgets, choose in searches:
        try:
            found = search_rounds(maximizer, own, budgets, choose)
            judged = len(searches) > 1 and not found.interrupted
            value = smooth.value_per_row(found.theta) if judged else found.value
        except NotPositiveDefiniteError as error:
            logger.warning("a search on a sample is left out: %s", error)
            failures.append(error)
            history += tuple(StartRecord(theta, theta, -np.inf, 1, SearchStatus.FAILED, 0.0) for theta in own)
            continue
        history += found.history
        if found.interrupted:
            return dataclasses.replace(found, history=history)
        ends.append((value, found))
    if not ends:
        raise failures[0]
    best = max(ends, key=lambda pair: pair[0])[1]
    return dataclasses.replace(best, history=history)


def search_rounds(
    maximizer: Maximizer,
    starts: Sequence[Vector],
    budgets: Sequence[int],
    choose: Callable[[Vector], ManyRows],
    metric: Matrix | None = None,
) -> Maximum:
    """Maximise what is chosen at the first start, choose anew, and so on, until theta stays where it is.

    Parameters
    ----------
    maximizer : Maximizer
        Options of the searches.
    starts : sequence of arrays
        All take part in the first round.
    budgets : sequence of int
        Evaluations of each round.
    choose : callable
        Returns the evidence that suits a theta.
    metric : array, optional
        Inverse Hessian at the first start, if it is known.
    """
    history: tuple[StartRecord, ...] = ()
    for budget in budgets:
        objective = choose(starts[0])
        options = dataclasses.replace(
            maximizer,
            tol=max(maximizer.tol, GAIN * covered(objective)),
            max_evaluations=min(budget, maximizer.max_evaluations),
        )
        logger.info("%s: %s, at most %d", describe(objective), expected_cost(objective), options.max_evaluations)
        maximum = options.maximize(objective, starts, metrics=[metric, *[None] * (len(starts) - 1)])
        best = max(maximum.history, key=lambda record: record.value)
        spent = sum(record.evaluations for record in maximum.history)
        seconds = sum(record.seconds for record in maximum.history)
        message = "%s: log evidence %.6g after %d evaluations in %.3g s"
        logger.info(message, describe(objective), best.value, spent, seconds)
        stays = np.max(np.abs(maximum.theta - starts[0]), initial=0.0) <= STAYS
        history, metric, starts = history + maximum.history, best.H, [maximum.theta]
        if maximum.interrupted or stays:
            break
    return dataclasses.replace(maximum, history=history)


def describe(objective: ManyRows) -> str:
    """Return the approximation in words."""
    if isinstance(objective, InducingEvidence):
        return f"{objective.numbers.size} inducing inputs"
    words = [] if isinstance(objective, LocalObjective) else [f"{objective.rows.size} inducing inputs"]
    words.append(f"{len(objective.neighbourhoods)} blocks given their neighbours")
    return " and ".join(words)


__all__ = [
    "LargeObjective",
    "LargeProblem",
    "covered",
    "describe",
    "maximize_large",
    "maximize_on_blocks",
    "search_rounds",
    "typical_curvature",
]
