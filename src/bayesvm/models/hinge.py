"""The support vector machine as a probability model: hinge likelihood and normalised evidence (Sollich1999)."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.special import log_expit, logsumexp

from bayesvm.hyper import Maximizer, Maximum
from bayesvm.hyper.hinge_evidence import (
    EvidenceCurve,
    FixedProductObjective,
    HingeMaximum,
    HingeObjective,
    evidence_curve,
    evidence_fall,
    maximize_normalized,
    maximize_through_part,
)
from bayesvm.inference.hinge import (
    Annealing,
    HingeExactOrEP,
    Normalizer,
    NormalizerEstimate,
    PosteriorDraws,
    SliceSampling,
    annealed_evidence,
    hinge_bounds,
    rejection,
)
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.kernels.scale import Scale
from bayesvm.linalg import cholesky
from bayesvm.models.base import TrainingData
from bayesvm.models.gaussian_process import GaussianProcess, GaussianProcessModel, weighted_likelihood
from bayesvm.typing import Matrix, Vector

logger = logging.getLogger(__name__)

#: Entries up to which sparse rows are compared densely to find equal ones.
DENSE = 20_000_000
#: Below it the gap inverts.
LN2 = float(np.log(2.0))
#: Nats by which the evidence must fall towards the largest C for its maximum to count.
FLAT = 2.0
#: Beyond so many samples the starts search on FEW of them first.
MANY, FEW = 500, 300


@dataclasses.dataclass(frozen=True)
class HingeModel(GaussianProcessModel):
    r"""A fitted hinge model: the mode (a support vector machine), the parts of its evidence, and posterior draws.

    Attributes
    ----------
    log_naive_evidence, log_normalizer : float
        :math:`\ln Q(D)` and :math:`\ln \overline{N^n}`.
    log_evidence_error : float
        Monte Carlo standard error of their difference.
    remarks : tuple of str
        What the user should know.
    seed : int
        Seed of the draws.
    draws : PosteriorDraws or None
        Draws of the posterior, if probabilities are averaged over them.
    """

    log_naive_evidence: float = 0.0
    log_normalizer: float = 0.0
    log_evidence_error: float = 0.0
    remarks: tuple[str, ...] = ()
    seed: int = 0
    draws: PosteriorDraws | None = None

    @property
    def log_evidence(self) -> float:
        r""":math:`\ln P(D) = \ln Q(D) - \ln \overline{N^n}`."""
        return self.log_naive_evidence - self.log_normalizer

    @property
    def C(self) -> float:  # noqa: N802
        """The noise parameter."""
        return hinge_bounds(np.ones(1), self.likelihood.plain)[0]

    def drawn(self, count: int) -> PosteriorDraws:
        """Return draws of the posterior, always the same ones."""
        X, (y,) = self.objective.X, self.objective.outputs
        bound = hinge_bounds(y, self.likelihood)[1]
        rng = np.random.default_rng([self.seed, 2])
        return SliceSampling(draws=count).run(self.kernel.gram(X), y, bound, self.posteriors[0], rng)

    def values(self, X: Inputs, n_draws: int) -> Matrix:
        """Return latent values at the rows of X, one column per draw of the posterior; the mode if there are none."""
        if not n_draws:
            return self.mean(X)
        draws = self.draws if self.draws is not None else self.drawn(n_draws)
        return draws.at(self.kernel.gram(X, self.objective.X), self.kernel.diag(X))

    def averaged_log_odds(self, X: Inputs, n_draws: int) -> Matrix:
        r"""Return the log odds of :math:`P(y|\theta)`, Sollich1999 (5), averaged over draws."""
        f = self.values(X, n_draws)
        odds = self.C * (np.maximum(1.0 + f, 0.0) - np.maximum(1.0 - f, 0.0))
        if odds.shape[1] == 1:
            return np.asarray(odds)
        averaged = logsumexp(log_expit(odds), axis=1) - logsumexp(log_expit(-odds), axis=1)
        return np.asarray(averaged)[:, None]

    def rejection(self, X: Inputs, n_draws: int) -> Vector:
        r"""Return :math:`1 - \nu(\theta(x))`, the probability that there is no decision, averaged over draws."""
        return np.asarray(np.mean(rejection(self.values(X, n_draws), self.C), axis=1))

    def curve(self, C: Vector, *, paths: int = 600) -> EvidenceCurve:
        """Return the evidence against C, at the fixed product of C and the kernel."""
        return evidence_curve(self._against_c(), C, paths=paths)

    def fall_towards(self, C: float) -> tuple[float, float]:
        """Return by how much the evidence falls from the C that was found to a larger one, and its error."""
        return evidence_fall(self._against_c(), np.geomspace(self.C, C, 8), paths=200)

    def _against_c(self) -> FixedProductObjective:
        """Return the objective as a function of C alone."""
        o = self.objective
        assert isinstance(o, HingeObjective)
        return FixedProductObjective(
            self.kernel, self.likelihood, o.inference, o.X, o.y, o.prior, o.normalizer, o.nodes
        )


@dataclasses.dataclass(frozen=True)
class HingeProcess(GaussianProcess):
    """The hinge model.

    Parameters
    ----------
    tune_kernel : bool
        Whether kernel and C are learnt, or C alone at a fixed product of the two.
    normalized : bool
        Whether the evidence is divided by the normaliser.
    density : array, callable or None
        Rows (in the user's units) that stand for the input density; None: the training rows.
    n_nodes : int
        Largest number of rows at which draws of the prior are looked at.
    normalizer_tol : float
        Monte Carlo error of the normaliser, in nats, for which draws are added.
    annealed : bool
        Whether Q(D) is estimated by annealing at the end.
    n_draws : int
        Number of posterior draws that are kept for averaged probabilities; 0: none.
    """

    tune_kernel: bool = True
    normalized: bool = True
    density: Matrix | Callable[[np.random.Generator, int], Matrix] | None = None
    n_nodes: int = 100
    normalizer_tol: float = 0.2
    annealed: bool = False
    n_draws: int = 0

    @property
    def seed(self) -> int:
        """Seed of all Monte Carlo estimates."""
        return int(self.options.rng().integers(2**31))

    def objective(self, kernel: Kernel, data: TrainingData) -> HingeObjective:
        """Return the normalised evidence."""
        if not kernel.always_positive:
            cholesky(kernel.gram(data.X), jitter=True, what=f"the Gram matrix of {kernel!r}")
        rng = self.options.rng()
        seed = int(rng.integers(2**31))
        normalizer: Normalizer | None = None
        nodes: Inputs | None = None
        if self.normalized:
            nodes, weights = self._nodes(data, rng)
            normalizer = Normalizer(weights, float(data.counts.sum()), seed=seed)
        kind = HingeObjective if self.tune_kernel else FixedProductObjective
        likelihood = weighted_likelihood(self.likelihood, data)
        return kind(kernel, likelihood, self.inference, data.X, data.targets, self.hyperprior, normalizer, nodes)

    def _nodes(self, data: TrainingData, rng: np.random.Generator) -> tuple[Inputs, Vector]:
        """Return rows that stand for the input density, and their weights."""
        if self.density is None:
            return input_nodes(data.X, data.counts, self.n_nodes, rng)
        rows = density_rows(self.density, self.n_nodes, data.n_features, rng)
        other = Inputs(rows) if data.standardizer is None else data.standardizer.inputs(rows)
        return input_nodes(other, np.ones(len(other)), self.n_nodes, rng)

    def starts(self, kernel: Kernel, data: TrainingData, missing: int) -> list[Vector]:
        """Return starts of (kernel, C): amplitudes of a few margins, small variances of the bias, C from 1 to 4.

        A large variance of the bias makes all labels equal (Sollich1999, footnote 1), so none begins there.
        """
        form = kernel.tied() if self.options.several else kernel
        d, root, distance = data.n_features, float(np.sqrt(data.n_features)), data.distance
        table = [
            (Scale(2.0, root, 0.5, d), 2.0),
            (Scale(4.0, 0.5 * distance, 0.5, d), 1.5),
            (Scale(1.0, 2.0 * root, 0.5, d), 3.0),
            (Scale(8.0, root, 0.1, d), 1.0),
            (Scale(2.0, 0.4 * root, 0.1, d), 2.0),
            (Scale(2.0, 2.0 * distance, 1.0, d), 4.0),
        ]
        rng = self.options.rng()
        while len(table) < missing:
            a, b, c, e = rng.normal(size=4)
            scale = Scale(2.0 * float(np.exp(a)), root * float(np.exp(0.7 * b)), 0.3 * float(np.exp(c)), d)
            table.append((scale, 2.0 * float(np.exp(0.5 * e))))
        learnt = self.likelihood.theta.size
        return [np.concatenate([form.at_scale(s).theta, np.log([C])[:learnt]]) for s, C in table[:missing]]

    def search(self, maximizer: Maximizer, objective: HingeObjective, starts: Sequence[Vector]) -> HingeMaximum:
        """Maximise the normalised evidence, on some of the rows first if there are many."""
        if objective.n_rows > MANY and len(starts) > 1:
            order = np.random.default_rng([self.seed, 4]).permutation(objective.n_rows)
            return maximize_through_part(maximizer, objective, starts, np.sort(order[:FEW]), self.normalizer_tol)
        return maximize_normalized(maximizer, objective, starts, self.normalizer_tol)

    def model(self, objective: Any, maximum: Maximum, data: TrainingData) -> HingeModel:
        """Return the model at the maximum, with as many draws for the normaliser as a final estimate asks for."""
        if isinstance(maximum, HingeMaximum):
            found = maximum
        else:
            final = objective.planned(maximum.theta, self.normalizer_tol, final=True)
            first = final.evaluate(maximum.theta)
            found = HingeMaximum.of(final, Maximum.at(maximum.theta, first.value, first.evidence.latent))
        basis = GaussianProcessModel.at_maximum(found.objective, found.plain)
        fields = {f.name: getattr(basis, f.name) for f in dataclasses.fields(basis)}
        return HingeModel(**fields, seed=self.seed)

    def finish(self, model: Any, data: TrainingData) -> HingeModel:
        """Return the model with the parts of its evidence, remarks and draws."""
        estimate = model.objective.normalization(model.theta)
        normalizer, error = (0.0, 0.0) if estimate is None else (estimate.value, estimate.error)
        naive = model.evidence.value + normalizer
        if self.annealed:
            run = _annealed(model)
            naive, error = run.log_mean, float(np.hypot(error, run.error))
        model = dataclasses.replace(
            model,
            log_naive_evidence=float(naive),
            log_normalizer=float(normalizer),
            log_evidence_error=float(error),
            remarks=tuple(remarks(model, estimate, learnt=self.options.optimize, tol=self.normalizer_tol)),
            draws=model.drawn(self.n_draws) if self.n_draws else None,
            attributes={"C": np.array([model.C])},
        )
        for remark in model.remarks:
            logger.warning("%s", remark)
        return model  # type: ignore[no-any-return]


def _annealed(model: HingeModel) -> Any:
    """Return the annealed estimate of Q(D)."""
    X, (y,) = model.objective.X, model.objective.outputs
    options = Annealing(1000, max(50, 5 * len(X)), 2)
    rng = np.random.default_rng([model.seed, 1])
    return annealed_evidence(model.kernel.gram(X), y, model.likelihood, options, rng)


def input_nodes(X: Inputs, weights: Vector, most: int, rng: np.random.Generator) -> tuple[Inputs, Vector]:
    """Return at most ``most`` different rows of X with weights that sum to one.

    Rows are sorted, and equal ones merged, so that the common random numbers belong to rows and not to positions: the
    evidence does not change when rows are permuted, or given twice instead of with weight two.
    """
    if X.is_sparse and X.X.shape[0] * X.n_features > DENSE:
        distinct, total = np.arange(len(X)), weights
    else:
        rows = X.X.toarray() if X.is_sparse else X.X
        _, distinct, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        total = np.bincount(np.ravel(inverse), weights=weights).astype(np.float64)
    if distinct.size > most:
        chosen = np.sort(rng.choice(distinct.size, most, replace=False))
        distinct, total = distinct[chosen], total[chosen]
    return X.forget().take(distinct).forget(), total / total.sum()


def density_rows(given: Any, count: int, n_features: int, rng: np.random.Generator) -> Matrix:
    """Return the user's rows of the input density, drawn by a callable or as they are, or raise if they are wrong."""
    rows = np.asarray(given(rng, count) if callable(given) else given, dtype=float)
    if rows.ndim != 2 or rows.shape[0] < 1 or rows.shape[1] != n_features or not np.all(np.isfinite(rows)):
        raise ValueError(f"inputs: expected finite rows of {n_features} features, found shape {rows.shape}")
    return rows


def remarks(model: HingeModel, estimate: NormalizerEstimate | None, *, learnt: bool, tol: float) -> list[str]:
    """Return what the user should know about a fitted model."""
    found = []
    C, likelihood, objective = model.C, model.likelihood, model.objective
    if C < LN2:
        found.append(
            f"C = {C:.3g} is below ln 2: decisions are then more, not less, likely inside the gap |f| < 1, and the "
            "model makes little sense (Sollich1999, footnote 2)"
        )
    if isinstance(objective.inference, HingeExactOrEP) and "loss" in model.evidence.terms:
        found.append(
            "sample weights differ by so many orders of magnitude that expectation propagation does not settle: the "
            "coarse estimate of Sollich1999 (8) took its place"
        )
    learnt = learnt and bool(likelihood.theta.size)
    if learnt and likelihood.theta[0] >= likelihood.bounds[0, 1] - 0.02:
        found.append(
            f"the evidence still rises at the largest C allowed ({C:.3g}): the data show no label noise, and the "
            "evidence has no interior maximum in C; probabilities close to 0 and 1 are not supported by the data"
        )
    elif learnt and _separates(model) and _flat_above(model):
        found.append(
            f"the machine gives every training sample its label: the data show no label noise, and the evidence has no "
            f"interior maximum in C that could be relied on (found C = {C:.3g}; larger values are hardly less probable)"
        )
    if estimate is not None and estimate.error > max(1.0, 5.0 * tol):
        found.append(f"the normaliser is known to {estimate.error:.2g} nats only; compare evidences with care")
    return found


def _separates(model: HingeModel) -> bool:
    """Whether the mode gives every training sample its label."""
    return bool(np.all(model.mean(model.objective.X)[:, 0] * model.objective.outputs[0] > 0.0))


def _flat_above(model: HingeModel) -> bool:
    """Whether the evidence at the largest C allowed is hardly below that at the C found."""
    fall, error = model.fall_towards(float(np.exp(model.likelihood.bounds[0, 1])))
    return fall < FLAT + 2.0 * error


def default_start(kernel: Kernel, n_features: int) -> Kernel:
    """Return the default kernel with sensible values for standardised data, for when they are not learnt."""
    return kernel.at_scale(Scale(2.0, float(np.sqrt(n_features)), 0.5, n_features))


def curve_grid(given: Any, C: float, largest: float) -> Vector:
    """Return the values of C for an evidence curve: the user's, or forty around the fitted one."""
    grid = (
        np.geomspace(0.1 * C, max(min(10.0 * C, largest), 2.0 * C), 40)
        if given is None
        else np.asarray(given, dtype=float)
    )
    if grid.ndim != 1 or grid.size < 2 or not (np.all(grid > 0.0) and np.all(np.diff(grid) > 0.0)):
        raise ValueError(f"evidence_curve: expected increasing positive values of C, found {given!r}")
    return grid


__all__ = ["HingeModel", "HingeProcess", "curve_grid", "default_start", "density_rows", "input_nodes"]
