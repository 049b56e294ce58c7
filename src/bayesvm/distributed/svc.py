"""The Bayesian support vector classifier over blocks of rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from bayesvm.distributed._estimator import Distributed
from bayesvm.distributed.column_stats import count_labels, merged_counts
from bayesvm.distributed.committee_calibration import temper_odds
from bayesvm.distributed.dask_predict import lazily
from bayesvm.distributed.engine import Engine, open_engine
from bayesvm.distributed.progress import Progress
from bayesvm.distributed.source import Source
from bayesvm.distributed.targets import Labels
from bayesvm.estimators import bayesian_svc
from bayesvm.inference import EP, PREDICTIVE_EP
from bayesvm.typing import Vector


class BayesianSVC(Distributed, bayesian_svc.BayesianSVC):
    r"""Support vector classifier that tunes itself, for data beyond one machine.

    Rows are split into blocks. All blocks share the hyperparameters, which maximise the sum of the block evidences; value and
    gradient are computed where the blocks live. Each block keeps a machine of its own, and predictions are
    those of a committee of all machines, calibrated on rows that are predicted without themselves. Fitting time grows in
    proportion to the number of rows.

    Parameters
    ----------
    kernel, ard, likelihood, inference, solver, posterior, calibrate, optimizer, n_starts, hyperprior, standardize
        As in :class:`bayesvm.BayesianSVC`.
    class_weight, class_prior, random_state, tol, max_iter
        As in :class:`bayesvm.BayesianSVC`; ``tol`` is per hyperparameter and eight blocks.
    n_jobs : int, optional
        Threads that work on blocks when there is no cluster.
    verbose : int
        1 shows a progress bar on a terminal.
    block_size : int
        Largest number of rows per block. Time is proportional to its square, memory of a worker to its square too; accuracy
        grows with it.
    partition : {"random", "clustered"}
        Whether blocks are samples of all rows, or hold neighbours.
    committee : {"rbcm", "gpoe"}
        Robust Bayesian committee machine (tempered), or generalised product of experts; see :mod:`bayesvm.distributed.committee`.
    client : distributed.Client, int or None
        Where to work: a Dask cluster; a cluster of so many workers on this machine, started and closed by ``fit``; or None: the
        current Dask client if there is one, otherwise threads of this process.
    checkpoint : path, optional
        Where to write down every evaluation, so that ``fit(..., resume=checkpoint)`` can go on after an interruption.

    Attributes
    ----------
    n_blocks_, n_rows_ : int
        Number of blocks, and of rows of positive weight.
    temper_ : array
        Temper of the committee, one number per machine.
    held_out_rows_ : int
        Number of rows on which the committee was calibrated.
    loo_log_likelihood_ : float
        Log likelihood of the training labels, each predicted without itself: estimated from the held-out rows.
    kernel_, likelihood_, log_evidence_, relevance_, calibration_, classes_, converged_, n_iter_, history_, theta_names_
        As in :class:`bayesvm.BayesianSVC`. With many blocks all records of ``history_`` but the last are of climbs on a part
        of the blocks.

    Notes
    -----
    Inputs are dense. With one block the estimator equals :class:`bayesvm.BayesianSVC`. Attributes that name training rows
    (``support_``, ``loo_proba_``) do not exist: rows have no numbers here.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from bayesvm.distributed import BayesianSVC
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> BayesianSVC(block_size=100).fit(X, y).n_blocks_
    2
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        ard: bool = False,
        likelihood: Any = "trigonometric",
        inference: str = "laplace",
        solver: str = "newton",
        posterior: str = "ep",
        calibrate: str | None = "auto",
        optimizer: str | None = "lbfgs",
        n_starts: int = 4,
        hyperprior: Any = None,
        standardize: bool = True,
        class_weight: Any = None,
        class_prior: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        tol: float = 3e-3,
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
            posterior=posterior,
            calibrate=calibrate,
            optimizer=optimizer,
            n_starts=n_starts,
            hyperprior=hyperprior,
            standardize=standardize,
            class_weight=class_weight,
            class_prior=class_prior,
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
            Labels of two or more classes.
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
            source = self._opened(engine, X, y, sample_weight, ensure_min_samples=2)
            labels = self._counted(engine, source, y)
            summary = self._surveyed(engine, source, labels.weights, labels=True)
            plan = self._plan(labels.targets, labels.weights)
            blocks, self._run = self._begin(engine, progress, source, summary, plan, resume)
            self._weight = summary.inputs.total
            n_machines = labels.classes.size if labels.classes.size > 2 else 1
            maximizer = self._maximizer()
            machines: Any = [self._fit_machine(blocks, k, likelihood, maximizer) for k in range(n_machines)]
            machines = self._assembled(self._run, blocks, machines, self._method())
            self._finish(machines, None, np.arange(0))
            del self.dual_coef_
            self.calibration_, self.loo_log_likelihood_ = self._tempered(temper_odds)
            self._closed()
        return self

    def _method(self) -> EP | None:
        return PREDICTIVE_EP if self.posterior == "ep" and not isinstance(self._inference(), EP) else None

    def _counted(self, engine: Engine, source: Source, y: Any) -> Labels:
        """Set the classes and their frequencies, and return the map of labels."""
        parts = [engine.submit(count_labels, part, i, name="labels") for i, part in enumerate(source.parts)]
        counts = merged_counts(engine.gather(parts))
        found = np.array(list(counts))
        check_classification_targets(found)
        self.classes_ = np.unique(found)
        if isinstance(y, np.ndarray):
            self.classes_ = self.classes_.astype(y.dtype)
        if self.classes_.size < 2:
            raise ValueError(f"y: expected at least two classes, found one class, {self.classes_.tolist()[0]!r}")
        plain, heavy = np.array([counts[label] for label in self.classes_.tolist()]).T
        factors = self._factors(plain)
        weighted = heavy if factors is None else heavy * factors
        if np.any(weighted == 0.0):
            missing = self.classes_[weighted == 0.0]
            raise ValueError(
                f"weights: expected a positive weight in every class, found none in class {missing.tolist()[0]!r}"
            )
        self._log_prior = np.log(weighted / weighted.sum())
        self._log_empirical = np.log(heavy / heavy.sum())
        return Labels(self.classes_, factors)

    def _factors(self, counts: Vector) -> Vector | None:
        """Return the weights of the classes."""
        if self.class_weight is None:
            return None
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            return np.asarray(counts.sum() / (counts.size * counts))
        if not isinstance(self.class_weight, Mapping):
            raise ValueError(f"class_weight: expected None, 'balanced' or a mapping, found {self.class_weight!r}")
        return np.array([float(self.class_weight.get(label, 1.0)) for label in self.classes_.tolist()])

    # -- prediction ---------------------------------------------------------------------------------------------------
    predict = lazily(bayesian_svc.BayesianSVC.predict)
    predict_proba = lazily(bayesian_svc.BayesianSVC.predict_proba)
    predict_log_proba = lazily(bayesian_svc.BayesianSVC.predict_log_proba)
    predict_latent = lazily(bayesian_svc.BayesianSVC.predict_latent)
    decision_function = lazily(bayesian_svc.BayesianSVC.decision_function)


__all__ = ["BayesianSVC"]
