"""Several classes as one model: Gaussian processes with a common kernel and the softmax likelihood."""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from bayesvm.hyper import Maximum, ModelEvidence, maximize_evidence, starting_points
from bayesvm.hyper.softmax import SoftmaxObjective, row_weights
from bayesvm.inference import Evidence, Laplace
from bayesvm.inference.softmax import SoftmaxPosterior, softmax_coefficients
from bayesvm.inference.softmax_average import averaged_log_proba, mutual_information
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods.base import Likelihood
from bayesvm.likelihoods.logistic import Logistic
from bayesvm.models.base import BLOCK, Candidate, ModelSpec, TrainingData
from bayesvm.models.calibration import Calibration
from bayesvm.models.gaussian_process import determined_hyperparameters, integrated_over_theta, weighted_likelihood
from bayesvm.models.joint_calibration import CAUTIOUS_CLASSES, FULL_CLASSES, calibrate_classes
from bayesvm.typing import Blocks, Indices, Matrix, Vector


@dataclasses.dataclass(frozen=True)
class SoftmaxModel:
    """Latent functions of all classes at the optimum of their evidence.

    All training rows take part in predictions. The factor of the posterior, ``C n^2`` numbers, is computed when
    variances or probabilities are first asked for (``C n^3`` operations); it is neither pickled nor saved.

    Attributes
    ----------
    kernel : Kernel
        With its learnt parameters; it acts on standardised inputs.
    evidence : Evidence
        At the optimum, without its derivative in K; ``latent`` holds the mode, one column per class.
    objective : SoftmaxObjective
        The evidence as a function of theta, with the training rows.
    maximum : Maximum
        How theta was found.
    candidates : tuple of Candidate
        The kernels that were compared, if there was a choice.
    loo_scores : array, shape (n, C)
        Logarithms of averaged probabilities of the training rows, each predicted without itself.
    calibrations : tuple of Calibration
        Correction of the logarithms of averaged probabilities, one per class.
    attributes : mapping
        Further fitted attributes.
    """

    kernel: Kernel
    evidence: Evidence
    objective: SoftmaxObjective
    maximum: Maximum
    candidates: tuple[Candidate, ...] = ()
    loo_scores: Matrix = dataclasses.field(default_factory=lambda: np.empty((0, 0)))
    calibrations: tuple[Calibration, ...] = ()
    attributes: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    #: All rows predict.
    reduction: ClassVar[None] = None

    @classmethod
    def at_maximum(cls, objective: SoftmaxObjective, maximum: Maximum) -> SoftmaxModel:
        """Return the model at a maximum of the objective."""
        final = objective.evaluate(maximum.theta, maximum.latent)
        bare = dataclasses.replace(objective, X=objective.X.forget())
        return cls(objective.model(maximum.theta)[0], final.evidence.without_dk(), bare, maximum)

    def at(self, theta: Vector) -> SoftmaxModel:
        """Return the same model with other hyperparameters; the calibration is kept."""
        first = self.objective.evaluate(theta)
        other = type(self).at_maximum(self.objective, Maximum.at(first.theta, first.value, first.evidence.latent))
        return dataclasses.replace(other.with_scores(), calibrations=self.calibrations)

    def __sizeof__(self) -> int:
        """Return the size with the data; see :class:`~bayesvm.kernels.inputs.Inputs`."""
        return object.__sizeof__(self) + sys.getsizeof(self.objective)

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    # -- what was found -----------------------------------------------------------------------------------------------
    @property
    def likelihood(self) -> Likelihood:
        """The logistic likelihood, which is the softmax of one class against another; with sample weights if any."""
        return self.objective.likelihood

    @property
    def inputs(self) -> Inputs:
        """The training rows, standardised."""
        return self.objective.X

    @property
    def n_outputs(self) -> int:
        """Number of classes."""
        return int(self.objective.y.shape[1])

    @property
    def theta(self) -> Vector:
        """Where the objective was maximal."""
        return self.maximum.theta

    @property
    def log_evidence(self) -> float:
        """Log evidence of the training data."""
        return self.evidence.value

    @functools.cached_property
    def model_evidence(self) -> ModelEvidence:
        """The evidence with theta integrated out; computed when it is first asked for."""
        return integrated_over_theta(self.objective, self.maximum)

    @property
    def problems(self) -> tuple[str, ...]:
        """What did not converge, in words."""
        return tuple(s.value for s in (self.maximum.status, self.evidence.status) if not s.ok)

    @property
    def support(self) -> Indices:
        """Training rows with a coefficient that is not zero for some class."""
        return np.flatnonzero(np.any(self.alpha != 0.0, axis=1))

    @property
    def basis(self) -> Indices:
        """Training rows on which predictions depend."""
        return np.arange(len(self.inputs))

    @property
    def coefficients(self) -> Matrix:
        """Coefficients of the support, one row per class."""
        return np.ascontiguousarray(self.alpha[self.support].T)

    @property
    def alpha(self) -> Matrix:
        """Coefficients of all training rows, one column per class."""
        weights = row_weights(self.likelihood, len(self.inputs))
        return softmax_coefficients(self.evidence.latent, self.objective.y, weights)

    @functools.cached_property
    def posterior(self) -> SoftmaxPosterior:
        """The Gaussian about the mode."""
        K, weights = self.kernel.gram(self.inputs), row_weights(self.likelihood, len(self.inputs))
        return SoftmaxPosterior.at(K, self.evidence.latent, self.objective.y, weights)

    # -- the latent functions -----------------------------------------------------------------------------------------
    def mean(self, X: Inputs) -> Matrix:
        """Return the means of the latent functions, one column per class."""
        alpha = self.alpha
        return np.vstack([K_s @ alpha for _, _, K_s in self._blocks(X)])

    def latent(self, X: Inputs) -> tuple[Matrix, Matrix]:
        """Return means and variances of the latent functions at the rows of X, one column per class."""
        found = [(mean, np.diagonal(V, axis1=1, axis2=2)) for mean, V in self._gaussians(X)]
        return np.vstack([mean for mean, _ in found]), np.vstack([var for _, var in found])

    def sample(self, X: Inputs, n_draws: int, rng: np.random.Generator) -> Matrix:
        """Return joint draws of the latent functions at the rows of X, shape (n, n_draws, C)."""
        K_s = self.kernel.gram(X, self.inputs)
        noise = self.posterior.factor.draws(K_s, self.kernel.gram(X), n_draws, rng)
        return self.posterior.mean(K_s)[:, None, :] + noise

    def _blocks(self, X: Inputs) -> Iterator[tuple[slice, Inputs, Matrix]]:
        """Yield parts of X with their Gram matrices, small enough for one such matrix per class."""
        step = max(1, BLOCK // (len(self.inputs) * self.n_outputs))
        for first in range(0, len(X), step):
            rows = slice(first, min(first + step, len(X)))
            part = X.take(np.arange(rows.start, rows.stop))
            yield rows, part, self.kernel.gram(part, self.inputs)

    def _gaussians(self, X: Inputs) -> Iterator[tuple[Matrix, Blocks]]:
        """Yield means and covariances of the classes, part by part."""
        for _, part, K_s in self._blocks(X):
            yield self.posterior.mean(K_s), self.posterior.covariances(K_s, self.kernel.diag(part))

    # -- predictions of classes ---------------------------------------------------------------------------------------
    def log_odds(self, X: Inputs) -> Matrix:
        """Return logarithms of the averaged (and calibrated) probabilities up to a common number, a column per class.

        Without calibration that number is zero.
        """
        return self._calibrated(np.vstack([averaged_log_proba(mean, V) for mean, V in self._gaussians(X)]))

    def loo_log_odds(self) -> Matrix:
        """Return the same for the training rows, each predicted without itself."""
        return self._calibrated(self.loo_scores)

    def mutual_information(self, X: Inputs) -> Vector:
        """Return, in nats, what observing the class of each row is expected to tell about its latent values."""
        return np.concatenate([mutual_information(mean, V) for mean, V in self._gaussians(X)])

    def _calibrated(self, scores: Matrix) -> Matrix:
        if not self.calibrations:
            return scores
        return np.column_stack([c.apply(column) for c, column in zip(self.calibrations, scores.T, strict=True)])

    # -- after the search ---------------------------------------------------------------------------------------------
    def with_scores(self) -> SoftmaxModel:
        """Return the model with leave-one-out predictions of its training rows."""
        scores = [
            averaged_log_proba(*self.posterior.cavities(rows, K_s, self.kernel.diag(part)))
            for rows, part, K_s in self._blocks(self.inputs)
        ]
        return dataclasses.replace(self, loo_scores=np.vstack(scores))

    def calibrated(self, how: str | None, data: TrainingData, *, tuned: bool) -> SoftmaxModel:
        """Return the model with its probabilities corrected on leave-one-out predictions, all classes together.

        Parameters
        ----------
        how : {"auto", "loo", None}
            As far as the data justify it, in full, or not at all.
        data : TrainingData
            The training rows.
        tuned : bool
            Whether theta was learnt on the same rows.
        """
        if how is None:
            return dataclasses.replace(self, calibrations=(Calibration(),) * self.n_outputs)
        shrinkage = dataclasses.replace(CAUTIOUS_CLASSES if how == "auto" else FULL_CLASSES, size=None)
        determined = determined_hyperparameters(self.kernel, self.theta.size, data.n_features) if tuned else 0.0
        codes = np.argmax(self.objective.y, axis=1)
        found = calibrate_classes(self.loo_scores, codes, data.counts, determined=determined, shrinkage=shrinkage)
        return dataclasses.replace(self, calibrations=found.parts())


@dataclasses.dataclass(frozen=True)
class SoftmaxProcess(ModelSpec):
    """Gaussian processes of all classes with a common kernel and the softmax likelihood, by Laplace's method.

    Parameters
    ----------
    calibrate : {"auto", "loo", None}
        Correction of the predictions on leave-one-out predictions.
    """

    search: ClassVar[Any] = staticmethod(maximize_evidence)

    calibrate: str | None = None

    def objective(self, kernel: Kernel, data: TrainingData) -> SoftmaxObjective:
        """Return the evidence as a function of the kernel's parameters."""
        likelihood = weighted_likelihood(Logistic(), data)
        return SoftmaxObjective(kernel, likelihood, Laplace(), data.X, indicators(data.y), self.hyperprior)

    def starts(self, kernel: Kernel, data: TrainingData, missing: int) -> list[Vector]:
        """Return starts with the features tied if there are several."""
        form = kernel.tied() if self.options.several else kernel
        return starting_points(form, data.X, missing, self.options.rng(), distance=data.distance)

    def model(self, objective: SoftmaxObjective, maximum: Maximum, data: TrainingData) -> SoftmaxModel:
        """Return the model at the maximum."""
        return SoftmaxModel.at_maximum(objective, maximum)

    def finish(self, model: SoftmaxModel, data: TrainingData) -> SoftmaxModel:
        """Return the model with leave-one-out predictions and calibration."""
        return model.with_scores().calibrated(self.calibrate, data, tuned=self.options.optimize)


def indicators(signs: Matrix) -> Matrix:
    """Return indicators of the classes, one column each, from one-against-rest labels -1/+1 (one column for two)."""
    positive = (signs > 0.0).astype(float)
    return np.column_stack([1.0 - positive, positive]) if signs.shape[1] == 1 else positive


__all__ = ["SoftmaxModel", "SoftmaxProcess", "indicators"]
