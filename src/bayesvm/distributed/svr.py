"""The Bayesian support vector regressor over blocks of rows."""

from __future__ import annotations

import dataclasses
from typing import Any, Self

import numpy as np

from bayesvm.distributed._estimator import Distributed
from bayesvm.distributed.committee_calibration import temper_scale
from bayesvm.distributed.dask_predict import lazily
from bayesvm.distributed.engine import open_engine
from bayesvm.distributed.ensemble import Ensemble
from bayesvm.distributed.progress import Progress
from bayesvm.distributed.targets import Reals, given_weights
from bayesvm.estimators import bayesian_svr
from bayesvm.estimators._targets import TargetScale
from bayesvm.kernels import Constant, Gaussian, Kernel
from bayesvm.likelihoods import Regression
from bayesvm.typing import Matrix


class BayesianSVR(Distributed, bayesian_svr.BayesianSVR):
    r"""Support vector regression that tunes itself, for data beyond one machine.

    As :class:`bayesvm.distributed.BayesianSVC`: blocks of rows that share their hyperparameters, and a committee of one machine per
    block, whose variance is calibrated on rows that are predicted without themselves and returns to the prior far from all data.

    Parameters
    ----------
    kernel, ard, likelihood, inference, solver, calibrate, beta, fix_variance, share_hyperparameters, optimizer, n_starts
        As in :class:`bayesvm.BayesianSVR`; ``beta="auto"`` goes by the size of a block.
    hyperprior, standardize, random_state, tol, max_iter
        As in :class:`bayesvm.BayesianSVR`; ``tol`` is per hyperparameter and eight blocks.
    n_jobs, verbose, block_size, partition, committee, client, checkpoint
        As in :class:`bayesvm.distributed.BayesianSVC`.

    Attributes
    ----------
    n_blocks_, n_rows_, temper_, held_out_rows_
        As in :class:`bayesvm.distributed.BayesianSVC`.
    loo_log_likelihood_ : float
        Log density of the training targets, each predicted without itself: estimated from the held-out rows.
    kernel_, likelihood_, log_evidence_, noise_std_, relevance_, calibration_, converged_, n_iter_, history_, theta_names_
        As in :class:`bayesvm.BayesianSVR`.

    Notes
    -----
    Inputs are dense. With one block the estimator equals :class:`bayesvm.BayesianSVR`. Attributes that name training rows
    (``support_``, ``outlier_score_``) do not exist: rows have no numbers here.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesvm.distributed import BayesianSVR
    >>> X = np.linspace(-3.0, 3.0, 120)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(120)
    >>> mean, std = BayesianSVR(block_size=60).fit(X, y).predict(X[:2], return_std=True)
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
        block_size: int = 1000,
        partition: str = "random",
        committee: str = "rbcm",
        client: Any = None,
        checkpoint: Any = None,
    ) -> None:
        super().__init__(
            kernel,
            ard=ard,
            likelihood=likelihood,
            inference=inference,
            solver=solver,
            calibrate=calibrate,
            beta=beta,
            fix_variance=fix_variance,
            share_hyperparameters=share_hyperparameters,
            optimizer=optimizer,
            n_starts=n_starts,
            hyperprior=hyperprior,
            standardize=standardize,
            n_jobs=n_jobs,
            random_state=random_state,
            tol=tol,
            max_iter=max_iter,
            verbose=verbose,
        )
        self.block_size = block_size
        self.partition = partition
        self.committee = committee
        self.client = client
        self.checkpoint = checkpoint

    # -- fitting ------------------------------------------------------------------------------------------------------
    def fit(self, X: Any, y: Any, sample_weight: Any = None, resume: Any = None) -> Self:
        """Learn hyperparameters and a committee from the training data.

        Parameters
        ----------
        X : array, DataFrame, Dask array, Dask dataframe or path of a directory of Parquet files
            Inputs, shape (n, d), dense.
        y : array, Dask array or series, or name of a column of the Parquet files
            Targets, shape (n,) or (n, n_outputs).
        sample_weight : like y, optional
            Non-negative weights; rows of weight zero are left out.
        resume : path, optional
            Checkpoint of an interrupted fit of the same estimator to the same data.

        Returns
        -------
        self : the estimator
        """
        self._check_arguments()
        likelihood = self._likelihood()
        with (
            open_engine(self.client, self.n_jobs) as engine,
            Progress(type(self).__name__, bool(self.verbose)) as progress,
        ):
            checks = {"multi_output": True, "y_numeric": True, "ensure_min_samples": 2}
            source = self._opened(engine, X, y, sample_weight, **checks)
            self._single = isinstance(y, str) or (y.ndim if hasattr(y, "ndim") else np.asarray(y).ndim) == 1
            summary = self._surveyed(engine, source, given_weights, labels=False)
            assert summary.targets is not None
            m = summary.targets.mean.size
            self._targets = summary.target_scale() if self.standardize else TargetScale.identity(m)
            self._spread = 1.0 if self.standardize else float(np.sqrt(np.mean(summary.targets.var))) or 1.0
            self._weight = summary.targets.total
            plan = self._plan(Reals(self._targets).targets, given_weights)
            blocks, self._run = self._begin(engine, progress, source, summary, plan, resume)
            machines = self._fit_outputs(blocks, self._sized(likelihood, len(blocks)), m)
            machines = self._assembled(self._run, blocks, machines, None)
            self._finish(machines, None, np.arange(0))
            self._report(None, np.zeros((0, m)), self._weight)
            del self.dual_coef_
            self.calibration_, held_out = self._tempered(temper_scale)
            self.loo_log_likelihood_ = held_out + self._log_jacobian
            self._closed()
        return self

    def _fit_outputs(self, blocks: Any, likelihood: Regression, m: int) -> list[Ensemble]:
        """Return one machine per output, without members; all with one theta if they share it."""
        maximizer: Any = self._maximizer()
        if not self._shares:
            return [self._fit_machine(blocks, k, self._in_scale(likelihood, k), maximizer) for k in range(m)]
        joint: Any = self._fit_machine(blocks, None, likelihood.rescaled(self._spread), maximizer)
        own = [dataclasses.replace(joint.objective, y=k) for k in range(m)]
        machines = [self._kept(objective, joint.theta) for objective in own]
        machines[0] = dataclasses.replace(machines[0], maximum=joint.maximum)
        return [dataclasses.replace(machine, candidates=joint.candidates) for machine in machines]

    def _default_kernel(self, y: Any) -> Kernel:
        if not self.fix_variance:
            return Gaussian() + Constant()
        return Gaussian(self._spread**2).fix("variance") + Constant()

    def _score_outliers(self, X: Any, Y: Matrix) -> None:
        """Training rows have no numbers here; :meth:`outlier_score` takes any rows."""

    # -- prediction ---------------------------------------------------------------------------------------------------
    predict = lazily(bayesian_svr.BayesianSVR.predict)
    predict_interval = lazily(bayesian_svr.BayesianSVR.predict_interval)


__all__ = ["BayesianSVR"]
