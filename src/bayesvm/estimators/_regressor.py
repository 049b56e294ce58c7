"""What all self-tuning regressors share: standardised targets, several outputs, weights, error bars, intervals, draws."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import RegressorMixin
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, check_is_fitted, validate_data

from bayesvm import inference
from bayesvm.estimators._calibration import ScaleCalibration, calibrate_scale
from bayesvm.estimators._machine import Machine, learn, refine
from bayesvm.estimators._self_tuning import SelfTuning, generator
from bayesvm.estimators._targets import TargetScale
from bayesvm.hyper import SharedObjective, regression_starting_points
from bayesvm.inference import Inference
from bayesvm.kernels import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods import Likelihood, Regression, Weighted
from bayesvm.likelihoods.convolution import half_width, log_tail
from bayesvm.typing import Matrix, Vector


class SelfTuningRegressor(RegressorMixin, SelfTuning):
    """Base of the self-tuning regressors; see :class:`~bayesvm.BayesianSVR` for arguments, attributes and notes.

    A subclass has a constructor and ``_likelihood``; it may adapt the likelihood to the size of the data (``_sized``).
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        return tags

    def _likelihood(self) -> Regression:
        """Return the likelihood that the constructor arguments ask for."""
        raise TypeError(f"{type(self).__name__} must define its likelihood")

    def _sized(self, likelihood: Regression, n: int) -> Regression:
        """Return the likelihood for n training rows."""
        return likelihood

    @property
    def _in_user_units(self) -> bool:
        """Whether the parameters of ``_likelihood`` are in the user's units, not in those of standardised targets."""
        return not isinstance(self.likelihood, str)

    # -- fitting ------------------------------------------------------------------------------------------------------
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn hyperparameters and latent function from the training data.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame, shape (n, d)
            Inputs.
        y : array, shape (n,) or (n, n_outputs)
            Targets.
        sample_weight : array, shape (n,), optional
            Non-negative weights; rows of weight zero are left out.

        Returns
        -------
        self : the estimator
        """
        self._check_arguments()
        likelihood = self._likelihood()
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=np.float64, multi_output=True, y_numeric=True, ensure_min_samples=2
        )
        Y = self._columns(y)
        self._single = np.ndim(y) == 1
        weights = self._checked_weights(sample_weight, X)
        rows = np.arange(len(Y)) if weights is None else np.flatnonzero(weights > 0.0)
        w = None if weights is None else weights[rows]
        self._targets = TargetScale.of(Y[rows], w) if self.standardize else TargetScale.identity(Y.shape[1])
        inputs = self._prepare(X[rows], w)
        inner = self._targets.inner(Y[rows])
        self._spread = 1.0 if self.standardize else float(np.sqrt(np.mean(np.var(inner, axis=0)))) or 1.0
        likelihood = self._sized(likelihood, rows.size)
        if self._shares:
            machines = self._fit_shared(inputs, inner, _weighted(likelihood.rescaled(self._spread), w))
        else:
            problems = [
                (np.ascontiguousarray(inner[:, k]), _weighted(self._in_scale(likelihood, k), w))
                for k in range(Y.shape[1])
            ]
            machines = self._fit_machines(inputs, problems)
        self._finish(machines, X, rows)
        self._report(X, Y, float(rows.size if w is None else w.sum()))
        self._leave_one_out(np.ones(rows.size) if w is None else w)
        return self

    def _check_arguments(self) -> None:
        super()._check_arguments()
        if self.calibrate not in ("auto", "loo", None):
            raise ValueError(f"calibrate: expected 'auto', 'loo' or None, found {self.calibrate!r}")

    def _inference(self) -> Inference:
        return inference.from_name(self.inference, self._solver(), self._likelihood())

    def _refined(self, machine: Machine) -> Machine:
        return refine(machine, None)

    def _leave_one_out(self, weights: Vector) -> None:
        """Calibrate the scale of the predictions on leave-one-out predictions, and report their likelihood."""
        total = self._log_jacobian
        self.calibration_ = []
        for machine, noise in zip(self._machines, self._noise()):
            q, y = machine.marginals, machine.objective.y
            assert q is not None
            loo = (y, q.cavity_mean, q.cavity_var)
            scale = ScaleCalibration()
            if self.calibrate is not None:
                tuned = 0 if self.optimizer is None else machine.theta.size
                scale = calibrate_scale(noise, *loo, weights, tuned=tuned, cautious=self.calibrate == "auto")
            self.calibration_.append(scale)
            total += float(weights @ scale.log_density(noise, *loo))
        self.loo_log_likelihood_ = total

    @property
    def _stretch(self) -> Vector:
        """Calibrated factors of the predictive standard deviations, one per output."""
        return np.array([calibration.scale for calibration in self.calibration_])

    @staticmethod
    def _columns(y: Any) -> Matrix:
        """Return targets as a matrix of floats, one column per output."""
        if sp.issparse(y):
            raise ValueError("y: expected a dense array of targets, found a sparse matrix")
        Y = np.asarray(y, dtype=np.float64)
        return Y.reshape(len(Y), -1)

    @staticmethod
    def _checked_weights(sample_weight: Any, X: Any) -> Vector | None:
        if sample_weight is None:
            return None
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if np.count_nonzero(weights) < 2:
            raise ValueError(
                f"sample_weight: expected at least two positive weights, found {np.count_nonzero(weights)}"
            )
        return np.asarray(weights)

    @property
    def _shares(self) -> bool:
        return bool(self.share_hyperparameters) and not self._single and self._targets.scale.size > 1

    def _in_scale(self, likelihood: Regression, k: int) -> Regression:
        """Return the likelihood in the units used inside for output k."""
        return likelihood.rescaled(1.0 / float(self._targets.scale[k]) if self._in_user_units else self._spread)

    def _starts(
        self, kernel: Kernel, likelihood: Likelihood, X: Inputs, given: Sequence[Vector], n_starts: int
    ) -> list[Vector]:
        """Return the starts of the base and, where features are tied at first, one that climbs without ties."""
        starts = super()._starts(kernel, likelihood, X, given, n_starts)
        if n_starts > 1 and kernel.tied().theta.size < kernel.theta.size:
            starts += self._library_starts(kernel, likelihood, X, 1, generator(self.random_state))
        return starts

    def _library_starts(
        self, kernel: Kernel, likelihood: Likelihood, X: Inputs, n_starts: int, rng: np.random.Generator
    ) -> list[Vector]:
        plain = likelihood.plain
        assert isinstance(plain, Regression)
        return regression_starting_points(kernel, plain, X, n_starts, rng, spread=self._spread)

    def _fit_shared(self, X: Inputs, Y: Matrix, likelihood: Likelihood) -> list[Machine]:
        """Return one machine per output, all with the theta that maximises the sum of their evidences."""
        with self._progress() as callback:
            maximizer = self._maximizer(callback)
            joint = self._fit_machine(X, Y, likelihood, maximizer)
        objective = joint.objective
        assert isinstance(objective, SharedObjective)
        machines = [learn(objective.output(k), [joint.theta], maximizer, optimize=False) for k in range(Y.shape[1])]
        machines[0] = dataclasses.replace(machines[0], maximum=joint.maximum)
        return [dataclasses.replace(machine, candidates=joint.candidates) for machine in machines]

    def _report(self, X: Any, Y: Matrix, n: float) -> None:
        """Bring the fitted attributes to the user's units; n counts the rows with their weights."""
        scale, machines = self._targets.scale, self._machines
        self._log_jacobian = -n * float(np.sum(np.log(scale)))
        self.log_evidence_ += self._log_jacobian
        self.dual_coef_ = self.dual_coef_ / scale[:, None]
        likelihoods = [m.likelihood.plain.rescaled(float(s)) for m, s in zip(machines, scale)]
        histories = []
        for k, machine in enumerate(machines):
            shift = self._theta_shift(k)
            histories.append(
                tuple(dataclasses.replace(r, start=r.start + shift, end=r.end + shift) for r in machine.maximum.history)
            )
        kernels = [self.kernel_] if len(machines) == 1 else self.kernel_
        kernels = [kernel if s == 1.0 else float(s) ** 2 * kernel for kernel, s in zip(kernels, scale)]
        single = len(machines) == 1
        self.kernel_ = kernels[0] if single else kernels
        self.likelihood_ = likelihoods[0] if single else likelihoods
        self.history_ = histories[0] if single else histories
        self.noise_std_ = self._shaped(np.sqrt([[noise.noise_variance for noise in likelihoods]]))[0]
        self.relevance_per_output_ = self.relevance_per_class_
        del self.relevance_per_class_
        self._score_outliers(X, Y)

    def _score_outliers(self, X: Any, Y: Matrix) -> None:
        """Set how surprising each training target is under the noise model alone."""
        likelihoods = [self.likelihood_] if len(self._machines) == 1 else self.likelihood_
        residual = Y - self._targets.outer(self._means(self._standardizer.inputs(X)))
        tails = [noise.log_survival(np.abs(residual[:, k])) for k, noise in enumerate(likelihoods)]
        self.outlier_score_ = self._shaped(-np.column_stack(tails) - np.log(2.0))

    def _theta_shift(self, k: int) -> Vector:
        machine = self._machines[k]
        return self._targets.theta_shift(k, machine.kernel.theta.size, machine.likelihood.plain)

    # -- prediction ---------------------------------------------------------------------------------------------------
    def _shaped(self, columns: Matrix) -> Any:
        """Return one column per output, or a vector if the targets were one."""
        return columns[:, 0] if self._single else columns

    def _means(self, inputs: Inputs) -> Matrix:
        """Return the latent means in the units used inside, one column per output."""
        return np.column_stack([machine.mean(inputs) for machine in self._machines])

    def _noise(self) -> list[Regression]:
        """Return the noise models of the outputs, in the units used inside."""
        return [machine.likelihood.plain for machine in self._machines]

    def predict(self, X: Any, return_std: bool = False, return_noise: bool = True) -> Any:
        """Return the mean of the targets at the rows of X, and their standard deviation.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame, shape (n, d)
            Inputs.
        return_std : bool
            Whether to return the standard deviation too.
        return_noise : bool
            Whether the standard deviation is that of a new target (latent variance plus noise variance, Thesis (4.46) and
            (2.33)), or that of the latent function alone.

        Returns
        -------
        mean : array, shape (n,) or (n, n_outputs)
        std : array of the same shape
            Only if ``return_std``.
        """
        if not return_std:
            means = self._means(self._inputs(X))
            return self._shaped(self._targets.outer(means))
        mean, var = self._latent(X)
        if return_noise:
            var = self._stretch**2 * (var + np.array([noise.noise_variance for noise in self._noise()]))
        return self._shaped(self._targets.outer(mean)), self._shaped(self._targets.scale * np.sqrt(var))

    def predict_latent(self, X: Any, return_std: bool = True) -> Any:
        """Return the mean of the latent function at the rows of X, and its standard deviation, in the user's units.

        The same as ``predict(X, return_std, return_noise=False)``.
        """
        return self.predict(X, return_std=return_std, return_noise=False)

    def predict_interval(self, X: Any, confidence: float = 0.95) -> tuple[Any, Any]:
        r"""Return the ends of intervals that hold a new target with the given probability.

        The interval is that of the distribution of latent value plus noise, the convolution of
        :math:`\mathcal N(f; m, \sigma_t^2)` with the density of the noise: symmetric about the mean and, for other than
        Gaussian noise, not mean plus or minus a multiple of the standard deviation.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame, shape (n, d)
            Inputs.
        confidence : float
            Probability, between 0 and 1.

        Returns
        -------
        lower, upper : arrays, shape (n,) or (n, n_outputs)
        """
        if not 0.0 < confidence < 1.0:
            raise ValueError(f"confidence: expected a probability between 0 and 1, found {confidence!r}")
        mean, var = self._latent(X)
        widths = [half_width(noise, var[:, k], confidence) for k, noise in enumerate(self._noise())]
        centre, width = self._targets.outer(mean), self._targets.scale * self._stretch * np.column_stack(widths)
        return self._shaped(centre - width), self._shaped(centre + width)

    def _tails(self, X: Any, y: Any) -> tuple[Matrix, Matrix, Matrix]:
        """Return targets, latent means and variances in the units used inside, after a check of the targets."""
        mean, var = self._latent(X)
        Y = self._columns(y)
        check_consistent_length(mean, Y)
        if Y.shape != mean.shape or not np.all(np.isfinite(Y)):
            raise ValueError(
                f"y: expected finite targets of shape {mean.shape}, found shape {Y.shape} or non-finite ones"
            )
        return self._targets.inner(Y), mean, var

    def log_density(self, X: Any, y: Any) -> Any:
        """Return the logarithms of the predictive density at given targets, in the user's units.

        Parameters
        ----------
        X, y : arrays
            Inputs and targets.

        Returns
        -------
        log_density : array of the shape of y
        """
        Y, mean, var = self._tails(X, y)
        columns = [
            self.calibration_[k].log_density(noise, Y[:, k], mean[:, k], var[:, k])
            for k, noise in enumerate(self._noise())
        ]
        return self._shaped(np.column_stack(columns) - np.log(self._targets.scale))

    def outlier_score(self, X: Any, y: Any) -> Any:
        r"""Return how surprising targets are: :math:`-\ln P(|T| \ge |y - m|)`, T being latent error plus noise.

        Targets from the model have scores with an exponential distribution of mean one; a score of 7 is exceeded by one
        target in a thousand.

        Parameters
        ----------
        X, y : arrays
            Inputs and targets.

        Returns
        -------
        score : array of the shape of y
        """
        Y, mean, var = self._tails(X, y)
        t = np.abs(Y - mean) / self._stretch
        columns = [-log_tail(noise, t[:, k], var[:, k]) - np.log(2.0) for k, noise in enumerate(self._noise())]
        return self._shaped(np.maximum(np.column_stack(columns), 0.0))

    def sample(self, X: Any, n_samples: int = 1, random_state: Any = None, return_noise: bool = False) -> Matrix:
        """Return joint posterior draws at the rows of X, in the user's units.

        Parameters
        ----------
        X : array, shape (n, d)
            Inputs in the user's units.
        n_samples : int
            Number of draws.
        random_state : int, Generator or RandomState, optional
            Seed of the draws.
        return_noise : bool
            Whether to draw targets (with noise) or the latent function.

        Returns
        -------
        draws : array, shape (n, n_samples), or (n, n_samples, n_outputs) with a matrix of targets
        """
        inputs, rng = self._inputs(X), generator(random_state)
        columns = []
        for machine, noise in zip(self._machines, self._noise()):
            draws = machine.sample(inputs, n_samples, rng)
            columns.append(draws + noise.distribution().rvs(draws.shape, rng) if return_noise else draws)
        outer = self._targets.outer(np.stack(columns, axis=-1))
        return outer[:, :, 0] if self._single else outer

    def log_evidence(self, theta: Any = None, gradient: bool = False) -> Any:
        r"""Return the log evidence of the training targets (plus log hyperprior) at ``theta``, in the user's units.

        Parameters
        ----------
        theta : array, optional
            Logarithms of the hyperparameters in the order of ``theta_names_``, those of the likelihood in the user's units;
            the learnt ones if None. With several outputs the same theta serves them all.
        gradient : bool
            Whether to return the gradient in theta too.

        Returns
        -------
        value : float
            Summed over the outputs.
        gradient : array
            Only if ``gradient``.
        """
        check_is_fitted(self)
        total, slope = self._log_jacobian, 0.0
        for k, machine in enumerate(self._machines):
            inner = machine.theta if theta is None else np.asarray(theta, dtype=float) - self._theta_shift(k)
            result = machine.objective.evaluate(inner)
            total, slope = total + result.value, slope + result.gradient
        return (float(total), slope) if gradient else float(total)


def _weighted(likelihood: Regression, weights: Vector | None) -> Likelihood:
    return likelihood if weights is None else Weighted(likelihood, weights)


__all__ = ["SelfTuningRegressor"]
