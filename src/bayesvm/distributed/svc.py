"""The Bayesian support vector classifier over blocks of rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from bayesvm.distributed import _estimator as common
from bayesvm.distributed.column_stats import count_labels, merged_counts
from bayesvm.distributed.dask_predict import lazily
from bayesvm.distributed.engine import Engine, open_engine
from bayesvm.distributed.process import fit_committees
from bayesvm.distributed.progress import Progress
from bayesvm.distributed.row_maps import LabelMap
from bayesvm.distributed.source import Source
from bayesvm.estimators import _attributes as attributes
from bayesvm.estimators._classifier import BayesianClassifier, ClassFrequencies
from bayesvm.estimators.bayesian_svc import BayesianSVC
from bayesvm.inference import Inference
from bayesvm.models import GaussianProcess, TrainingData
from bayesvm.models.scaling import TargetScale
from bayesvm.solvers import Solver
from bayesvm.typing import Vector


class DistributedSVC(common.ClusterEstimator, BayesianClassifier):
    r"""Support vector classifier that tunes itself, for data beyond one computer.

    Rows are split into blocks. All blocks share the hyperparameters, which maximise the sum of the block evidences;
    value and gradient are computed where the blocks live. Each block keeps posteriors of its own, and predictions are
    those of a committee of all blocks, calibrated on rows that are predicted without themselves. Fitting time grows in
    proportion to the number of rows.

    Parameters
    ----------
    kernel, ard, likelihood, inference, solver, posterior, calibrate, optimizer, n_starts, hyperprior, standardize
        As in :class:`bayesvm.BayesianSVC`.
    class_weight, class_prior, random_state, evidence_tol, max_evaluations
        As in :class:`bayesvm.BayesianSVC`; ``evidence_tol`` is per hyperparameter and eight blocks.
    n_jobs : int, optional
        Threads that work on blocks when there is no cluster.
    verbose : int
        1 shows a progress bar on a terminal.
    block_size : int
        Largest number of rows per block. Time per row, and memory of a worker, grow with its square; accuracy grows
        with it too.
    partition : {"random", "clustered"}
        Whether blocks are samples of all rows, or hold neighbours.
    committee : {"rbcm", "gpoe"}
        Robust Bayesian committee machine (tempered), or generalised product of experts; see
        :mod:`bayesvm.distributed.committee`.
    client : distributed.Client, int or None
        Where to work: a Dask cluster; a cluster of so many workers on this computer, started and closed by ``fit``; or
        None: the current Dask client if there is one, otherwise threads of this process.
    checkpoint : path, optional
        Where to write down every evaluation, so that ``fit(..., resume=checkpoint)`` can go on after an interruption.

    Attributes
    ----------
    n_blocks_, n_rows_ : int
        Number of blocks, and of rows of positive weight.
    temper_ : array
        Temper of the committee, one number per output.
    held_out_rows_ : int
        Number of rows on which the committee was calibrated.
    loo_log_likelihood_ : float
        Log likelihood of the training labels, each predicted without itself: estimated from the held-out rows.
    models_ : tuple of CommitteeModel
        The fitted models, one per set of hyperparameters.
    kernels_, likelihoods_, log_evidence_, relevance_, calibration_, classes_, converged_, n_iter_, theta_names_
        As in :class:`bayesvm.BayesianSVC`.
    history_ : tuple of records
        As in :class:`bayesvm.BayesianSVC`. With many blocks all records of a model but the last are of searches on a
        part of the blocks.

    Notes
    -----
    Inputs are dense. With one block the estimator equals :class:`bayesvm.BayesianSVC`. Attributes that name training
    rows (``support_``, ``loo_proba_``) do not exist: rows have no numbers here. There are no joint posterior draws
    (``sample``): a committee combines predictions point by point.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from bayesvm.distributed import DistributedSVC
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> DistributedSVC(block_size=100).fit(X, y).n_blocks_
    2
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        ard: bool = False,
        likelihood: Any = "trigonometric",
        inference: str | Inference = "laplace",
        solver: str | Solver = "newton",
        posterior: str = "ep",
        calibrate: str | None = "auto",
        optimizer: str | None = "bfgs",
        n_starts: int = 4,
        hyperprior: Any = None,
        standardize: bool = True,
        class_weight: Any = None,
        class_prior: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        evidence_tol: float = 3e-3,
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
        self.posterior = posterior
        self.calibrate = calibrate
        self.optimizer = optimizer
        self.n_starts = n_starts
        self.hyperprior = hyperprior
        self.standardize = standardize
        self.class_weight = class_weight
        self.class_prior = class_prior
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
        return common.plain_estimator(self, BayesianSVC)._spec(data)

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
        common.check(self, BayesianSVC)
        fitted = attributes.twin(self)
        with open_engine(self.client, self.n_jobs) as engine, Progress(self) as progress:
            source = common.read_rows(fitted, engine, X, y, sample_weight, ensure_min_samples=2)
            labels = read_labels(fitted, engine, source, y)
            summary = common.summarize(engine, source, labels.weights, labels=True)
            data = common.deal_blocks(fitted, engine, progress, source, summary, labels, resume)
            models = fit_committees(self._spec, data, self.committee)
            attributes.write_attributes(fitted, models, None, np.arange(0), fitted._standardizer)
            fitted.calibration_ = tuple(c for model in models for c in model.calibrations)
            common.leave_cluster(fitted)
        attributes.adopt(self, fitted)
        attributes.warn_if_not_converged(self)
        return self

    predict = lazily(BayesianClassifier.predict)
    predict_proba = lazily(BayesianClassifier.predict_proba)
    predict_log_proba = lazily(BayesianClassifier.predict_log_proba)
    predict_latent = lazily(BayesianClassifier.predict_latent)
    decision_function = lazily(BayesianClassifier.decision_function)


def read_labels(fitted: Any, engine: Engine, source: Source, y: Any) -> LabelMap:
    """Set the classes and their frequencies, and return the map of labels."""
    parts = [engine.submit(count_labels, part, i, name="labels") for i, part in enumerate(source.parts)]
    counts = merged_counts(engine.gather(parts))
    found = np.array(list(counts))
    check_classification_targets(found)
    classes = np.unique(found)
    fitted.classes_ = classes.astype(y.dtype) if isinstance(y, np.ndarray) else classes
    if classes.size < 2:
        raise ValueError(f"y: expected at least two classes, found one class, {classes.tolist()[0]!r}")
    rows, plain = np.array([counts[label] for label in classes.tolist()]).T
    factors = class_factors(fitted.class_weight, fitted.classes_, rows)
    weighted = plain if factors is None else plain * factors
    if np.any(weighted == 0.0):
        missing = classes[weighted == 0.0].tolist()[0]
        raise ValueError(f"weights: expected a positive weight in every class, found none in class {missing!r}")
    fitted._frequencies = ClassFrequencies(np.log(weighted / weighted.sum()), np.log(plain / plain.sum()))
    fitted._frequencies.shift(fitted.class_prior)
    n_outputs = classes.size if classes.size > 2 else 1
    return LabelMap(TargetScale.identity(n_outputs), classes=fitted.classes_, factors=factors)


def class_factors(class_weight: Any, classes: Any, rows: Vector) -> Vector | None:
    """Return the weights of the classes, given their numbers of rows; None if all are one."""
    if class_weight is None:
        return None
    if isinstance(class_weight, str) and class_weight == "balanced":
        return np.asarray(rows.sum() / (rows.size * rows))
    if not isinstance(class_weight, Mapping):
        raise ValueError(f"class_weight: expected None, 'balanced' or a mapping, found {class_weight!r}")
    return np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])


__all__ = ["DistributedSVC"]
