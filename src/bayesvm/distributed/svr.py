"""The Bayesian support vector regressor over blocks of rows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from bayesvm.distributed import _estimator as common
from bayesvm.distributed.dask_predict import lazily
from bayesvm.distributed.engine import open_engine
from bayesvm.distributed.process import fit_committees
from bayesvm.distributed.progress import Progress
from bayesvm.distributed.row_maps import TargetMap, given_weights
from bayesvm.estimators import _attributes as attributes
from bayesvm.estimators._regressor import BayesianRegressor, write_regression
from bayesvm.estimators.bayesian_svr import BayesianSVR
from bayesvm.inference import Inference
from bayesvm.models import GaussianProcess, TrainingData
from bayesvm.models.scaling import TargetScale
from bayesvm.solvers import Solver


class DistributedSVR(common.ClusterEstimator, BayesianRegressor):
    r"""Support vector regression that tunes itself, for data beyond one computer.

    As :class:`bayesvm.distributed.DistributedSVC`: blocks of rows that share their hyperparameters, and a committee of
    the posteriors of all blocks, whose variance is calibrated on rows that are predicted without themselves and
    returns to the prior far from all data.

    Parameters
    ----------
    kernel, ard, likelihood, inference, solver, calibrate, beta, fix_variance, share_hyperparameters, optimizer
        As in :class:`bayesvm.BayesianSVR`; ``beta="auto"`` goes by the size of a block.
    n_starts, hyperprior, standardize, random_state, evidence_tol, max_evaluations
        As in :class:`bayesvm.BayesianSVR`; ``evidence_tol`` is per hyperparameter and eight blocks.
    n_jobs, verbose, block_size, partition, committee, client, checkpoint
        As in :class:`bayesvm.distributed.DistributedSVC`.

    Attributes
    ----------
    n_blocks_, n_rows_, temper_, held_out_rows_, models_, history_
        As in :class:`bayesvm.distributed.DistributedSVC`.
    loo_log_likelihood_ : float
        Log density of the training targets, each predicted without itself: estimated from the held-out rows.
    kernels_, likelihoods_, log_evidence_, noise_std_, relevance_, calibration_, converged_, n_iter_, theta_names_
        As in :class:`bayesvm.BayesianSVR`.

    Notes
    -----
    Inputs are dense. With one block the estimator equals :class:`bayesvm.BayesianSVR`. Attributes that name training
    rows (``support_``, ``outlier_score_``) do not exist: rows have no numbers here; :meth:`outlier_score` takes any
    rows. There are no joint posterior draws (``sample``): a committee combines predictions point by point.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesvm.distributed import DistributedSVR
    >>> X = np.linspace(-3.0, 3.0, 120)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(120)
    >>> mean, std = DistributedSVR(block_size=60).fit(X, y).predict(X[:2], return_std=True)
    >>> mean.shape, std.shape
    ((2,), (2,))
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        ard: bool = False,
        likelihood: Any = "soft-insensitive",
        inference: str | Inference = "laplace",
        solver: str | Solver = "newton",
        calibrate: str | None = None,
        beta: Any = "auto",
        fix_variance: bool = True,
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
        block_size: int = 1000,
        partition: str = "random",
        committee: str = "rbcm",
        client: Any = None,
        checkpoint: Any = None,
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
        self.evidence_tol = evidence_tol
        self.max_evaluations = max_evaluations
        self.verbose = verbose
        self.block_size = block_size
        self.partition = partition
        self.committee = committee
        self.client = client
        self.checkpoint = checkpoint

    def _spec(self, data: TrainingData) -> GaussianProcess:
        return common.plain_estimator(self, BayesianSVR)._spec(data)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, resume: Any = None) -> Self:
        """Learn hyperparameters and a committee from the training data.

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
            source = common.read_rows(fitted, engine, X, y, sample_weight, **checks)
            summary = common.summarize(engine, source, given_weights, labels=False)
            assert summary.targets is not None
            rows = TargetMap(summary.target_scale())
            if not self.standardize:
                spread = float(np.sqrt(np.mean(summary.targets.var))) or 1.0
                rows = TargetMap(TargetScale.identity(summary.targets.var.size), spread)
            data = common.deal_blocks(fitted, engine, progress, source, summary, rows, resume)
            models = fit_committees(self._spec, data, self.committee)
            fitted._targets = rows.units
            fitted._single = isinstance(y, str) or (y.ndim if hasattr(y, "ndim") else np.asarray(y).ndim) == 1
            attributes.write_attributes(fitted, models, None, np.arange(0), fitted._standardizer, rows.units)
            write_regression(fitted, data.total)
            fitted.loo_log_likelihood_ += fitted._log_jacobian
            common.leave_cluster(fitted)
        attributes.adopt(self, fitted)
        attributes.warn_if_not_converged(self)
        return self

    predict = lazily(BayesianRegressor.predict)
    predict_interval = lazily(BayesianRegressor.predict_interval)


__all__ = ["DistributedSVR"]
