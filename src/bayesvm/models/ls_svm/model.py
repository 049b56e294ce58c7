"""Least-squares machines by three levels of inference (VanGestel2002)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from bayesvm.hyper import Maximum
from bayesvm.hyper.ls_svm import LevelsObjective
from bayesvm.hyper.ls_svm_rows import MANY, maximize_on_parts
from bayesvm.inference.ls_svm import Design, Moderator, robust_weights, softmax_log_odds
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods import GaussianNoise
from bayesvm.linalg.covariance_root import covariance_root
from bayesvm.models.base import Candidate, ModelSpec, TrainingData
from bayesvm.models.ls_svm.levels import Levels, complete_levels, factored_levels, landmark_levels, leading_levels
from bayesvm.models.ls_svm.prune import prune
from bayesvm.models.predictor import blocks
from bayesvm.models.rvm import distinct_starts
from bayesvm.typing import Indices, Matrix, Vector

#: Rows up to which all eigenpairs are kept by default, how many are kept beyond, and rows on which theta is learnt.
COMPLETE = 4000
KEPT = 500
SEARCHED = 2000
#: Length scales of the first starts, relative to the typical distance of two rows.
RELATIVE_SCALES = (0.35, 0.15, 0.8, 2.0, 0.06, 5.0)


@dataclasses.dataclass(frozen=True)
class LeastSquaresModel:
    """Kernel, levels and search of one least-squares machine (with one or several outputs).

    Attributes
    ----------
    kernel : Kernel
        With its learnt parameters.
    levels : Levels
        What levels 1 and 2 give.
    inputs : Inputs
        Rows on which the predictor rests, standardised.
    objective, maximum, candidates
        As in :class:`~bayesvm.models.gaussian_process.GaussianProcessModel`.
    pruning_curve : tuple of (int, float)
        Number of rows on which the machine rests, and log evidence, if it was pruned.
    moderator : Moderator or None
        Class densities along the discriminants, for labels.
    """

    kernel: Kernel
    levels: Levels
    inputs: Inputs
    objective: LevelsObjective
    maximum: Maximum
    candidates: tuple[Candidate, ...] = ()
    pruning_curve: tuple[tuple[int, float], ...] = ()
    moderator: Moderator | None = None

    @property
    def theta(self) -> Vector:
        """Where the objective was maximal."""
        return self.maximum.theta

    @property
    def likelihood(self) -> GaussianNoise:
        r"""Noise of variance :math:`1/\zeta`."""
        return GaussianNoise(1.0 / self.levels.found.zeta).fix()

    @property
    def n_outputs(self) -> int:
        """Number of latent functions."""
        return int(self.levels.predictor.bias.size)

    @property
    def log_evidence(self) -> float:
        """(5.3), constants left out."""
        return self.levels.log_evidence

    @property
    def problems(self) -> tuple[str, ...]:
        """What did not converge, in words."""
        return tuple(s.value for s in (self.maximum.status, self.levels.status) if not s.ok)

    @property
    def support(self) -> Indices:
        """Training rows on which the predictor rests."""
        return self.levels.rows

    @property
    def coefficients(self) -> Matrix:
        """Their coefficients, one row per output."""
        return self.levels.predictor.beta.T

    @property
    def attributes(self) -> Mapping[str, Any]:
        """Hyperparameters of level 2, the bias, and what approximation and pruning left out."""
        found = self.levels.found
        level2 = {name: np.array([getattr(found, name)]) for name in ("gamma", "mu", "zeta", "gamma_eff")}
        return {
            **level2,
            "intercept": self.levels.predictor.bias,
            "approximations": (self.levels.approximation,),
            "pruning_curves": (self.pruning_curve,),
        }

    # -- the latent functions -----------------------------------------------------------------------------------------
    def _blocks(self, X: Inputs) -> Iterator[tuple[Indices, Matrix, Vector]]:
        """Yield row numbers, cross Gram matrix and prior variances of parts of X."""
        for rows, part in blocks(X, len(self.inputs)):
            yield rows, self.kernel.gram(part, self.inputs), self.kernel.diag(part)

    def mean(self, X: Inputs) -> Matrix:
        """Return the means of the latent functions at the rows of X."""
        mean = np.empty((len(X), self.n_outputs))
        for rows, part in blocks(X, len(self.inputs)):
            mean[rows] = self.levels.predictor.mean(self.kernel.gram(part, self.inputs))
        return mean

    def latent(self, X: Inputs) -> tuple[Matrix, Matrix]:
        """Return means and variances of the latent functions at the rows of X; the outputs share their variance."""
        predictor = self.levels.predictor
        mean, var = np.empty((len(X), self.n_outputs)), np.empty(len(X))
        for rows, K_s, k_ss in self._blocks(X):
            mean[rows], var[rows] = predictor.mean(K_s), predictor.var(K_s, k_ss)
        return mean, np.repeat(var[:, None], self.n_outputs, axis=1)

    def sample(self, X: Inputs, n_draws: int, rng: np.random.Generator) -> Matrix:
        """Return joint draws of the latent functions, shape (n, n_draws, q)."""
        K_s, K_ss, predictor, q = (
            self.kernel.gram(X, self.inputs),
            self.kernel.gram(X),
            self.levels.predictor,
            self.n_outputs,
        )
        scale = float(np.max(K_ss.diagonal())) / predictor.mu
        root = covariance_root(predictor.covariance(K_s, K_ss), scale, what="posterior covariance")
        noise = root @ rng.standard_normal((len(X), n_draws * q))
        return predictor.mean(K_s)[:, None, :] + noise.reshape(len(X), n_draws, q)

    # -- labels -------------------------------------------------------------------------------------------------------
    def log_odds(self, X: Inputs) -> Matrix:
        """Return the log odds of the moderated outputs, (3.16) and (3.17)."""
        assert self.moderator is not None
        predictor, mixtures = self.levels.predictor, self.moderator.mixtures
        mean, spreads = np.empty((len(X), self.n_outputs)), np.empty((len(X), mixtures.shape[1]))
        for rows, K_s, k_ss in self._blocks(X):
            mean[rows], spreads[rows] = predictor.mean(K_s), predictor.spreads(K_s, k_ss, mixtures)
        return self.moderator.log_odds(mean, spreads)

    def softmax_log_odds(self, X: Inputs) -> Matrix:
        """Return the log odds of the averaged softmax function (section 3.2)."""
        mean, var = self.latent(X)
        return softmax_log_odds(mean, var[:, 0])


@dataclasses.dataclass(frozen=True)
class LeastSquares(ModelSpec):
    """A least-squares machine: steps 1 to 5 of VanGestel2002 section 6.1, then what was asked for beyond.

    Parameters
    ----------
    fit_intercept : bool
        Whether the model has an unregularised bias.
    n_components : int or None
        Leading eigenpairs that are kept; None: all for up to ``COMPLETE`` rows, ``KEPT`` beyond.
    landmarks : int or None
        Number of rows in whose span the machine lives.
    prune : int, float or None
        Number or fraction of rows on which the machine shall rest.
    robust : bool
        Whether rows with large residuals lose their weight.
    relearn : bool
        Whether the kernel is learnt again with the robust weights.
    least_noise : float
        Least ratio of noise to prior variance; see :class:`~bayesvm.inference.ls_svm.Design`.
    """

    search: ClassVar[Any] = staticmethod(maximize_on_parts)

    fit_intercept: bool = True
    n_components: int | None = None
    landmarks: int | None = None
    prune: float | int | None = None
    robust: bool = False
    relearn: bool = True
    least_noise: float = 1e-7

    def objective(self, kernel: Kernel, data: TrainingData) -> LevelsObjective:
        """Return the evidence of level 3 on the rows of which theta is learnt."""
        part = self._searched(data)
        return LevelsObjective(kernel, part.X, part.y, self._design(part), self.hyperprior)

    def starts(self, kernel: Kernel, data: TrainingData, missing: int) -> list[Vector]:
        """Return different length scales, with the features tied if there are several starts."""
        drawn = self.options.rng().lognormal(np.log(0.5), 1.0, size=max(0, missing - len(RELATIVE_SCALES)))
        scales = [*RELATIVE_SCALES, *drawn][:missing]
        return distinct_starts(kernel.tied() if self.options.n_starts > 1 else kernel, data, scales)

    def model(self, objective: LevelsObjective, maximum: Maximum, data: TrainingData) -> LeastSquaresModel:
        """Return the levels on all rows at the learnt theta."""
        kernel, design = objective.kernel.with_theta(maximum.theta), self._design(data)
        levels = self._levels(kernel, data, design, maximum.latent if objective.design.n == data.n_rows else None)
        curve: tuple[tuple[int, float], ...] = ()
        if self.prune is not None:
            levels, curve = self._pruned(kernel, data, design, levels)
        bare = dataclasses.replace(objective, X=objective.X.forget())
        inputs = data.X.forget().take(levels.rows)
        return LeastSquaresModel(kernel, levels, inputs, bare, maximum, (), curve)

    def finish(self, model: Any, data: TrainingData) -> LeastSquaresModel:
        """Return the model with robust weights, if they were asked for, and for labels with its class densities."""
        if self.robust:
            model = self._reweighted(model, data)
        if data.codes is None:
            return model  # type: ignore[no-any-return]
        groups = class_groups(data)
        positive = (groups.T @ (data.y > 0.0) > 0.0).astype(float)
        moderator = Moderator.of(model.levels.latent, groups, data.counts, positive, model.levels.found.gamma_eff)
        return dataclasses.replace(model, moderator=moderator)  # type: ignore[no-any-return]

    def _reweighted(self, model: LeastSquaresModel, data: TrainingData) -> LeastSquaresModel:
        """Repeat levels 1 and 2 (and the search, if asked for) with weights that shrink with the residuals."""
        weights = robust_weights(data.y - model.levels.latent)
        own = dataclasses.replace(data, weights=weights if data.weights is None else weights * data.weights)
        objective = dataclasses.replace(model.objective, design=self._design(self._searched(own)))
        maximum = dataclasses.replace(model.maximum, latent=None)  # gamma is another with other weights
        if self.relearn and self.options.optimize and objective.theta0.size:
            new = maximize_on_parts(self.options.maximizer, objective, [maximum.theta])
            maximum = dataclasses.replace(new, history=maximum.history + new.history)
        again = self.model(objective, maximum, own)
        return dataclasses.replace(again, candidates=model.candidates)

    def _design(self, data: TrainingData) -> Design:
        return Design(data.n_rows, self.fit_intercept, data.weights, self.least_noise)

    def _searched(self, data: TrainingData) -> TrainingData:
        """Return the rows on which theta is learnt: all, or a sample with every class in proportion."""
        n = data.n_rows
        if n <= COMPLETE:
            return data
        shuffled = self.options.rng().permutation(n)
        codes = np.zeros(n, dtype=np.intp) if data.codes is None else data.codes
        order = shuffled[np.argsort(codes[shuffled], kind="stable")]
        rows = np.sort(order[np.unique(np.linspace(0, n - 1, SEARCHED).astype(int))])
        return dataclasses.replace(
            data,
            X=data.X.take(rows),
            y=data.y[rows],
            weights=None if data.weights is None else data.weights[rows],
            codes=None if data.codes is None else data.codes[rows],
        )

    def _levels(self, kernel: Kernel, data: TrainingData, design: Design, log_gamma: Vector | None) -> Levels:
        """Return the levels; ``log_gamma`` holds what the search found with all rows, if it did."""
        X, y, groups, n = data.X, data.y, class_groups(data), data.n_rows
        rng = self.options.rng()
        if self.landmarks is not None and self.landmarks < n:
            rows = np.sort(rng.choice(n, size=self.landmarks, replace=False))
            return landmark_levels(kernel, X, y, design, groups, rows)
        kept = KEPT if self.n_components is None else self.n_components
        if (self.n_components is None and n <= COMPLETE) or kept >= design.size:
            if log_gamma is None or n < MANY:
                return complete_levels(kernel, X, y, design, groups)
            return factored_levels(kernel, X, y, design, groups, float(log_gamma[0]))
        return leading_levels(kernel, X, y, design, groups, kept, rng)

    def _pruned(
        self, kernel: Kernel, data: TrainingData, design: Design, full: Levels
    ) -> tuple[Levels, tuple[tuple[int, float], ...]]:
        """Return the machine that rests on the rows with the largest support values, and evidence against size."""
        X, y, groups, n = data.X, data.y, class_groups(data), data.n_rows
        share = isinstance(self.prune, float | np.floating)
        target = max(1, round(float(self.prune or 0) * n)) if share else int(self.prune or 1)
        if target >= n:
            return full, ((n, full.log_evidence),)

        def visit(rows: Indices) -> float:
            return landmark_levels(kernel, X, y, design, groups, rows).log_evidence

        kept, curve = prune(kernel, X, y, design, full.found.gamma, target, visit)
        levels = landmark_levels(kernel, X, y, design, groups, kept)
        return levels, ((n, full.log_evidence), *curve)


def class_groups(data: TrainingData) -> Matrix:
    """Return the indicator of the classes, one column of ones for targets that are no labels."""
    if data.codes is None:
        return np.ones((data.n_rows, 1))
    return np.eye(int(data.codes.max()) + 1)[data.codes]


__all__ = ["LeastSquares", "LeastSquaresModel", "class_groups"]
