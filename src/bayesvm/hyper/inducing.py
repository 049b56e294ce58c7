r"""The evidence with inducing inputs as a function of :math:`\theta`, and the choice of the inducing inputs.

*Evidence.* With m inducing inputs Z, :math:`K_{mm} = L L^\top` and :math:`\Phi = K_{nm} L^{-\top}` the evidence is that
of the weights of m features (:mod:`bayesvm.inference.low_rank.weights`); kernels pull its derivatives in
:math:`K_{nm}`, :math:`K_{mm}` and :math:`\operatorname{diag} K` back to their parameters.

*Choice.* Greedy conditional variance (pivoted Cholesky): each inducing input is the row whose prior variance the ones
before it explain least. What m of them leave of the trace of the Gram matrix is known for every m on the way.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator, Sequence
from typing import Self

import numpy as np

from bayesvm.hyper.objective import Evaluation, ModelParameters
from bayesvm.hyper.priors import Flat, Hyperprior
from bayesvm.inference.base import Evidence, Inference, Posterior
from bayesvm.inference.laplace import Laplace
from bayesvm.inference.low_rank import ArrayFeatures, Features, WeightEvidence, infer_weights
from bayesvm.inference.low_rank.features import row_slices
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods.base import Likelihood
from bayesvm.linalg import Cholesky, InducingFactor, cholesky
from bayesvm.typing import Indices, Matrix, Vector

#: Features that are kept in memory during an evaluation; more are computed anew in every pass.
KEPT = 1 << 27
#: Conditional variance, relative to the largest prior variance, below which a further inducing input adds rounding.
NEGLIGIBLE = 1e-10


@dataclasses.dataclass(frozen=True)
class KernelFeatures(Features):
    r"""The features :math:`K_{nm} L^{-\top}`, computed anew in every pass.

    Parameters
    ----------
    kernel : Kernel
        With its parameters.
    X, Z : Inputs
        Rows and inducing inputs.
    factor : Cholesky
        Of the Gram matrix of Z.
    """

    kernel: Kernel
    X: Inputs
    Z: Inputs
    factor: Cholesky

    @classmethod
    def of(cls, kernel: Kernel, X: Inputs, Z: Inputs) -> KernelFeatures:
        """Factor the Gram matrix of the inducing inputs (with the jitter that it needs, if any)."""
        what = f"the Gram matrix of {len(Z)} inducing inputs"
        return cls(kernel, X, Z, cholesky(kernel.gram(Z), jitter=True, what=what))

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of features."""
        return len(self.X), len(self.Z)

    def blocks(self) -> Iterator[tuple[slice, Matrix]]:
        """Yield the features of all rows."""
        for rows in row_slices(*self.shape):
            yield rows, self.at(block(self.X, rows))

    def at(self, X: Inputs) -> Matrix:
        """Return the features of some rows."""
        return self.factor.half_solve(self.kernel.gram(X, self.Z).T).T

    def kept(self) -> Features:
        """Return the same features in memory, if they are not too many."""
        if self.shape[0] * self.shape[1] > KEPT:
            return self
        phi = np.empty(self.shape)
        for rows, part in self.blocks():
            phi[rows] = part
        return ArrayFeatures(phi)


def block(X: Inputs, rows: slice) -> Inputs:
    """Return consecutive rows."""
    whole = rows.start == 0 and rows.stop == len(X)
    return X if whole else X.take(np.arange(rows.start, rows.stop))


@dataclasses.dataclass(frozen=True)
class InducingObjective(ModelParameters):
    r"""Log evidence with inducing inputs plus log hyperprior of :math:`\theta` = (kernel, likelihood), all logarithms.

    Parameters
    ----------
    kernel, likelihood : Kernel, Likelihood
        The model; their current parameters are ``theta0``.
    X : Inputs
        Training inputs.
    y : array, shape (n,) or (n, q)
        Labels -1/+1 or targets, one column per output.
    rows : array of int, shape (m,)
        Training rows that are the inducing inputs, increasing.
    prior : Hyperprior
        Density of theta.
    inference : Inference
        What the evidence approximates: Laplace's method, whatever its solver.
    """

    kernel: Kernel
    likelihood: Likelihood
    X: Inputs
    y: Matrix
    rows: Indices
    prior: Hyperprior = dataclasses.field(default_factory=Flat)
    inference: Inference = dataclasses.field(default_factory=Laplace)

    def __sizeof__(self) -> int:
        """Return the size with the data; see :class:`~bayesvm.kernels.inputs.Inputs`."""
        return object.__sizeof__(self) + sys.getsizeof(self.X) + sys.getsizeof(self.y)

    @property
    def n_rows(self) -> int:
        """Number of training rows."""
        return len(self.X)

    @property
    def n_features(self) -> int:
        """Number of columns of the inputs."""
        return self.X.n_features

    @property
    def outputs(self) -> tuple[Vector, ...]:
        """Targets of every output."""
        return (self.y,) if self.y.ndim == 1 else tuple(np.ascontiguousarray(self.y.T))

    def at_inputs(self, rows: Indices) -> Self:
        """Return the objective with other inducing inputs, given by their row numbers in any order."""
        return dataclasses.replace(self, rows=np.sort(rows))

    def features(self, kernel: Kernel) -> KernelFeatures:
        """Return the features of a kernel."""
        return KernelFeatures.of(kernel, self.X, self.X.take(self.rows))

    def infer(self, theta: Vector, warm_start: Vector | None = None) -> tuple[WeightEvidence, ...]:
        """Return the evidence of every output in terms of the weights, without the gradient."""
        kernel, likelihood = self.model(np.asarray(theta, dtype=float))
        return self._inferred(*_with_residual(self.features(kernel)), likelihood, warm_start)

    def posteriors(self, theta: Vector, found: Sequence[WeightEvidence]) -> tuple[Posterior, ...]:
        """Return the posteriors of all outputs in the form that prediction shares, from what was inferred."""
        prior = self.features(self.model(np.asarray(theta, dtype=float))[0]).factor
        return tuple(_posterior(self.rows, prior, e) for e in found)

    def _inferred(
        self, features: Features, residual: Vector, likelihood: Likelihood, warm_start: Vector | None
    ) -> tuple[WeightEvidence, ...]:
        starts = [None] * len(self.outputs) if warm_start is None else np.atleast_2d(warm_start)
        return tuple(
            infer_weights(features, residual, y, likelihood, warm_start=start)
            for y, start in zip(self.outputs, starts, strict=True)
        )

    def evaluate(self, theta: Vector, warm_start: Vector | None = None) -> Evaluation:
        """Return value, gradient, posteriors and evidence at ``theta``; the evidence has no cotangent of its own.

        ``warm_start`` is the ``evidence.latent`` of an earlier evaluation; it changes the cost, not the result.
        """
        theta = np.asarray(theta, dtype=float)
        kernel, likelihood = self.model(theta)
        made = self.features(kernel)
        features, residual = _with_residual(made)
        found = self._inferred(features, residual, likelihood, warm_start)
        gradient = np.concatenate([self._pulled_back(made, features, found), np.sum([e.dphi for e in found], axis=0)])
        log_prior, prior_gradient = self.prior.log_density(theta, self.names)
        evidence = total_evidence(found)
        posteriors = tuple(_posterior(self.rows, made.factor, e) for e in found)
        return Evaluation(theta, evidence.value + log_prior, gradient + prior_gradient, posteriors, evidence)

    def _pulled_back(self, made: KernelFeatures, features: Features, found: Sequence[WeightEvidence]) -> Vector:
        """Return the derivatives in the parameters of the kernel."""
        kernel, factor, Z = made.kernel, made.factor, made.Z
        gradient = np.zeros(kernel.theta.size)
        curvature = np.sum([e.derivatives.curvature for e in found], axis=0)
        for rows, phi in features.blocks():
            X = block(self.X, rows)
            bar = found[0].feature_cotangent(rows, phi)
            for e in found[1:]:
                bar += e.feature_cotangent(rows, phi)
            gradient += kernel.cross_pullback(X, Z, factor.back_solve(bar.T).T)
            gradient += kernel.diag_pullback(X, -0.5 * curvature[rows])
        inner = factor.back_solve(np.sum([e.gram_cotangent() for e in found], axis=0))
        return gradient + kernel.pullback(Z, -0.5 * factor.back_solve(inner.T))


def _with_residual(made: KernelFeatures) -> tuple[Features, Vector]:
    """Return the features, in memory if they fit, and the prior variances that they leave over."""
    features = made.kept()
    return features, np.maximum(made.kernel.diag(made.X) - features.squared_norms(), 0.0)


def _posterior(rows: Indices, prior: Cholesky, found: WeightEvidence) -> Posterior:
    """Return the posterior of the weights in the form that prediction shares."""
    alpha = prior.back_solve(found.posterior.mean)
    return Posterior(rows, alpha, InducingFactor(rows, prior, found.posterior.factor))


def total_evidence(found: Sequence[WeightEvidence]) -> Evidence:
    """Return the evidence of independent outputs; the status is that of the first that did not converge."""
    return Evidence(
        sum(e.value for e in found),
        {name: sum(e.terms[name] for e in found) for name in found[0].terms},
        np.empty(0, dtype=np.intp),
        np.empty((0, 0)),
        np.sum([e.dphi for e in found], axis=0),
        next((e.status for e in found if not e.status.ok), found[0].status),
        np.stack([e.latent for e in found]),
        sum(e.n_iter for e in found),
    )


@dataclasses.dataclass(frozen=True)
class GreedyChoice:
    """Rows in the order of their choice, and the share of the trace that is left after each.

    Attributes
    ----------
    rows : array of int, shape (m,)
        Chosen rows.
    left : array, shape (m,)
        Trace of the conditional covariance after each choice, over the trace of the Gram matrix.
    """

    rows: Indices
    left: Vector


def greedy_rows(kernel: Kernel, X: Inputs, size: int, *, enough: float = 0.0) -> GreedyChoice:
    """Choose rows by conditional variance, ties going to the earlier row.

    Parameters
    ----------
    kernel : Kernel
        With its parameters.
    X : Inputs
        From which to choose.
    size : int
        How many at most.
    enough : float
        Share of the trace below which no further row is chosen.
    """
    size = min(size, len(X))
    variance = kernel.diag(X)
    trace, floor = float(variance.sum()), NEGLIGIBLE * float(variance.max())
    columns = np.empty((size, len(X)))
    rows: list[int] = []
    left: list[float] = []
    while len(rows) < size:
        k, row = len(rows), int(np.argmax(variance))
        if variance[row] <= floor or (left and left[-1] <= enough):
            break
        column = kernel.gram(X, X.take(np.array([row])))[:, 0]
        column -= columns[:k, row] @ columns[:k]
        columns[k] = column / np.sqrt(variance[row])
        variance = np.maximum(variance - columns[k] ** 2, 0.0)
        variance[row] = 0.0
        rows.append(row)
        left.append(float(variance.sum()) / trace)
    return GreedyChoice(np.array(rows, dtype=np.intp), np.array(left))


__all__ = ["GreedyChoice", "InducingObjective", "KernelFeatures", "block", "greedy_rows", "total_evidence"]
