"""What is fitted, to what, and what comes out: the specification, the training data, the fitted model (contract page).

An estimator turns its constructor arguments into a :class:`ModelSpec` and its arguments of ``fit`` into
:class:`TrainingData`; :func:`bayesvm.models.fit.fit_model` turns the two into a :class:`FittedModel`. A model has one
or several latent functions (*outputs*) with common hyperparameters: the targets of a regression, or one class against
the rest.
"""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.hyper import Flat, Hyperprior, Maximizer, Maximum, SearchProgress
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods.base import Likelihood
from bayesvm.linalg.blas_threads import suited_blas_threads
from bayesvm.models.scaling import Standardizer, weighted_moments
from bayesvm.typing import Indices, Matrix, Vector

#: Entries of the cross Gram matrix that prediction holds at a time.
BLOCK = 1 << 22
#: As many of them as stay in a processor's cache, and the rows for which it may be left.
CACHE = 1 << 18
PART = 512


@dataclasses.dataclass(frozen=True)
class TrainingData:
    """Rows in use, in the units used inside.

    Attributes
    ----------
    X : Inputs
        Standardised inputs.
    y : array, shape (n, q)
        Labels -1/+1 or standardised targets, one column per output.
    weights : array, shape (n,), or None
        Positive weights; None if all are one.
    distance : float
        Typical distance of two rows of X: the root of twice the summed variance of the features.
    names : list of str or None
        Names of the features.
    codes : array of int, shape (n,), or None
        Class numbers, where y was made from them.
    spread : float
        Standard deviation of the targets in y.
    scale : array, shape (q,)
        Standard deviation of the targets in the user's units, by which y was divided.
    standardizer : Standardizer or None
        The map from the user's units to those of X, None if there is none.
    index : int
        Of the output, where the data are those of one among several.
    """

    X: Inputs
    y: Matrix
    weights: Vector | None = None
    distance: float = 1.0
    names: list[str] | None = None
    codes: Indices | None = None
    spread: float = 1.0
    scale: Vector = dataclasses.field(default_factory=lambda: np.ones(1))
    standardizer: Standardizer | None = None
    index: int = 0

    def __sizeof__(self) -> int:
        """Return the size with the data; see :class:`~bayesvm.kernels.inputs.Inputs`."""
        return object.__sizeof__(self) + sys.getsizeof(self.X) + sys.getsizeof(self.y)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.X)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.X.n_features

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return int(self.y.shape[1])

    @property
    def targets(self) -> Matrix:
        """The targets as an objective takes them: a vector if there is one output."""
        return np.ascontiguousarray(self.y[:, 0]) if self.n_outputs == 1 else self.y

    @property
    def counts(self) -> Vector:
        """Weights of the rows, ones if none were given."""
        return np.ones(self.n_rows) if self.weights is None else self.weights

    def part(self, rows: Indices) -> Self:
        """Return the data of some rows."""
        weights = None if self.weights is None else self.weights[rows]
        codes = None if self.codes is None else self.codes[rows]
        return dataclasses.replace(self, X=self.X.take(rows), y=self.y[rows], weights=weights, codes=codes)

    def output(self, k: int) -> Self:
        """Return the data of one output alone."""
        return dataclasses.replace(self, y=self.y[:, [k]], scale=self.scale[[k]], index=k)


def typical_distance(X: Inputs, weights: Vector | None) -> float:
    """Return the root mean square distance of two rows, 1.0 if all are equal."""
    spread = float(np.sum(weighted_moments(X.X, weights)[1]))
    return float(np.sqrt(2.0 * spread)) if spread > 0.0 else 1.0


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A model that was tried.

    Attributes
    ----------
    kernel : str
        Its form.
    log_evidence : float
        Maximum of its log evidence (plus log hyperprior); minus infinity if it could not be computed, or if what
        computes it did not converge; NaN for another form of a candidate, which is not searched.
    kept : bool
        Whether it is used for predictions.
    output : int
        The output that it was tried for.
    log_model_evidence : float
        Estimate of its evidence with the hyperparameters integrated out; NaN if it was not asked for.
    weight : float
        Its share in the predictions.
    seconds : float
        Time spent on it.
    evaluations : int
        Evaluations of its evidence.
    """

    kernel: str
    log_evidence: float
    kept: bool
    output: int = 0
    log_model_evidence: float = np.nan
    weight: float = np.nan
    seconds: float = np.nan
    evaluations: int = 0


class FittedModel(Protocol):
    """What every fitted model offers, whatever method fitted it. Inputs are standardised."""

    @property
    def kernel(self) -> Kernel:
        """The kernel with its learnt parameters."""

    @property
    def likelihood(self) -> Likelihood:
        """The likelihood with its learnt parameters, without weights."""

    @property
    def n_outputs(self) -> int:
        """Number of latent functions."""

    @property
    def log_evidence(self) -> float:
        """Log evidence of the training data, hyperprior left out."""

    @property
    def objective(self) -> Any:
        """The evidence as a function of theta (None where it was not kept)."""

    @property
    def maximum(self) -> Maximum:
        """How theta was found."""

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The kernels that were compared, if there was a choice."""

    @property
    def problems(self) -> tuple[str, ...]:
        """What did not converge, in words; empty if everything did."""

    @property
    def support(self) -> Indices:
        """Training rows with a coefficient that is not zero in some output."""

    @property
    def coefficients(self) -> Matrix:
        """Their coefficients, one row per output."""

    @property
    def attributes(self) -> Mapping[str, Any]:
        """Further fitted attributes that belong to this kind of model, by name without the final underscore."""

    def mean(self, X: Inputs) -> Matrix:
        """Return the means of the latent functions at the rows of X, one column per output."""

    def latent(self, X: Inputs) -> tuple[Matrix, Matrix]:
        """Return means and variances of the latent functions at the rows of X, one column per output."""

    def sample(self, X: Inputs, n_draws: int, rng: np.random.Generator) -> Matrix:
        """Return joint draws of the latent functions at the rows of X, shape (n, n_draws, q)."""


@dataclasses.dataclass(frozen=True)
class SearchOptions:
    """How theta is searched for.

    Parameters
    ----------
    optimize : bool
        Whether theta is learnt, or the first start kept.
    n_starts : int
        Number of starts.
    maximizer : Maximizer
        Tolerance, number of evaluations, parallel starts, callback.
    random_state : int or None
        Seed of what is drawn; with a number, whatever is drawn again is the same.
    """

    optimize: bool = True
    n_starts: int = 4
    maximizer: Maximizer = dataclasses.field(default_factory=Maximizer)
    random_state: int | None = None

    @property
    def several(self) -> bool:
        """Whether several starts search together."""
        return self.optimize and self.n_starts > 1

    def rng(self) -> np.random.Generator:
        """Return a generator with this seed."""
        return np.random.default_rng(self.random_state)


@dataclasses.dataclass(frozen=True)
class KernelCandidate:
    """A kernel to try.

    Attributes
    ----------
    kernel : Kernel
        Not yet bound to data.
    name : str
        Its name in the list of candidates; empty: its own form.
    starts : sequence of arrays
        Starts of theta that are known.
    given : bool
        Whether its own parameters (with those of the likelihood) are the first start.
    n_starts : int
        How many starts there shall be.
    changes : mapping
        Fields of the specification that are others for this candidate.
    """

    kernel: Kernel
    name: str = ""
    starts: Sequence[Vector] = ()
    given: bool = False
    n_starts: int = 1
    changes: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Trial:
    """A candidate after its search: its name, its model (None if the evidence could not be computed), its time."""

    name: str
    model: Any
    seconds: float

    def as_interrupted(self) -> Trial:
        """Return the trial with a model that says that its search was interrupted."""
        if self.model is None:
            return self
        model = dataclasses.replace(self.model, maximum=self.model.maximum.as_interrupted())
        return dataclasses.replace(self, model=model)

    def row(self, *, kept: bool, log_model_evidence: float = np.nan, weight: float = np.nan) -> Candidate:
        """Return the candidate as it is listed."""
        if self.model is None:
            return Candidate(self.name, -np.inf, False, 0, -np.inf, 0.0, self.seconds)
        maximum: Maximum = self.model.maximum
        spent = sum(record.evaluations for record in maximum.history)
        return Candidate(self.name, maximum.value, kept, 0, log_model_evidence, weight, self.seconds, spent)


#: Yields kernels one after the other; it may look at the models of those it yielded before.
Candidates = Callable[["ModelSpec", TrainingData, Sequence[FittedModel]], Iterator[KernelCandidate]]


@dataclasses.dataclass(frozen=True)
class ModelSpec(ABC):
    """What is to be fitted: kernel, hyperprior and search options; subclasses add what their kind of model needs.

    Parameters
    ----------
    candidates : callable
        Yields the kernels to try; see :mod:`bayesvm.models.candidates`.
    hyperprior : Hyperprior
        Density of theta.
    options : SearchOptions
        How theta is searched for.
    shared : bool
        Whether several outputs have common hyperparameters, and are fitted as one model.
    """

    #: Maximises an objective of this kind: ``search(maximizer, objective, starts)``.
    search: ClassVar[Any]

    candidates: Candidates
    hyperprior: Hyperprior = dataclasses.field(default_factory=Flat, kw_only=True)
    options: SearchOptions = dataclasses.field(default_factory=SearchOptions, kw_only=True)
    shared: bool = dataclasses.field(default=False, kw_only=True)

    def watched(self, callback: Callable[[SearchProgress], None] | None) -> Self:
        """Return the specification with a callback that is told about every evaluation."""
        maximizer = dataclasses.replace(self.options.maximizer, callback=callback)
        return dataclasses.replace(self, options=dataclasses.replace(self.options, maximizer=maximizer))

    @abstractmethod
    def objective(self, kernel: Kernel, data: TrainingData) -> Any:
        """Return the evidence as a function of theta."""

    @abstractmethod
    def starts(self, kernel: Kernel, data: TrainingData, missing: int) -> list[Vector]:
        """Return starts of theta that suit the data, about as many as are missing (at least as many)."""

    @abstractmethod
    def model(self, objective: Any, maximum: Maximum, data: TrainingData) -> FittedModel:
        """Return the model at the maximum."""

    def threads(self, data: TrainingData) -> contextlib.AbstractContextManager[None]:
        """Return the ``with`` statement in which a fit runs: it sets the number of threads that suits the rows."""
        return suited_blas_threads(data.n_rows)

    def conclude(self, trials: Sequence[Trial], data: TrainingData) -> FittedModel:
        """Return the model that predicts, made from all that were tried: here the one with the highest evidence."""
        best = max((t.model for t in trials if t.model is not None), key=lambda model: model.maximum.value)
        if len(trials) == 1:
            return self.finish(best, data)
        rows = tuple(trial.row(kept=trial.model is best) for trial in trials)
        return self.finish(dataclasses.replace(best, candidates=rows), data)

    def finish(self, model: Any, data: TrainingData) -> FittedModel:
        """Return the model of the chosen kernel as predictions use it."""
        return model  # type: ignore[no-any-return]


def no_evidence(name: str, reason: NotPositiveDefiniteError) -> NotPositiveDefiniteError:
    """Return what is raised if the evidence can be computed for none of the kernels, the first being given."""
    return NotPositiveDefiniteError(
        f"kernel: expected one whose evidence can be computed for these data, found {name} ({reason}); "
        "standardise the inputs, or choose another kernel"
    )


__all__ = [
    "BLOCK",
    "CACHE",
    "PART",
    "Candidate",
    "Candidates",
    "FittedModel",
    "KernelCandidate",
    "ModelSpec",
    "SearchOptions",
    "TrainingData",
    "Trial",
    "no_evidence",
    "typical_distance",
]
