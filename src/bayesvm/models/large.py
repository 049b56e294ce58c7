r"""Gaussian process models of many rows: inducing inputs, and rows given their neighbours.

With inducing inputs alone the fitted model is a Gaussian process model whose support are the inducing inputs
(:class:`InducingModel`). With neighbours there is no posterior of all rows: new rows are predicted block by
block, each block from the training rows that are most correlated with it (:class:`LocalModel`).
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import logging
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from bayesvm.hyper import Maximum
from bayesvm.hyper.inducing import InducingEvidence, InducingObjective, KernelFeatures
from bayesvm.hyper.large import ENOUGH, SAMPLE, LargeProblem, describe, maximize_large
from bayesvm.hyper.local import LocalGaussianObjective, LocalObjective, LocalProcess
from bayesvm.hyper.multistart import StartRecord
from bayesvm.hyper.neighbours import bisected, largest, nearest, similarity
from bayesvm.hyper.subsample import drawn_rows
from bayesvm.inference import EP, Marginals, Posterior, leave_one_out
from bayesvm.inference.low_rank import WeightEvidence
from bayesvm.inference.low_rank.conditional import Conditioned, TargetPosterior, conditioned
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.linalg import cholesky
from bayesvm.linalg.block_threads import block_threads
from bayesvm.linalg.covariance_root import covariance_root
from bayesvm.models.base import Candidate, TrainingData
from bayesvm.models.gaussian_process import GaussianProcess, GaussianProcessModel, Refinement, weighted_likelihood
from bayesvm.models.joint_process import alone, scored
from bayesvm.typing import Indices, Matrix, Vector

logger = logging.getLogger(__name__)

#: New rows that are predicted together, and training rows from which they are. Where there are more new rows than
#: training rows, as many are predicted together as lie among so many training rows, up to a largest number.
TOGETHER = 32
AMONG = 32
MOST_TOGETHER = 4096
FROM = 1024
#: Training rows whose marginals are computed together, and how many others they are given.
BLOCK = 64
OTHERS = 192
#: Least marginal variance over that of the cavity, below which a row alone decides about its latent value.
LEAST_REST = 1e-6


@dataclasses.dataclass(frozen=True)
class InducingModel(GaussianProcessModel):
    """A model whose support are its inducing inputs."""

    def refined(self, method: EP | None, X: Inputs | None = None) -> InducingModel:
        """Return the model with marginals at its training rows, and with the posteriors of another method if given."""
        objective: Any = self.objective
        if method is not None:
            objective = dataclasses.replace(objective, inference=method)
        inferred = objective.infer(self.theta, self.evidence.latent)
        marginals = row_marginals(objective.features_here(inferred), inferred.found)
        if method is None:
            return dataclasses.replace(self, marginals=marginals)
        return dataclasses.replace(
            self,
            posteriors=inferred.posteriors(objective.numbers),
            marginals=marginals,
            method=method,
            refinements=tuple(Refinement(e.value, e.status) for e in inferred.found),
        )


@dataclasses.dataclass(frozen=True)
class LocalModel(GaussianProcessModel):
    """A model that predicts every block of new rows from its own neighbours; ``inputs`` are all training rows.

    There are no coefficients, and ``posteriors`` is empty: the posterior of a block is made when it is asked for.
    """

    @property
    def n_outputs(self) -> int:
        """Number of latent functions."""
        return len(self.objective.outputs)

    @property
    def basis(self) -> Indices:
        """All training rows: every block of new rows has neighbours of its own."""
        return np.arange(len(self.inputs))

    @property
    def support(self) -> Indices:
        """No row has a coefficient of its own."""
        return np.empty(0, dtype=np.intp)

    @property
    def coefficients(self) -> Matrix:
        """None."""
        return np.empty((self.n_outputs, 0))

    def at(self, theta: Vector) -> GaussianProcessModel:
        """Return the same model with other hyperparameters; its neighbourhoods and its calibration are kept."""
        first = self.objective.evaluate(theta)
        kernel, likelihood = self.objective.model(theta)
        maximum = Maximum.at(first.theta, first.value, None)
        other = dataclasses.replace(
            self, kernel=kernel, likelihood=likelihood, evidence=first.evidence, maximum=maximum
        )
        return other.with_marginals()

    def mean(self, X: Inputs) -> Matrix:
        """Return the means of the latent functions."""
        mean = np.empty((len(X), self.n_outputs))
        for rows, part, given in self._parts(X):
            mean[rows] = self.neighbours.mean(part, given)
        return mean

    def latent(self, X: Inputs) -> tuple[Matrix, Matrix]:
        """Return means and variances of the latent functions at the rows of X (standardised), block by block."""
        mean, var = np.empty((len(X), self.n_outputs)), np.empty((len(X), self.n_outputs))
        for rows, part, given in self._parts(X):
            mean[rows], var[rows] = self.neighbours.moments(part, given)
        return mean, np.maximum(var, 0.0)

    def odds_range(self, X: Inputs) -> None:
        """Return None: rows of which the odds were asked for again would have other neighbours."""

    def _parts(self, X: Inputs) -> Iterator[tuple[Indices, Inputs, Indices]]:
        """Yield blocks of new rows: their numbers, the rows, and the training rows from which they are predicted."""
        size = min(max(TOGETHER, AMONG * len(X) // len(self.inputs)), MOST_TOGETHER)
        for rows in bisected(self.kernel, X, size, np.random.default_rng(0)):
            part = X.take(rows)
            asked = part.take(np.linspace(0, rows.size - 1, min(TOGETHER, rows.size)).astype(np.intp))
            yield rows, part, nearest(self.kernel, asked, self.inputs, FROM)

    def sample(self, X: Inputs, n_draws: int, rng: np.random.Generator) -> Matrix:
        """Return joint draws of the latent functions at the rows of X, shape (n, n_draws, q)."""
        given = nearest(self.kernel, X, self.inputs, max(FROM, len(X)))
        scale, draws = float(np.max(self.kernel.diag(X))), []
        for mean, covariance in self.neighbours.joint(X, given):
            root = covariance_root(covariance, scale, what="posterior covariance")
            draws.append(mean[:, None] + root @ rng.standard_normal((len(X), n_draws)))
        return np.stack(draws, axis=-1)

    @functools.cached_property
    def neighbours(self) -> GaussianNeighbours | Neighbours:
        """What predicts a block from given training rows."""
        _ = self.inputs.centre, self.objective.X.centre  # known to the parts of both, instead of computed for each
        objective: Any = self.objective
        if isinstance(objective, LocalGaussianObjective):
            return GaussianNeighbours.of(objective, self.theta)
        return Neighbours(self.kernel, objective, self.theta)

    def with_marginals(self) -> LocalModel:
        """Return the model with the marginals of its training rows, each block given its own rows and others."""
        n, q = len(self.inputs), self.n_outputs
        columns = np.empty((4, n, q))
        for own in bisected(self.kernel, self.inputs, BLOCK, np.random.default_rng(1)):
            similar = similarity(self.kernel, self.inputs, own)
            similar[own] = np.inf
            columns[:, own] = self.neighbours.marginals(largest(similar, OTHERS + own.size), own)
        mean, var, alpha, rest = columns
        copies = self.likelihood.copies
        marginals = tuple(Marginals(mean[:, k], var[:, k], alpha[:, k], rest[:, k], copies) for k in range(q))
        return dataclasses.replace(self, marginals=marginals)


@dataclasses.dataclass(frozen=True)
class GaussianNeighbours:
    """Predictions from neighbours for Gaussian noise, on top of inducing inputs."""

    process: LocalProcess
    posterior: TargetPosterior

    @classmethod
    def of(cls, objective: LocalGaussianObjective, theta: Vector) -> GaussianNeighbours:
        """Compute the posterior of the weights of the inducing inputs from all blocks."""
        process = LocalProcess.of(*objective.model(theta), objective.X, objective.columns, objective.rows)
        return cls(process, process.sums(process.blocks(objective.neighbourhoods)).solve()[0])

    def _conditioned(self, X: Inputs, phi: Matrix, given: Indices) -> Conditioned:
        process, part = self.process, self.process.X.take(given)
        cross = process.kernel.gram(part, X) - process.phi[given] @ phi.T
        return conditioned(process.block(given), cross, phi, self.posterior)

    def mean(self, X: Inputs, given: Indices) -> Matrix:
        """Return the means of the latent functions, one column per output."""
        process, mean = self.process, self.posterior.mean
        phi, part, block = process.features(X), process.X.take(given), process.block(given)
        inner = block.factor.back_solve(np.asfortranarray(block.targets - block.features @ mean))
        explained = process.phi[given].T @ inner
        return np.asarray(phi @ (mean - explained) + process.kernel.gram(X, part) @ inner)

    def moments(self, X: Inputs, given: Indices) -> tuple[Matrix, Matrix]:
        """Return means and variances of the latent functions, one column per output."""
        phi = self.process.features(X)
        found = self._conditioned(X, phi, given)
        var = found.var(self.posterior, self.process.kernel.diag(X) - np.einsum("ij,ij->i", phi, phi))
        return found.mean, np.repeat(var[:, None], found.mean.shape[1], axis=1)

    def joint(self, X: Inputs, given: Indices) -> Iterator[tuple[Vector, Matrix]]:
        """Yield mean and covariance of every output."""
        phi = self.process.features(X)
        found = self._conditioned(X, phi, given)
        covariance = found.covariance(self.posterior, self.process.kernel.gram(X) - phi @ phi.T)
        return ((column, covariance) for column in found.mean.T)

    def marginals(self, rows: Indices, own: Indices) -> Matrix:
        r"""Return mean, variance, alpha and :math:`1 - v W` of the own rows, given all the rows.

        The targets of the rows have the mean :math:`\Phi \hat w` and the covariance
        :math:`M = A + \Phi S^{-1} \Phi^\top`, where the weights' posterior counts as known; then
        :math:`\alpha = M^{-1} (y - \Phi \hat w)` and :math:`1 - v W = (M^{-1})_{ii} / W_i`.
        """
        process, (y, phi) = self.process, (self.process.y[rows], self.process.phi[rows])
        half = self.posterior.factor.half_solve(phi.T)
        M = process.covariance(rows) + half.T @ half
        factor = cholesky(M, overwrite=True, what="the covariance of a block of targets")
        at = np.searchsorted(rows, own)
        alpha = factor.solve(np.asfortranarray(y - phi @ self.posterior.mean))[at]
        noise = process.noise[own][:, None]
        rest = np.maximum(noise * factor.inverse_diagonal()[at][:, None], LEAST_REST)
        per_copy = np.broadcast_to(process.likelihood.copies, len(process.X))[own][:, None]
        columns = (y[at] - noise * alpha, noise * (1.0 - rest), alpha, 1.0 + (rest - 1.0) / per_copy)
        return np.stack([np.broadcast_to(column, alpha.shape) for column in columns])


@dataclasses.dataclass(frozen=True)
class Neighbours:
    """Predictions from neighbours by the inference method of the objective."""

    kernel: Kernel
    objective: LocalObjective
    theta: Vector

    def _posteriors(self, rows: Indices) -> tuple[Inputs, Matrix, list[Posterior]]:
        """Return some training rows, their Gram matrix, and the posterior of every output given them."""
        objective, part = self.objective, self.objective.X.take(rows)
        likelihood, K = objective.model(self.theta)[1].part(rows), self.kernel.gram(part)
        return part, K, [objective.inference.infer(K, y[rows], likelihood)[0] for y in objective.outputs]

    def mean(self, X: Inputs, given: Indices) -> Matrix:
        """Return the means of the latent functions, one column per output."""
        part, _, posteriors = self._posteriors(given)
        K_s = self.kernel.gram(X, part)
        return np.column_stack([p.mean(K_s[:, p.support]) for p in posteriors])

    def moments(self, X: Inputs, given: Indices) -> tuple[Matrix, Matrix]:
        """Return means and variances of the latent functions, one column per output."""
        part, _, posteriors = self._posteriors(given)
        K_s, prior = self.kernel.gram(X, part), self.kernel.diag(X)
        pairs = [(p.mean(K_s[:, p.support]), p.var(K_s[:, p.support], prior)) for p in posteriors]
        return np.column_stack([mean for mean, _ in pairs]), np.column_stack([var for _, var in pairs])

    def joint(self, X: Inputs, given: Indices) -> Iterator[tuple[Vector, Matrix]]:
        """Yield mean and covariance of every output."""
        part, _, posteriors = self._posteriors(given)
        K_s, K_ss = self.kernel.gram(X, part), self.kernel.gram(X)
        for p in posteriors:
            yield p.mean(K_s[:, p.support]), p.covariance(K_s[:, p.support], K_ss)

    def marginals(self, rows: Indices, own: Indices) -> Matrix:
        """Return mean, variance, alpha and 1 - v W of the own rows, given all the rows."""
        _, K, posteriors = self._posteriors(rows)
        at, copies = np.searchsorted(rows, own), self.objective.likelihood.part(rows).copies
        found = [leave_one_out(K, p, copies) for p in posteriors]
        columns = (np.column_stack([getattr(q, name)[at] for q in found]) for name in ("mean", "var", "alpha", "rest"))
        return np.stack(list(columns))


@dataclasses.dataclass(frozen=True)
class LargeProcess(GaussianProcess):
    """A Gaussian process of many rows.

    Parameters
    ----------
    likelihood, inference, posterior, calibrate
        As in :class:`~bayesvm.models.gaussian_process.GaussianProcess`; nothing is reduced.
    size : int or None
        Number of inducing inputs; None: as many as are needed.
    neighbours : bool
        Whether rows may be conditioned on their neighbours, where inducing inputs are not enough.
    compared, begun : tuple of Candidate, tuple of StartRecord
        What was compared before on a sample of the rows, and the searches there of what was chosen.
    """

    search: ClassVar[Any] = staticmethod(maximize_large)

    size: int | None = None
    neighbours: bool = True
    compared: tuple[Candidate, ...] = ()
    begun: tuple[StartRecord, ...] = ()

    def threads(self, data: TrainingData) -> contextlib.AbstractContextManager[None]:
        """Return the ``with`` statement in which a fit runs: blocks of rows are shared out, and products are not."""
        return block_threads()

    def objective(self, kernel: Kernel, data: TrainingData) -> Any:
        """Return the problem, after checks that likelihood and kernel can be used."""
        super().objective(kernel, sampled(data))
        likelihood, seed = weighted_likelihood(self.likelihood, data), self.options.random_state or 0
        sizes = (self.size, self.hyperprior, seed, self.neighbours)
        return LargeProblem(kernel, likelihood, self.inference, data.X, data.targets, *sizes)

    def model(self, objective: Any, maximum: Maximum, data: TrainingData) -> GaussianProcessModel:
        """Return the model at the maximum, with inducing inputs and neighbours chosen there."""
        final: Any = objective.at(maximum.theta)
        logger.info("final choice: %s", describe(final))
        kernel, likelihood = final.model(maximum.theta)
        if isinstance(final, InducingObjective):
            model = self.inducing_model(InducingModel, final, maximum, data)
            return model if self.posterior is None else model.refined(self.posterior)
        maximum, evidence = self._whole(maximum), final.evaluate(maximum.theta).evidence
        if isinstance(final, LocalObjective) and self.posterior is not None:
            final = dataclasses.replace(final, inference=self.posterior)
        rows = final.rows if isinstance(final, LocalGaussianObjective) else np.empty(0, dtype=np.intp)
        attributes = _attributes(final.X.take(rows), data, (evidence.value, np.nan), np.nan)
        inputs = final.X.forget()
        local = LocalModel(
            kernel, likelihood, (), inputs, evidence, final, maximum, self.compared, attributes=attributes
        )
        return local.with_marginals()

    def inducing_model(
        self, cls: type[InducingModel], objective: InducingEvidence, maximum: Maximum, data: TrainingData
    ) -> InducingModel:
        """Return the model with inducing inputs alone, with its marginals and the bounds of its evidence.

        What too few inducing inputs lose is said in a warning of the log.
        """
        (kernel, likelihood), maximum = objective.model(maximum.theta), self._whole(maximum)
        inferred = objective.infer(maximum.theta)
        evidence = inferred.evidence()
        upper = float(sum(e.upper_bound() for e in inferred.found))
        trace = sum(e.left for e in inferred.found)
        gap = upper - evidence.value if np.isfinite(upper) else trace
        left = trace / (objective.n_rows * objective.n_outputs)
        if self.size is None and left > 2.0 * ENOUGH:
            message = "%d inducing inputs, as many as are tried, leave %.2g nats per row over: detail is lost"
            logger.warning(message, objective.numbers.size, left)
        kept: Any = objective
        if isinstance(objective, InducingObjective):
            kept = dataclasses.replace(objective, X=objective.X.forget())
        return cls(
            kernel,
            likelihood,
            inferred.posteriors(objective.numbers),
            objective.inputs.forget(),
            evidence,
            kept,
            maximum,
            self.compared,
            marginals=row_marginals(objective.features_here(inferred), inferred.found),
            attributes=_attributes(objective.inputs, data, (evidence.value, upper), gap),
        )

    def _whole(self, maximum: Maximum) -> Maximum:
        """Return the maximum with the searches before it, and without latent values, which are those of other rows."""
        return dataclasses.replace(maximum, latent=None, history=self.begun + maximum.history)

    def finish(self, model: GaussianProcessModel, data: TrainingData) -> Any:
        """Return the model with its predictions calibrated, those of several classes together."""
        if data.codes is None or model.n_outputs == 1 or self.calibrate is None:
            return model.calibrated(self.calibrate, data.counts, tuned=self.options.optimize)
        determined = model.determined if self.options.optimize else 0.0
        return alone(model, scored(model, model.loo_latent()[0], data, self.calibrate, determined))


def _attributes(Z: Inputs, data: TrainingData, bounds: tuple[float, float], gap: float) -> dict[str, Any]:
    """Return the fitted attributes that tell about the approximation."""
    return {"inducing_inputs": _in_units(Z, data), "log_evidence_bounds": np.array([bounds]), "approximation_gap": gap}


def row_marginals(features: KernelFeatures, found: Sequence[WeightEvidence]) -> tuple[Marginals, ...]:
    r"""Return the marginals at rows in memory, one object per output, from which predictions without each row follow.

    A row's own term tells about :math:`\phi_i^\top w` alone, of variance :math:`v_i - r_i`, and not about what the
    features leave over, of variance :math:`r_i`, which is added afterwards.
    """
    copies = features.likelihood.copies
    parts = list(features.in_blocks(lambda block: [e.moments(block) for e in found]))
    marginals = []
    for own in zip(*parts, strict=True):
        mean, var, residual = (np.concatenate([getattr(p, name) for p in own]) for name in ("mean", "var", "residual"))
        curvature = np.concatenate([p.curvature for p in own])
        gradient = np.concatenate([p.gradient for p in own])
        explained = var - residual
        rest = np.maximum(1.0 - explained * curvature / copies, LEAST_REST)
        without = explained / rest + residual
        step = explained / rest * gradient  # from the mean to that without the row, times the number of copies
        marginals.append(Marginals(mean, var, -step / without, var / without, copies))
    return tuple(marginals)


def sampled(data: TrainingData) -> TrainingData:
    """Return some of the rows; two classes are balanced as far as possible."""
    return data.part(drawn_rows(data.targets, min(SAMPLE, data.n_rows)))


def _in_units(Z: Inputs, data: TrainingData) -> Any:
    """Return inputs in the user's units."""
    return Z.X if data.standardizer is None else data.standardizer.outer(Z.X)


__all__ = ["InducingModel", "LargeProcess", "LocalModel"]
