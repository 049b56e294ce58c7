r"""The evidence with inducing inputs as a function of :math:`\theta`, and the choice of the inducing inputs.

*Evidence.* With m inducing inputs Z, :math:`K_{mm} = L L^\top` and :math:`\Phi = K_{nm} L^{-\top}` the evidence is that
of the weights of m features (:mod:`bayesvm.inference.low_rank.weights`); kernels pull its derivatives in
:math:`K_{nm}`, :math:`K_{mm}` and :math:`\operatorname{diag} K` back to their parameters.

*Choice.* Greedy conditional variance (pivoted Cholesky): each inducing input is the row whose prior variance the ones
before it explain least. What m of them leave of the trace of the Gram matrix is known for every m on the way.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self, TypeVar

import numpy as np

from bayesvm.hyper.objective import Evaluation, ModelParameters, RowsAtHand
from bayesvm.hyper.priors import Flat, Hyperprior
from bayesvm.inference.base import Evidence, Inference, Posterior
from bayesvm.inference.ep import EP
from bayesvm.inference.laplace import Laplace
from bayesvm.inference.low_rank import (
    FeatureBlock,
    Features,
    FeaturesHere,
    WeightEvidence,
    infer_sites,
    infer_weights,
)
from bayesvm.inference.low_rank.features import Sums, added, row_slices
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods.base import Likelihood
from bayesvm.linalg import Cholesky, InducingFactor, cholesky
from bayesvm.linalg.block_threads import in_turn
from bayesvm.typing import Indices, Matrix, Vector

Result = TypeVar("Result")

#: Features that are kept in memory during an evaluation; more are computed anew in every pass.
KEPT = 1 << 27
#: Conditional variance, relative to the largest prior variance, below which a further inducing input adds rounding.
NEGLIGIBLE = 1e-10


@dataclasses.dataclass(frozen=True)
class FeatureMap:
    r"""The map of rows to their features :math:`K_{nm} L^{-\top}`.

    Parameters
    ----------
    kernel : Kernel
        With its parameters.
    Z : Inputs
        Inducing inputs.
    factor : Cholesky
        Of their Gram matrix.
    """

    kernel: Kernel
    Z: Inputs
    factor: Cholesky

    @classmethod
    def of(cls, kernel: Kernel, Z: Inputs) -> FeatureMap:
        """Factor the Gram matrix of the inducing inputs (with the jitter that it needs, if any)."""
        what = f"the Gram matrix of {len(Z)} inducing inputs"
        return cls(kernel, Z, cholesky(kernel.gram(Z), jitter=True, what=what))

    def at(self, X: Inputs) -> Matrix:
        """Return the features of some rows."""
        return self.factor.half_solve(self.kernel.gram(X, self.Z).T).T

    def block(
        self, X: Inputs, targets: Matrix, likelihood: Likelihood, phi: Matrix | None = None, first: int = 0
    ) -> InputBlock:
        """Return some rows with their features, which may be known already; ``first`` is the number of the first."""
        phi = self.at(X) if phi is None else phi
        residual = np.maximum(self.kernel.diag(X) - np.einsum("ij,ij->i", phi, phi), 0.0)
        return InputBlock(phi, residual, targets, likelihood, X, first=first)


@dataclasses.dataclass(frozen=True)
class InputBlock(FeatureBlock):
    """Some rows with their features and inputs."""

    X: Inputs


@dataclasses.dataclass(frozen=True)
class KernelFeatures(FeaturesHere):
    """The features of rows in memory, kept or computed anew in every pass.

    Parameters
    ----------
    map : FeatureMap
        From rows to features.
    X, targets, likelihood : Inputs, array of shape (n, q), Likelihood
        The rows.
    phi : array, shape (n, m), optional
        Their features, if they are kept.
    """

    map: FeatureMap
    X: Inputs
    targets: Matrix
    likelihood: Likelihood
    phi: Matrix | None = None

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.map.Z)

    @property
    def prior(self) -> Cholesky:
        """Factor of the Gram matrix of the inducing inputs."""
        return self.map.factor

    def blocks(self) -> Iterator[InputBlock]:
        """Yield all rows in order."""
        return self.in_blocks(lambda block: block)

    def in_blocks(self, function: Callable[[InputBlock], Result]) -> Iterator[Result]:
        """Yield a function of every block, in order; see :func:`~bayesvm.linalg.block_threads.in_turn`."""
        _ = self.X.centre  # known to all blocks, instead of computed for each
        return in_turn(lambda rows: function(self._block(rows)), row_slices(len(self.X), self.n_features))

    def _block(self, rows: slice) -> InputBlock:
        likelihood = self.likelihood.part(np.arange(rows.start, rows.stop))
        phi = None if self.phi is None else self.phi[rows]
        return self.map.block(rows_of(self.X, rows), self.targets[rows], likelihood, phi, rows.start)

    def total(self, share: Callable[[Any], Sums]) -> Sums:
        """Return the sums over all blocks."""
        return added(self.in_blocks(share))

    def kept(self) -> KernelFeatures:
        """Return the same with the features in memory, if they are not too many."""
        if len(self.X) * self.n_features > KEPT:
            return self
        phi = np.empty((len(self.X), self.n_features))
        for block in self.blocks():
            phi[block.rows] = block.phi
        return dataclasses.replace(self, phi=phi)


def rows_of(X: Inputs, rows: slice) -> Inputs:
    """Return consecutive rows."""
    whole = rows.start == 0 and rows.stop == len(X)
    return X if whole else X.take(np.arange(rows.start, rows.stop))


@dataclasses.dataclass(frozen=True)
class GradientShare:
    """What a block of rows adds to the derivatives in the parameters of the kernel."""

    map: FeatureMap
    found: tuple[WeightEvidence, ...]

    def __call__(self, block: InputBlock) -> Sums:
        """Return the derivatives by the cross Gram matrix and the diagonal of these rows."""
        kernel, parts = self.map.kernel, [e.feature_cotangent(block) for e in self.found]
        bar, diagonal = added(parts)
        pulled = kernel.cross_pullback(block.X, self.map.Z, self.map.factor.back_solve(bar.T).T)
        return (pulled + kernel.diag_pullback(block.X, diagonal),)


@dataclasses.dataclass(frozen=True)
class InferredWeights:
    """What inference says at given hyperparameters.

    Attributes
    ----------
    map : FeatureMap
        From rows to features.
    likelihood : Likelihood
        At these hyperparameters.
    features : Features
        Of all rows.
    found : tuple of WeightEvidence
        One per output.
    """

    map: FeatureMap
    likelihood: Likelihood
    features: Features
    found: tuple[WeightEvidence, ...]

    def evidence(self) -> Evidence:
        """Return the evidence of all outputs; ``latent`` is what the next inference begins with."""
        return total_evidence(self.found, np.stack([e.start(self.map.factor) for e in self.found]))

    def posteriors(self, rows: Indices) -> tuple[Posterior, ...]:
        """Return the posteriors in the form that prediction shares; ``rows`` are the numbers of the inducing inputs."""
        prior = self.map.factor
        return tuple(
            Posterior(rows, prior.back_solve(e.posterior.mean), InducingFactor(rows, prior, e.posterior.factor))
            for e in self.found
        )

    def kernel_gradient(self) -> Vector:
        """Return the derivatives in the parameters of the kernel."""
        factor = self.map.factor
        (gradient,) = self.features.total(GradientShare(self.map, self.found))
        inner = factor.back_solve(np.sum([e.gram_cotangent() for e in self.found], axis=0))
        return np.asarray(gradient + self.map.kernel.pullback(self.map.Z, -0.5 * factor.back_solve(inner.T)))


def first_sites(
    features: FeaturesHere, likelihood: Likelihood, output: int, n_rows: int, latent: Vector | None
) -> Matrix:
    """Return the sites of Laplace's method at its mode; zeros for losses that it cannot treat.

    ``latent`` are latent values at the inducing inputs, as an evidence of Laplace's method leaves them.
    """
    if not (likelihood.traits.convex and likelihood.traits.smoothness >= 1):
        return np.zeros((2, n_rows))
    start, sites = None if latent is None else features.prior.half_solve(latent), np.empty((2, n_rows))
    mode = infer_weights(features, likelihood, n_rows=n_rows, output=output, warm_start=start)
    for block in features.blocks():
        f, _, _, W, g = mode.moments(block)
        sites[:, block.rows] = W, W * f - g
    return sites


class InducingEvidence(ModelParameters, ABC):
    r"""Log evidence with inducing inputs plus log hyperprior of :math:`\theta`, wherever the rows are."""

    prior: Hyperprior
    inference: Inference

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of training rows."""

    @property
    @abstractmethod
    def n_outputs(self) -> int:
        """Number of latent functions."""

    @property
    @abstractmethod
    def inputs(self) -> Inputs:
        """The inducing inputs."""

    @property
    @abstractmethod
    def numbers(self) -> Indices:
        """Row numbers of the inducing inputs, increasing."""

    @abstractmethod
    def features_here(self, inferred: InferredWeights) -> KernelFeatures:
        """Return the features of the rows that are in memory: of all of them, or of a sample."""

    @abstractmethod
    def features(self, made: FeatureMap, likelihood: Likelihood) -> Features:
        """Return the features of all rows."""

    @abstractmethod
    def evaluate(self, theta: Vector, warm_start: Vector | None = None) -> Evaluation:
        """Return value, gradient and evidence at ``theta``, and posteriors where these are needed."""

    def infer(self, theta: Vector, warm_start: Vector | None = None) -> InferredWeights:
        """Return the evidence of every output in terms of the weights, without the gradient.

        ``warm_start`` is the ``latent`` of an evidence with the same inducing inputs; it changes the cost, not the
        result.
        """
        kernel, likelihood = self.model(np.asarray(theta, dtype=float))
        made = FeatureMap.of(kernel, self.inputs)
        features = self.features(made, likelihood)
        starts = [None] * self.n_outputs if warm_start is None else warm_start
        found = tuple(self._infer_output(made, features, likelihood, k, start) for k, start in enumerate(starts))
        return InferredWeights(made, likelihood, features, found)

    def _infer_output(
        self, made: FeatureMap, features: Features, likelihood: Likelihood, output: int, start: Matrix | None
    ) -> WeightEvidence:
        """Return what the inference method says of one output; ``start`` is its part of a warm start."""
        if isinstance(self.inference, EP):
            assert isinstance(features, FeaturesHere)
            known = start is not None and start.ndim == 2
            sites = start if known else first_sites(features, likelihood, output, self.n_rows, start)
            assert sites is not None
            return infer_sites(self.inference, features, likelihood, output=output, warm_start=sites)
        weights = None if start is None else made.factor.half_solve(start)
        return infer_weights(features, likelihood, n_rows=self.n_rows, output=output, warm_start=weights)

    def value_and_gradient(self, inferred: InferredWeights, theta: Vector) -> tuple[float, Vector]:
        """Return the log evidence plus the log hyperprior with its derivatives."""
        dphi = np.sum([e.dphi for e in inferred.found], axis=0)
        log_prior, prior_gradient = self.prior.log_density(theta, self.names)
        gradient = np.concatenate([inferred.kernel_gradient(), dphi]) + prior_gradient
        return sum(e.value for e in inferred.found) + log_prior, gradient


@dataclasses.dataclass(frozen=True)
class InducingObjective(RowsAtHand, InducingEvidence):
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
        Laplace's method, whatever its solver (exact for Gaussian noise), or expectation propagation.
    """

    kernel: Kernel
    likelihood: Likelihood
    X: Inputs
    y: Matrix
    rows: Indices
    prior: Hyperprior = dataclasses.field(default_factory=Flat)
    inference: Inference = dataclasses.field(default_factory=Laplace)

    @property
    def n_outputs(self) -> int:
        """Number of latent functions."""
        return 1 if self.y.ndim == 1 else int(self.y.shape[1])

    @property
    def inputs(self) -> Inputs:
        """The inducing inputs."""
        _ = self.X.centre  # known to them, and the same in every evaluation
        return self.X.take(self.rows)

    @property
    def numbers(self) -> Indices:
        """Row numbers of the inducing inputs."""
        return self.rows

    def at_inputs(self, rows: Indices) -> Self:
        """Return the objective with other inducing inputs, given by their row numbers in any order."""
        return dataclasses.replace(self, rows=np.sort(rows))

    def features(self, made: FeatureMap, likelihood: Likelihood) -> KernelFeatures:
        """Return the features of all rows, in memory if they are not too many."""
        return KernelFeatures(made, self.X, self.y.reshape(self.n_rows, -1), likelihood).kept()

    def features_here(self, inferred: InferredWeights) -> KernelFeatures:
        """Return the features of all rows, which were made for the inference."""
        assert isinstance(inferred.features, KernelFeatures)
        return inferred.features

    def evaluate(self, theta: Vector, warm_start: Vector | None = None) -> Evaluation:
        """Return value, gradient, posteriors and evidence at ``theta``; the evidence has no cotangent of its own.

        ``warm_start`` is the ``evidence.latent`` of an earlier evaluation; it changes the cost, not the result.
        """
        theta = np.asarray(theta, dtype=float)
        inferred = self.infer(theta, warm_start)
        value, gradient = self.value_and_gradient(inferred, theta)
        return Evaluation(theta, value, gradient, inferred.posteriors(self.rows), inferred.evidence())


def total_evidence(found: Sequence[WeightEvidence], latent: Matrix) -> Evidence:
    """Return the evidence of independent outputs; the status is that of the first that did not converge."""
    return Evidence(
        sum(e.value for e in found),
        {name: sum(e.terms[name] for e in found) for name in found[0].terms},
        np.empty(0, dtype=np.intp),
        np.empty((0, 0)),
        np.sum([e.dphi for e in found], axis=0),
        next((e.status for e in found if not e.status.ok), found[0].status),
        latent,
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


__all__ = [
    "FeatureMap",
    "GreedyChoice",
    "InducingEvidence",
    "InducingObjective",
    "InferredWeights",
    "InputBlock",
    "KernelFeatures",
    "greedy_rows",
    "rows_of",
]
