"""The Bayesian support vector regressor."""

from __future__ import annotations

import dataclasses
import numbers
from typing import Any

import numpy as np

from bayesvm import solvers
from bayesvm.estimators._regressor import SelfTuningRegressor
from bayesvm.exceptions import IncompatibleError
from bayesvm.kernels import Constant, Gaussian, Kernel
from bayesvm.likelihoods import Regression, from_name
from bayesvm.likelihoods.transition_loss import TransitionLoss, check_beta
from bayesvm.solvers import Solver
from bayesvm.typing import Vector

#: Bounds of C and epsilon for standardised targets: noise below a thousandth of the targets' spread counts as none.
C_BOUNDS = (1e-2, 1e3)
EPSILON_BOUNDS = (1e-3, 1e1)


class BayesianSVR(SelfTuningRegressor):
    r"""Support vector regression that tunes itself by the evidence of the training data (BSVR).

    The latent function has a Gaussian process prior; the noise follows the soft insensitive model, a flat top with exponential
    tails, so that outliers pull with limited force and points within the flat zone drop out of the solution. Kernel, C and
    :math:`\epsilon` maximise Laplace's approximation of the evidence, Thesis (4.38), with its gradient (4.39)-(4.41);
    predictions carry error bars, Thesis (4.46). No grid, no validation set, no scaling by the user.

    Parameters
    ----------
    kernel : Kernel, scikit-learn Gaussian process kernel, "auto" or None
        Covariance of the latent function. None: ``Gaussian() + Constant()``. "auto": that, then with a linear part, then
        with one length scale per feature; the one with the highest evidence is kept (see ``candidates_``). The parameters of
        a given kernel are the first start; with ``standardize=True`` its variances are relative to that of the targets.
    ard : bool
        One length scale per feature (automatic relevance determination) in every part of the kernel that can have it.
    likelihood : str or likelihood
        "soft-insensitive" (the thesis'), "smooth-insensitive" (the same shape with a continuous second derivative), "huber"
        or "gaussian-noise" (neither is sparse), or an object of :mod:`bayesvm.likelihoods`, whose parameters are in the
        user's units and are the first start. "laplace" and "epsilon-insensitive" need ``inference="ep"``: see Notes.
    solver : {"newton", "smo", "auto"}
        What finds the mode: semismooth Newton, the native working-set solver, or the one that suits the size of the data (the
        choice is logged). All find the same mode.
    inference : {"laplace", "ep"}
        Laplace's method (the thesis') or expectation propagation (closer, and slower; also for losses with kinks), for the
        evidence and for predictions.
    calibrate : {None, "auto", "loo"}
        Correction of the predictive scale (standard deviations with noise, intervals, densities) by one number fitted to
        leave-one-out predictions of the training rows: none, as far as the data justify it, or in full.
    beta : float or "auto"
        Half-width of the transition between flat top and tail, in units of :math:`\epsilon`, for the likelihoods by name
        that have one. "auto": 0.3 below 2000 training rows, 0.1 up to 4000, 0.05 above (Thesis section 4.3.3); a small beta
        means fewer rows with curvature and a faster fit.
    fix_variance : bool
        Whether the default kernel's variance :math:`\kappa_0` is fixed at the variance of the targets, as in the thesis, or
        learnt. A given kernel is taken as it is.
    share_hyperparameters : bool
        With several outputs: whether one set of hyperparameters (on standardised targets) serves them all; a likelihood
        object is then read in units of standardised targets.
    optimizer : {"lbfgs", None}
        Quasi-Newton ascent of the evidence from several starts, or None to keep the given hyperparameters.
    n_starts : int
        Number of starts; the first six are deterministic, further ones are drawn with ``random_state``.
    hyperprior : Hyperprior, optional
        Density of the logarithms of the hyperparameters (on standardised data); flat if None.
    standardize : bool
        Whether features and targets are brought to zero mean and unit variance inside.
    n_jobs : int, optional
        Starts, or outputs, that are fitted at the same time.
    random_state : int, Generator or RandomState, optional
        Seed of the starts beyond the deterministic ones.
    tol : float
        Predicted gain in evidence per hyperparameter, in nats, at which a climb has converged; half a nat each is the size
        of what the data leave open.
    max_iter : int
        Largest number of evaluations of the evidence per start.
    verbose : int
        1 shows a progress bar on a terminal.

    Attributes
    ----------
    kernel_, likelihood_ : Kernel, likelihood (a list, one per output, with several outputs)
        With their learnt parameters; both in the user's units.
    log_evidence_ : float
        Log evidence of the targets as they were given, summed over the outputs.
    noise_std_ : float (an array with a matrix of targets)
        Standard deviation of the noise, from Thesis (2.33).
    outlier_score_ : array of the shape of y
        For every training row :math:`-\ln P(|\delta| \ge |y - f|)` under the noise model: exponential with mean one for
        regular rows, large for outliers. :meth:`outlier_score` gives it for new data.
    loo_log_likelihood_ : float
        Log density of the training targets, each predicted without itself (hyperparameters kept, calibration included).
    calibration_ : list of ScaleCalibration
        Per output: ``scale`` of the predictive deviations, ``gain`` in nats, and the ``weight`` with which it was applied.
    support_, support_vectors_, dual_coef_ : arrays
        Rows with a coefficient that is not zero, those rows of X, and the coefficients, one row per output.
    relevance_, named_relevance_ : array of shape (d,) or None, dict or None
        With ARD, :math:`\kappa_l = 1/\ell_l^2` per standardised feature (averaged over the outputs), by position and by name.
    relevance_per_output_ : array of shape (n_outputs, d) or None
        The same, per output.
    candidates_ : list of (str, float)
        With ``kernel="auto"``: the kernels tried and their log evidences.
    n_features_in_, feature_names_in_ : int, array
        As in scikit-learn.
    converged_, n_iter_, history_, theta_names_ : bool, int, records, names
        Whether all climbs ended well; evaluations spent; one record per start; names of the entries of theta.

    Notes
    -----
    The mode is found by semismooth Newton steps on three groups of rows: inside the flat zone (no support vectors), in the
    transition zones (off-bound, the only ones with curvature, which alone enter the factorisation and the variance), and in
    the tails (on-bound, :math:`|\alpha_i| = C`, which enter the mean only).

    The evidence is a sawtooth along the hyperparameters, because rows enter and leave the transition zones; it is climbed
    on its smooth companion first and, with few rows, on that of Huber's loss before (see :mod:`bayesvm.hyper.settle`).

    *Losses with kinks* ("laplace", "epsilon-insensitive") have no curvature to expand at the mode: Laplace's method does
    not apply, but expectation propagation does. The soft insensitive loss with a small beta is as close to the
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

    def __init__(
        self,
        kernel: Any = None,
        *,
        ard: bool = False,
        likelihood: Any = "soft-insensitive",
        inference: str = "laplace",
        solver: str = "newton",
        calibrate: str | None = None,
        beta: Any = "auto",
        fix_variance: bool = True,
        share_hyperparameters: bool = False,
        optimizer: str | None = "lbfgs",
        n_starts: int = 4,
        hyperprior: Any = None,
        standardize: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
        tol: float = 1e-2,
        max_iter: int = 500,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.ard = ard
        self.likelihood = likelihood
        self.inference = inference
        self.solver = solver
        self.calibrate = calibrate
        self.beta = beta
        self.fix_variance = fix_variance
        self.share_hyperparameters = share_hyperparameters
        self.optimizer = optimizer
        self.n_starts = n_starts
        self.hyperprior = hyperprior
        self.standardize = standardize
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    def _solver(self) -> Solver:
        return solvers.from_name(self.solver)

    def _likelihood(self) -> Regression:
        likelihood = from_name(self.likelihood) if isinstance(self.likelihood, str) else self.likelihood
        if not isinstance(likelihood, Regression):
            raise ValueError(
                "likelihood: expected 'soft-insensitive', 'smooth-insensitive', 'huber', 'gaussian-noise' or an object for "
                f"real targets, found {self.likelihood!r}"
            )
        if likelihood.traits.smoothness < 1 and self.inference == "laplace":
            raise IncompatibleError(
                f"likelihood {self.likelihood!r}: its loss has kinks, where Laplace's method finds no curvature to expand; "
                "use inference='ep', or 'soft-insensitive' (a small beta brings it close to 'epsilon-insensitive', a small "
                "epsilon to 'laplace'), 'smooth-insensitive' or 'huber'"
            )
        self._check_beta(likelihood)
        return likelihood

    def _check_beta(self, likelihood: Regression) -> None:
        if isinstance(self.beta, str) and self.beta == "auto":
            return
        if isinstance(self.beta, str) or not isinstance(self.beta, numbers.Real):
            raise ValueError(f"beta: expected 'auto' or a number in (0, 1], found {self.beta!r}")
        if not isinstance(self.likelihood, str) or not _has_beta(likelihood):
            raise ValueError(
                f"beta: expected 'auto', since it applies to likelihoods by name that have a beta, found {self.beta!r} "
                f"with likelihood {self.likelihood!r}"
            )
        check_beta(type(self).__name__, float(self.beta))

    def _sized(self, likelihood: Regression, n: int) -> Regression:
        if not isinstance(self.likelihood, str):
            return likelihood
        if isinstance(likelihood, TransitionLoss):
            likelihood = likelihood.bounded(C=C_BOUNDS, epsilon=EPSILON_BOUNDS)
        if not _has_beta(likelihood):
            return likelihood
        automatic = 0.3 if n < 2000 else 0.1 if n <= 4000 else 0.05
        changes: dict[str, Any] = {"beta": automatic if self.beta == "auto" else float(self.beta)}
        return dataclasses.replace(likelihood, **changes)

    def _default_kernel(self, y: Vector) -> Kernel:
        if not self.fix_variance:
            return Gaussian() + Constant()
        variance = 1.0 if self.standardize else float(np.mean(np.var(y, axis=0))) or 1.0
        return Gaussian(variance).fix("variance") + Constant()


def _has_beta(likelihood: Regression) -> bool:
    return any(field.name == "beta" for field in dataclasses.fields(likelihood))


__all__ = ["BayesianSVR"]
