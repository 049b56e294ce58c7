r"""The evidence of blocks of rows given their neighbours, as a function of :math:`\theta`.

Two objectives. For Gaussian noise, inducing inputs carry what is common to all rows, and blocks given their neighbours
what these leave over (:mod:`bayesvm.inference.low_rank.conditional`). For any other likelihood every conditional
evidence is the ratio of two that an inference method knows,

.. math:: \ln p(y) \approx \sum_b \ln Z(y_{C_b \cup B_b}) - \ln Z(y_{C_b}),

so that all likelihoods, inference methods and kernels of the library serve as they are.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Self

import numpy as np

from bayesvm.hyper.inducing import FeatureMap, rows_of
from bayesvm.hyper.neighbours import Neighbourhood
from bayesvm.hyper.objective import ModelParameters, RowsAtHand
from bayesvm.hyper.priors import Flat, Hyperprior
from bayesvm.inference.base import Evidence, Inference, Inferred
from bayesvm.inference.exact import Exact
from bayesvm.inference.low_rank.conditional import BlockSums, ConditionalBlock, TargetPosterior
from bayesvm.inference.low_rank.features import row_slices
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods.base import Likelihood
from bayesvm.linalg.block_threads import in_turn
from bayesvm.linalg.cholesky_pullback import cholesky_pullback
from bayesvm.solvers.base import Status
from bayesvm.typing import Indices, Matrix, Vector

#: Entries of the factors of all blocks that are kept between the two passes of an evaluation; more are made anew.
KEPT = 1 << 27


@dataclasses.dataclass(frozen=True)
class LocalEvaluation:
    """Value (with the log hyperprior), gradient and evidence at theta."""

    theta: Vector
    value: float
    gradient: Vector
    evidence: Evidence


@dataclasses.dataclass(frozen=True)
class _Local(RowsAtHand, ModelParameters):
    """What both objectives have: the model, all rows, and the blocks."""

    kernel: Kernel
    likelihood: Likelihood
    X: Inputs
    y: Matrix
    neighbourhoods: tuple[Neighbourhood, ...]

    @property
    def own(self) -> Indices:
        """Rows of all blocks."""
        return np.concatenate([neighbourhood.own for neighbourhood in self.neighbourhoods])

    @property
    def columns(self) -> Matrix:
        """Targets, one column per output."""
        return self.y[:, None] if self.y.ndim == 1 else self.y


@dataclasses.dataclass(frozen=True)
class LocalGaussianObjective(_Local):
    r"""Log evidence of Gaussian noise with inducing inputs and blocks given their neighbours, plus log hyperprior.

    Parameters
    ----------
    kernel, likelihood : Kernel, Likelihood
        The model; the loss is quadratic, with positive weights if it has any.
    X : Inputs
        Training inputs.
    y : array, shape (n,) or (n, q)
        Targets, one column per output.
    neighbourhoods : tuple of Neighbourhood
        The blocks.
    rows : array of int
        Training rows that are the inducing inputs, increasing; none if empty.
    prior : Hyperprior
        Density of theta.
    inference : Inference
        What the evidence approximates: exact inference.
    """

    rows: Indices
    prior: Hyperprior = dataclasses.field(default_factory=Flat)
    inference: Inference = dataclasses.field(default_factory=Exact)

    def at_inputs(self, rows: Indices, neighbourhoods: tuple[Neighbourhood, ...]) -> Self:
        """Return the objective with other inducing inputs (row numbers in any order) and blocks."""
        return dataclasses.replace(self, rows=np.sort(rows), neighbourhoods=neighbourhoods)

    def evaluate(self, theta: Vector, warm_start: Vector | None = None) -> LocalEvaluation:
        """Return value, gradient and evidence at ``theta``; there is no mode to be found, so no warm start."""
        theta = np.asarray(theta, dtype=float)
        kernel, likelihood = self.model(theta)
        process = LocalProcess.of(kernel, likelihood, self.X, self.columns, self.rows)
        size = sum(h.rows.size * (h.rows.size + self.rows.size) for h in self.neighbourhoods)
        blocks = list(process.blocks(self.neighbourhoods)) if size <= KEPT else None
        sums = process.sums(blocks or process.blocks(self.neighbourhoods))
        posterior, density = sums.solve()
        gradient = self._gradient(process, posterior, blocks or process.blocks(self.neighbourhoods))
        constant = process.constant(self.own)
        value = density + constant
        log_prior, prior_gradient = self.prior.log_density(theta, self.names)
        evidence = _evidence(value, {"density": density, "constant": constant}, Status.CONVERGED, np.empty(0))
        return LocalEvaluation(theta, value + log_prior, gradient + prior_gradient, evidence)

    def _gradient(
        self, process: LocalProcess, posterior: TargetPosterior, blocks: Iterable[ConditionalBlock]
    ) -> Vector:
        """Return the derivatives in the parameters of kernel and likelihood."""
        kernel, made, phi = process.kernel, process.made, process.phi
        gradient, bar, dnoise = np.zeros(kernel.theta.size), np.zeros_like(phi), np.zeros(len(self.X))

        def share(pair: tuple[Neighbourhood, ConditionalBlock]) -> tuple[Indices, Vector, Matrix, Vector]:
            J = pair[0].rows
            dA, dphi = pair[1].cotangents(posterior)
            return J, kernel.pullback(self.X.take(J), dA), dphi - 2.0 * (dA @ phi[J]), np.diagonal(dA)

        for J, pulled, dphi, dA in in_turn(share, zip(self.neighbourhoods, blocks, strict=True)):
            gradient += pulled
            bar[J] += dphi
            dnoise[J] += dA
        if made is not None:
            gradient += kernel.cross_pullback(self.X, made.Z, made.factor.back_solve(bar.T).T)
            lower = -made.factor.back_solve(np.asfortranarray(bar.T @ phi))
            gradient += kernel.pullback(made.Z, cholesky_pullback(made.factor, lower))
        return np.concatenate([gradient, process.noise_gradient(dnoise, self.own)])


@dataclasses.dataclass(frozen=True)
class LocalProcess:
    """Kernel, quadratic loss, targets and inducing inputs with the features of all training rows.

    Attributes
    ----------
    kernel, likelihood, X, y : Kernel, Likelihood, Inputs, array of shape (n, q)
        Model and data.
    made : FeatureMap or None
        Features of the inducing inputs, None if there are none.
    phi : array, shape (n, m)
        Features of all rows.
    noise : array, shape (n,)
        Variances of the noise, 1 / W.
    least : array, shape (n,)
        Losses at their minimum.
    """

    kernel: Kernel
    likelihood: Likelihood
    X: Inputs
    y: Matrix
    made: FeatureMap | None
    phi: Matrix
    noise: Vector
    least: Vector

    @classmethod
    def of(cls, kernel: Kernel, likelihood: Likelihood, X: Inputs, y: Matrix, rows: Indices) -> LocalProcess:
        """Compute features and noise."""
        _ = X.centre  # known to all blocks, and the same in every evaluation
        made = FeatureMap.of(kernel, X.take(rows)) if rows.size else None
        phi = np.empty((len(X), rows.size))
        if made is not None:
            for part in row_slices(len(X), rows.size):
                phi[part] = made.at(rows_of(X, part))
        least = likelihood.derivatives(y[:, 0], y[:, 0])
        return cls(kernel, likelihood, X, y, made, phi, 1.0 / least.curvature, least.loss)

    def constant(self, rows: Indices) -> float:
        r"""Return what the losses of some rows add to their density: :math:`-\tfrac12 \ln 2\pi` each, if unweighted.

        Per row :math:`-\min \ell - \tfrac12 \ln W`.
        """
        per_row = 0.5 * np.log(self.noise[rows]) - self.least[rows]
        return float(self.y.shape[1] * np.sum(per_row))

    def noise_gradient(self, dnoise: Vector, rows: Indices) -> Vector:
        """Return the derivatives in the parameters of the likelihood.

        ``dnoise`` are those of the log density in the variances of the noise, ``rows`` those that have a constant.
        """
        if not self.likelihood.theta.size:
            return np.empty(0)
        p, q = self.likelihood.theta_derivatives(self.y[:, 0], self.y[:, 0]), self.y.shape[1]
        per_row = -dnoise * self.noise**2
        per_row[rows] -= 0.5 * q * self.noise[rows]
        return np.asarray(p.curvature @ per_row - q * p.loss[:, rows].sum(axis=1))

    def covariance(self, rows: Indices) -> Matrix:
        """Return the covariance of the targets of some rows that the features leave over."""
        A = self.kernel.gram(self.X.take(rows))
        A -= self.phi[rows] @ self.phi[rows].T
        A[np.diag_indices_from(A)] += self.noise[rows]
        return A

    def block(self, rows: Indices, given: int = 0) -> ConditionalBlock:
        """Return some rows whitened, of which the first ``given`` are those that the others are conditioned on."""
        return ConditionalBlock.of(self.covariance(rows), self.y[rows], self.phi[rows], given)

    def blocks(self, neighbourhoods: Iterable[Neighbourhood]) -> Iterator[ConditionalBlock]:
        """Yield all blocks."""
        return in_turn(lambda h: self.block(h.rows, h.given.size), neighbourhoods)

    def sums(self, blocks: Iterable[ConditionalBlock]) -> BlockSums:
        """Return the sums over all blocks."""
        sums = BlockSums.empty(self.phi.shape[1], self.y.shape[1])
        for block in blocks:
            sums.add(block)
        return sums

    def features(self, X: Inputs) -> Matrix:
        """Return the features of new rows."""
        return np.empty((len(X), 0)) if self.made is None else self.made.at(X)


@dataclasses.dataclass(frozen=True)
class LocalObjective(_Local):
    r"""Log evidence of blocks given their neighbours by any inference method, plus log hyperprior.

    Parameters
    ----------
    kernel, likelihood : Kernel, Likelihood
        The model.
    X : Inputs
        Training inputs.
    y : array, shape (n,) or (n, q)
        Labels -1/+1 or targets, one column per output.
    neighbourhoods : tuple of Neighbourhood
        The blocks.
    inference : Inference
        Gives the evidences of a few hundred rows.
    prior : Hyperprior
        Density of theta.
    """

    inference: Inference
    prior: Hyperprior = dataclasses.field(default_factory=Flat)

    def at_blocks(self, neighbourhoods: tuple[Neighbourhood, ...]) -> Self:
        """Return the objective with other blocks."""
        return dataclasses.replace(self, neighbourhoods=neighbourhoods)

    def evaluate(self, theta: Vector, warm_start: Vector | None = None) -> LocalEvaluation:
        """Return value, gradient and evidence at ``theta``.

        ``warm_start`` is the ``evidence.latent`` of an earlier evaluation: latent values of all blocks in turn.
        """
        theta = np.asarray(theta, dtype=float)
        kernel, likelihood = self.model(theta)
        ends = np.cumsum([len(self.outputs) * (h.rows.size + h.given.size) for h in self.neighbourhoods])[:-1]
        starts = [None] * len(self.neighbourhoods) if warm_start is None else np.split(warm_start, ends, axis=-1)

        def share(pair: tuple[Neighbourhood, Vector | None]) -> tuple[float, Vector, list[Evidence]]:
            return self._conditional(kernel, likelihood, *pair)

        value, slope, found = 0.0, np.zeros(theta.size), []
        for own, gradient, evidences in in_turn(share, zip(self.neighbourhoods, starts, strict=True)):
            value, slope = value + own, slope + gradient
            found += evidences
        log_prior, prior_gradient = self.prior.log_density(theta, self.names)
        status = next((e.status for e in found if not e.status.ok), Status.CONVERGED)
        latent = np.concatenate([e.latent for e in found], axis=-1)
        evidence = _evidence(value, {"conditionals": value}, status, latent)
        return LocalEvaluation(theta, value + log_prior, slope + prior_gradient, evidence)

    def _conditional(
        self, kernel: Kernel, likelihood: Likelihood, h: Neighbourhood, warm_start: Vector | None
    ) -> tuple[float, Vector, list[Evidence]]:
        """Return the conditional evidence of a block with its gradient, and all evidences of which it is made.

        ``warm_start`` are its own latent values.
        """
        inputs, dK = self.X.take(h.rows), np.zeros((h.rows.size, h.rows.size))
        K, value, dphi, offset = kernel.gram(inputs), 0.0, np.zeros(likelihood.theta.size), 0
        evidences = []
        for y in self.outputs:
            for sign, size in ((1.0, h.rows.size), (-1.0, h.given.size)):
                start = None if warm_start is None else warm_start[..., offset : offset + size]
                offset += size
                if not size:
                    continue
                _, found = self._infer(K, y, likelihood, h.rows[:size], start)
                dK[np.ix_(found.rows, found.rows)] += sign * found.dK
                value, dphi = value + sign * found.value, dphi + sign * found.dphi
                evidences.append(dataclasses.replace(found, dK=np.empty((0, 0))))
        return value, np.concatenate([kernel.pullback(inputs, dK), dphi]), evidences

    def _infer(self, K: Matrix, y: Vector, likelihood: Likelihood, rows: Indices, start: Vector | None) -> Inferred:
        part = K if rows.size == K.shape[0] else np.ascontiguousarray(K[: rows.size, : rows.size])
        return self.inference.infer(part, y[rows], likelihood.part(rows), warm_start=start)


def _evidence(value: float, terms: dict[str, float], status: Status, latent: Vector) -> Evidence:
    """Return an evidence without cotangents of its own."""
    none = np.empty(0, dtype=np.intp)
    return Evidence(value, terms, none, np.empty((0, 0)), np.empty(0), status, latent, 1)


__all__ = ["LocalEvaluation", "LocalGaussianObjective", "LocalObjective", "LocalProcess"]
