"""The Bayesian support vector regressor for rows that are elsewhere: on a cluster, or in files."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from bayesvm.distributed import _estimator as common
from bayesvm.distributed.dask_predict import lazily
from bayesvm.distributed.engine import open_engine
from bayesvm.distributed.process import DistributedData, DistributedProcess
from bayesvm.distributed.progress import Progress
from bayesvm.distributed.row_maps import TargetMap, given_weights
from bayesvm.estimators import _attributes as attributes
from bayesvm.estimators._numbers import check_sizes_of_targets
from bayesvm.estimators._regressor import BayesianRegressor, write_regression
from bayesvm.estimators.bayesian_svr import BayesianSVR
from bayesvm.models.scaling import TargetScale
from bayesvm.typing import Indices

#: Rows that a sample of targets must hold.
NONE_IN_PARTICULAR: Indices = np.empty(0, dtype=np.intp)


class DistributedSVR(common.ClusterEstimator, BayesianRegressor):
    r"""Support vector regression that tunes itself, for data beyond one computer or beyond its memory.

    As :class:`bayesvm.distributed.DistributedSVC`: :class:`bayesvm.BayesianSVR` with inducing inputs, whose evidence is
    computed where the rows are.

    Parameters
    ----------
    kernel, ard, likelihood, calibrate, beta, share_hyperparameters, optimizer, n_starts, hyperprior, standardize,
    random_state, evidence_tol, max_evaluations, warm_start
        As in :class:`bayesvm.BayesianSVR`; ``beta="auto"`` goes by the size of the sample.
    inducing, n_jobs, verbose, block_size, sample_size, client, checkpoint
        As in :class:`bayesvm.distributed.DistributedSVC`.

    Attributes
    ----------
    n_rows_, n_sampled_, n_blocks_, models_, basis_, n_basis_
        As in :class:`bayesvm.distributed.DistributedSVC`.
    loo_log_likelihood_ : float
        Log density of the training targets, each predicted without itself: estimated from the sample.
    inducing_inputs_, log_evidence_bounds_, approximation_gap_, kernels_, likelihoods_, log_evidence_, noise_std_,
    relevance_, calibration_, converged_, n_iter_, history_, theta_names_
        As in :class:`bayesvm.BayesianSVR`; the evidence is that of all rows.

    Notes
    -----
    Inputs are dense, and inference is Laplace's (exact for Gaussian noise). :meth:`leave_one_out` is about the rows of
    the sample; :meth:`outlier_score` takes any rows.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesvm.distributed import DistributedSVR
    >>> X = np.linspace(-3.0, 3.0, 120)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(120)
    >>> machine = DistributedSVR("rbf", inducing=20, block_size=60).fit(X, y)
    >>> mean, std = machine.predict(X[:2], return_std=True)
    >>> mean.shape, std.shape
    ((2,), (2,))
    """

    def __init__(
        self,
        kernel: Any = "auto",
        *,
        ard: bool = False,
        likelihood: Any = "auto",
        inducing: Any = "auto",
        warm_start: bool = False,
        calibrate: str | None = None,
        beta: Any = "auto",
        share_hyperparameters: bool = False,
        optimizer: str | None = "bfgs",
        n_starts: int = 4,
        hyperprior: Any = None,
        standardize: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
        evidence_tol: float = 1e-2,
        max_evaluations: int = 500,
        verbose: int = 0,
        block_size: int = 10000,
        sample_size: int = 10000,
        client: Any = None,
        checkpoint: Any = None,
    ) -> None:
        self.kernel = kernel
        self.ard = ard
        self.likelihood = likelihood
        self.inducing = inducing
        self.warm_start = warm_start
        self.calibrate = calibrate
        self.beta = beta
        self.share_hyperparameters = share_hyperparameters
        self.optimizer = optimizer
        self.n_starts = n_starts
        self.hyperprior = hyperprior
        self.standardize = standardize
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.evidence_tol = evidence_tol
        self.max_evaluations = max_evaluations
        self.verbose = verbose
        self.block_size = block_size
        self.sample_size = sample_size
        self.client = client
        self.checkpoint = checkpoint

    def _spec(self, data: Any) -> DistributedProcess:
        return common.process(self, BayesianSVR, data)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, resume: Any = None) -> Self:
        """Learn hyperparameters and latent functions from the training data.

        Parameters
        ----------
        X, sample_weight, resume
            As in :meth:`bayesvm.distributed.DistributedSVC.fit`.
        y : array, Dask array or series, or name of a column of the Parquet files
            Targets, shape (n,) or (n, n_outputs).

        Returns
        -------
        self : the estimator
        """
        common.check(self, BayesianSVR)
        fitted = attributes.twin(self)
        with open_engine(self.client, self.n_jobs) as engine, Progress(self) as progress:
            checks = {"multi_output": True, "y_numeric": True, "ensure_min_samples": 2}
            blocks = common.read_blocks(fitted, engine, X, y, sample_weight, labels=False, **checks)
            summary = common.summarize(engine, blocks, given_weights, labels=False)
            assert summary.targets is not None
            rows = TargetMap(summary.target_scale())
            if not self.standardize:
                check_sizes_of_targets(summary.targets.size[None], raw=True)
                spread = float(np.sqrt(np.mean(summary.targets.var))) or 1.0
                rows = TargetMap(TargetScale.identity(summary.targets.var.size), spread)
            parts = (fitted, engine, progress, blocks, summary, rows, resume)
            data = common.in_suited_units(self, common.sample_rows(*parts, represented=NONE_IN_PARTICULAR))
            models = common.fit_models(self._spec, data)
            fitted._standardizer, fitted._targets = data.standardizer, rows.units
            fitted._single = isinstance(y, str) or (y.ndim if hasattr(y, "ndim") else np.asarray(y).ndim) == 1
            attributes.write_attributes(fitted, models, None, None, fitted._standardizer, rows.units)
            write_regression(fitted, summary.inputs.total)
            write_leave_one_out(fitted, data, summary.inputs.total)
            common.leave_cluster(fitted)
        attributes.adopt(self, fitted)
        attributes.warn_if_not_converged(self)
        return self

    predict = lazily(BayesianRegressor.predict)
    predict_interval = lazily(BayesianRegressor.predict_interval)


def write_leave_one_out(fitted: Any, data: DistributedData, total: float) -> None:
    """Set the leave-one-out log likelihood as the sample tells it; ``total`` weighs all rows."""
    own = sum(model.loo_log_density(data.counts) for model in fitted.models_)
    fitted.loo_log_likelihood_ = fitted._log_jacobian + own * total / float(data.counts.sum())


__all__ = ["DistributedSVR"]
