"""The Bayesian support vector regressor."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

from bayesvm.estimators._arguments import (
    Rule,
    chooses,
    given_kernel,
    has_kernel,
    hyperprior,
    in_units,
    integrates,
    kernel_candidates,
    noise_likelihood,
    proper_hyperprior,
    real,
    reduction_tolerance,
    search_options,
)
from bayesvm.estimators._large import large_process
from bayesvm.estimators._model_evidence import ModelEvidenceMixin
from bayesvm.estimators._regressor import BayesianRegressor
from bayesvm.exceptions import IncompatibleError
from bayesvm.inference import Inference
from bayesvm.inference.names import from_name
from bayesvm.kernels import Constant, Gaussian
from bayesvm.likelihoods import Regression
from bayesvm.likelihoods.transition_loss import TransitionLoss
from bayesvm.models import GaussianProcess, TrainingData
from bayesvm.models.chosen_process import ChosenProcess
from bayesvm.models.target_kernels import TargetKernels
from bayesvm.solvers import Solver

#: Bounds of C and epsilon for standardised targets: noise below a thousandth of the targets' spread counts as none.
C_BOUNDS = (1e-2, 1e3)
EPSILON_BOUNDS = (1e-3, 1e1)
#: Noise models that are tried beside Gaussian noise.
NOISE = ("laplace", "huber", "soft-insensitive")


class BayesianSVR(ModelEvidenceMixin, BayesianRegressor):
    r"""Support vector regression that tunes itself by the evidence of the training data (BSVR).

    The latent function has a Gaussian process prior; the noise follows the soft insensitive model, a flat top with
    exponential tails, so that outliers pull with limited force and points within the flat zone drop out of the
    solution. Kernel, C and :math:`\epsilon` maximise Laplace's approximation of the evidence, Thesis (4.38), with its
    gradient (4.39)-(4.41); predictions carry error bars, Thesis (4.46). No grid, no validation set, no scaling by the
    user.

    Parameters
    ----------
    kernel : "auto", Kernel, scikit-learn Gaussian process kernel, str or None
        Covariance of the latent function. "auto": it is chosen by an evidence in which the hyperparameters are
        integrated out, among one length scale and one per feature, smooth and rougher functions, with and without a
        linear part, and one common scale of the inputs; where several are close, predictions are averaged (see
        ``candidates_``). None: ``Gaussian() + Constant()``, the thesis'. The parameters of a given kernel are the first
        start; with ``standardize=True`` its variances are relative to that of the targets.
    ard : bool
        One length scale per feature (automatic relevance determination) in every part of the given kernel that can
        have it, or of the thesis' kernel: no kernel is chosen then.
    likelihood : str or likelihood
        "auto": chosen by the same evidence among Gaussian, Laplace, Huber and soft insensitive noise.
        "soft-insensitive" (the thesis'), "smooth-insensitive" (the same shape with a continuous second derivative),
        "huber" or "gaussian-noise" (neither is sparse), or an object of :mod:`bayesvm.likelihoods`, whose parameters
        are in the user's units and are the first start. "laplace" and "epsilon-insensitive" need ``inference="ep"``:
        see Notes.
    solver : {"newton", "smo", "auto"} or Solver
        What finds the mode: semismooth Newton, the native working-set solver, or the one that suits the size of the
        data (the choice is logged). All find the same mode.
    inference : {"laplace", "ep"} or Inference
        Laplace's method (the thesis') or expectation propagation (closer, and slower; also for losses with kinks), for
        the evidence and for predictions.
    calibrate : {None, "auto", "loo"}
        Correction of the predictive scale (standard deviations with noise, intervals, densities) by one number fitted
        to leave-one-out predictions of the training rows: none, as far as the data justify it, or in full.
    reduce : "auto", float or None
        Largest change of a prediction at a training row, in posterior standard deviations, for which the posterior is
        carried by few training rows, the basis (:mod:`bayesvm.inference.reduction`); predictions, model files and
        exported models then cost as many. "auto": 0.003 times the root of the number of rows, but at least 0.02 and
        at most 0.06, for a machine with calibration, None for one without, the thesis'. None: all rows with a
        coefficient predict.
    beta : float or "auto"
        Half-width of the transition between flat top and tail, in units of :math:`\epsilon`, for the likelihoods by
        name that have one. "auto": 0.3 below 2000 training rows, 0.1 up to 4000, 0.05 above (Thesis section 4.3.3); a
        small beta means fewer rows with curvature and a faster fit.
    fix_variance : bool
        Whether the variance of the kernel of ``kernel=None``, :math:`\kappa_0`, is fixed at the variance of the
        targets, as in the thesis, or learnt. A given kernel is taken as it is.
    share_hyperparameters : bool
        With several outputs: whether one set of hyperparameters (on standardised targets) serves them all; a likelihood
        object is then read in units of standardised targets.
    inducing : "auto", int or None
        Inference for many rows. None: exact, whatever the number of rows. "auto": exact up to 3000 rows; beyond, by
        inducing inputs and neighbouring rows, as the data need them, with ``kernel``, or without one a Gaussian or a
        Matern kernel with one length scale per feature. A number: by as many inducing inputs at most. Predictions are
        then those of ``inference``; see the guide on large data.
    warm_start : bool
        Whether a fit that uses inducing inputs or neighbours begins with kernel and hyperparameters of the last one,
        and searches with all rows at once: for the same data with further rows. Inducing inputs are chosen anew among
        all rows. With a ``kernel`` of another form, or other features, nothing is taken over.
    theta : {"optimum", "integrate"}
        Hyperparameters of the predictions: the best ones, or a fixed set of them about the optimum with importance
        weights (see ``integration_``), for several times the cost of a fit.
    optimizer : {"bfgs", None}
        BFGS ascent of the evidence from several starts, or None to keep the given hyperparameters.
    n_starts : int
        Number of starts; the first six are deterministic, further ones are drawn with ``random_state``.
    hyperprior : Hyperprior, optional
        Density of the logarithms of the hyperparameters (on standardised data). None: flat for one model, and the weak
        one of :mod:`bayesvm.hyper.default_prior` where models are compared.
    standardize : bool
        Whether features and targets are brought to zero mean and unit variance inside.
    n_jobs : int, optional
        Starts, or outputs, that are fitted at the same time, and threads among which new rows are divided.
    random_state : int, Generator or RandomState, optional
        Seed of the starts beyond the deterministic ones.
    evidence_tol : float
        Predicted gain in evidence per hyperparameter, in nats, at which the search has converged; half a nat each is
        the size of what the data leave open.
    max_evaluations : int
        Largest number of evaluations of the evidence per start.
    verbose : int
        1 shows a progress bar on a terminal.

    Attributes
    ----------
    kernels_, likelihoods_ : tuples of Kernel and of likelihoods, one per output
        With their learnt parameters, in the user's units. ``kernel_`` and ``likelihood_`` are the common one, where
        there is one.
    models_ : tuple of FittedModel
        The fitted models, one per set of hyperparameters.
    log_evidence_ : float
        Log evidence of the targets as they were given, summed over the outputs.
    log_model_evidence_, log_model_evidence_error_ : float
        The same with the hyperparameters integrated out, by which models of different size can be compared, and an
        estimated bound of its error; computed when first asked for (see the property).
    noise_std_ : float (an array with a matrix of targets)
        Standard deviation of the noise, from Thesis (2.33).
    outlier_score_ : array of the shape of y
        For every training row :math:`-\ln P(|\delta| \ge |y - f|)` under the noise model: exponential with mean one for
        regular rows, large for outliers. :meth:`outlier_score` gives it for new data.
    loo_log_likelihood_ : float
        Log density of the training targets, each predicted without itself (hyperparameters kept, calibration included).
    calibration_ : tuple of ScaleCalibration
        Per output: ``scale`` of the predictive deviations, ``gain`` in nats, and the ``weight`` with which it was
        applied.
    inducing_inputs_, log_evidence_bounds_, approximation_gap_ : array, array, float
        Where inducing inputs or neighbours were used: the inducing inputs, rows of X; lower and upper bound of the log
        evidence, one row per model (the upper one for Gaussian noise without neighbours, otherwise not a number); what
        the approximation leaves open in nats (the distance of the bounds, or the variational term of other
        likelihoods; not a number where rows were conditioned on their neighbours).
    support_, support_vectors_, dual_coef_ : arrays
        Rows with a coefficient that is not zero, those rows of X, and the coefficients, one row per output, before any
        reduction.
    basis_, n_basis_, reduction_error_ : array of int, int, float
        Rows that predictions are computed from, their number, and the largest change of a prediction at a training row
        by the reduction, in standard deviations (0 if nothing was reduced).
    relevance_, named_relevance_ : array of shape (d,) or None, dict or None
        With ARD, :math:`\kappa_l = 1/\ell_l^2` per standardised feature (averaged over the outputs), by position and by
        name.
    relevances_ : array of shape (n_outputs, d) or None
        The same, per output.
    candidates_ : tuple of Candidate
        Where kernel or noise were chosen: what was tried, with log evidences, model evidences, weights and seconds.
    integration_ : tuple of Integration
        With ``theta="integrate"``, per kept candidate: the number of points, their effective number, and by how much
        their predictions differ.
    n_features_in_, feature_names_in_ : int, array
        As in scikit-learn.
    converged_, n_iter_, history_, theta_names_ : bool, int, records, names
        Whether the searches converged; evaluations spent; one record per start; names of the entries of theta.

    Notes
    -----
    *The choice.* Kernel, noise, hyperparameters, evidence and support vectors that are reported are those of the
    candidate with the largest weight. Gaussian noise is treated exactly, any other that is chosen by expectation
    propagation, so that few rows or none drop out of the solution.

    *The thesis' machine* is ``BayesianSVR(kernel=None, likelihood="soft-insensitive")``. Its mode is found by
    semismooth Newton steps on three groups of rows: inside the flat zone (no support vectors), in the transition zones
    (off-bound, the only ones with curvature, which alone enter the factorisation and the variance), and in the tails
    (on-bound, :math:`|\alpha_i| = C`, which enter the mean only).

    The evidence jumps along the hyperparameters, because rows enter and leave the transition zones; it is maximised
    through smooth surrogates (see :mod:`bayesvm.hyper.surrogate`).

    *Losses with kinks* ("laplace", "epsilon-insensitive") have no curvature to expand at the mode: Laplace's method
    does not apply, but expectation propagation does. The soft insensitive loss with a small beta is as close to the
    epsilon-insensitive one as wanted.

    *Weights* are powers of the likelihood: a row of weight 2 counts as two equal rows.

    References
    ----------
    Thesis chapters 2 and 4, appendices A, E, F.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesvm import BayesianSVR
    >>> X = np.linspace(-3.0, 3.0, 60)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(60)
    >>> machine = BayesianSVR().fit(X, y)
    >>> mean, std = machine.predict(X[:2], return_std=True)
    >>> mean.shape, std.shape
    ((2,), (2,))
    """

    _rules: ClassVar[dict[str, Rule]] = {"beta": real(0.0, "auto", most=1.0)}

    def __init__(
        self,
        kernel: Any = "auto",
        *,
        ard: bool = False,
        likelihood: Any = "auto",
        inference: str | Inference = "laplace",
        solver: str | Solver = "newton",
        calibrate: str | None = None,
        reduce: str | float | None = "auto",
        beta: Any = "auto",
        fix_variance: bool = True,
        share_hyperparameters: bool = False,
        inducing: Any = "auto",
        warm_start: bool = False,
        theta: str = "optimum",
        optimizer: str | None = "bfgs",
        n_starts: int = 4,
        hyperprior: Any = None,
        standardize: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
        evidence_tol: float = 1e-2,
        max_evaluations: int = 500,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.ard = ard
        self.likelihood = likelihood
        self.inference = inference
        self.solver = solver
        self.calibrate = calibrate
        self.reduce = reduce
        self.beta = beta
        self.fix_variance = fix_variance
        self.share_hyperparameters = share_hyperparameters
        self.inducing = inducing
        self.warm_start = warm_start
        self.theta = theta
        self.optimizer = optimizer
        self.n_starts = n_starts
        self.hyperprior = hyperprior
        self.standardize = standardize
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.evidence_tol = evidence_tol
        self.max_evaluations = max_evaluations
        self.verbose = verbose

    def _spec(self, data: TrainingData) -> GaussianProcess:
        free_kernel, free_noise, shared = chooses(self), self._chooses_noise, bool(self.share_hyperparameters)
        named = self.likelihood if self.likelihood != "auto" else "gaussian-noise" if free_noise else "soft-insensitive"
        likelihood = self._noise_model(named, data)
        inference = from_name(self.inference, self.solver, likelihood)
        large = large_process(self, data, likelihood, inference, shared=shared, others=lambda: self._smooth_noise(data))
        if large is not None:
            return large
        default = Gaussian(data.spread**2).fix("variance") if self.fix_variance else Gaussian()
        options: dict[str, Any] = {
            "calibrate": self.calibrate,
            "reduce": reduction_tolerance(self, data),
            "options": search_options(self),
            "shared": shared,
        }
        if not (free_kernel or free_noise or integrates(self)):
            candidates = kernel_candidates(self, default + Constant())
            return GaussianProcess(candidates, likelihood, inference, hyperprior=hyperprior(self), **options)
        kernel = None if free_kernel else given_kernel(self, default + Constant())
        choice = TargetKernels(
            kernel,
            has_kernel(self),
            tuple(self._noise_model(name, data) for name in NOISE) if free_noise else (),
            self.hyperprior is None,
        )
        prior = proper_hyperprior(self, data, data.spread)
        options["integrate"] = integrates(self)
        return ChosenProcess(choice, likelihood, inference, hyperprior=prior, **options)

    @property
    def _chooses_noise(self) -> bool:
        """Whether the noise model is chosen."""
        return isinstance(self.likelihood, str) and self.likelihood == "auto" and self.optimizer is not None

    def _smooth_noise(self, data: TrainingData) -> tuple[Regression, ...]:
        """Return the noise models that Laplace's method can treat, to try beside Gaussian noise with many rows."""
        models = [self._noise_model(name, data) for name in NOISE] if self._chooses_noise else []
        return tuple(model for model in models if model.traits.smoothness >= 1)

    def _noise_model(self, value: Any, data: TrainingData) -> Regression:
        """Return a likelihood in the units used inside, with the beta and the bounds that suit the data."""
        likelihood = noise_likelihood(value)
        if likelihood.traits.smoothness < 1 and self.inference == "laplace" and not self._chooses_noise:
            raise IncompatibleError(
                f"likelihood {value!r}: its loss has kinks, where Laplace's method finds no curvature to "
                "expand; use inference='ep', or 'soft-insensitive' (a small beta brings it close to "
                "'epsilon-insensitive', a small epsilon to 'laplace'), 'smooth-insensitive' or 'huber'"
            )
        by_name = isinstance(value, str)
        has_beta = by_name and any(field.name == "beta" for field in dataclasses.fields(likelihood))
        if not has_beta and not isinstance(self.beta, str) and not self._chooses_noise:
            raise ValueError(
                f"beta: expected 'auto', since it applies to likelihoods by name that have a beta, found {self.beta!r} "
                f"with likelihood {value!r}"
            )
        if by_name and isinstance(likelihood, TransitionLoss):
            likelihood = likelihood.bounded(C=C_BOUNDS, epsilon=EPSILON_BOUNDS)
        if has_beta:
            changes: dict[str, Any] = {"beta": self._beta(data.n_rows)}
            likelihood = dataclasses.replace(likelihood, **changes)
        return in_units(likelihood, data, given=not by_name and not self.share_hyperparameters)

    def _beta(self, n: int) -> float:
        """Return the half-width of the transition for n rows, Thesis section 4.3.3."""
        if not isinstance(self.beta, str):
            return float(self.beta)
        return 0.3 if n < 2000 else 0.1 if n <= 4000 else 0.05


__all__ = ["BayesianSVR"]
