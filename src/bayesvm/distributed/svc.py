"""The Bayesian support vector classifier for rows that are elsewhere: on a cluster, or in files."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from bayesvm.distributed import _estimator as common
from bayesvm.distributed.column_stats import LabelCount, count_labels, merged_counts
from bayesvm.distributed.dask_predict import lazily
from bayesvm.distributed.engine import Engine, open_engine
from bayesvm.distributed.process import DistributedData, DistributedProcess
from bayesvm.distributed.progress import Progress
from bayesvm.distributed.row_maps import LabelMap
from bayesvm.estimators import _attributes as attributes
from bayesvm.estimators._classifier import BayesianClassifier, ClassFrequencies
from bayesvm.estimators.bayesian_svc import BayesianSVC
from bayesvm.models.scaling import TargetScale
from bayesvm.typing import Indices, Matrix, Vector


class DistributedSVC(common.ClusterEstimator, BayesianClassifier):
    r"""Support vector classifier that tunes itself, for data beyond one computer or beyond its memory.

    It is :class:`bayesvm.BayesianSVC` with inducing inputs, whose evidence is a sum over rows: value and gradient are
    computed where the rows are, block by block, and added up in a tree. Hyperparameters are searched on a sample of the
    rows first, then on all of them. Results do not depend on how the rows are split or where they are; with as few rows
    as the sample may hold they are those of ``BayesianSVC`` with the same inducing inputs. Time grows in proportion to
    the number of rows.

    Parameters
    ----------
    kernel, ard, likelihood, calibrate, optimizer, n_starts, hyperprior, standardize, class_weight, class_prior,
    random_state, evidence_tol, max_evaluations, warm_start
        As in :class:`bayesvm.BayesianSVC`.
    inducing : "auto" or int
        Number of inducing inputs at most; "auto": as many as are needed, up to 500. A warning is logged where these
        lose detail.
    n_jobs : int, optional
        Threads that work on blocks when there is no cluster.
    verbose : int
        1 shows a progress bar on a terminal.
    block_size : int
        Rows that are treated by one task; the result depends on it within rounding.
    sample_size : int
        Rows that are brought here: the search begins with them, inducing inputs are chosen among them, and predictions
        are calibrated on them.
    client : distributed.Client, int or None
        Where to work: a Dask cluster; a cluster of so many workers on this computer, started and closed by ``fit``; or
        None: the current Dask client if there is one, otherwise threads of this process.
    checkpoint : path, optional
        Where to write down every evaluation, so that ``fit(..., resume=checkpoint)`` can go on after an interruption.

    Attributes
    ----------
    n_rows_, n_sampled_, n_blocks_ : int
        Numbers of rows of positive weight, of rows in the sample, and of blocks.
    loo_log_likelihood_ : float
        Log likelihood of the training labels, each predicted without itself: estimated from the sample.
    models_ : tuple of DistributedModel
        The fitted models, one per set of hyperparameters.
    basis_, n_basis_ : array of int, int
        Numbers of the rows that are inducing inputs, in the order of the data (rows of weight zero do not count), and
        how many they are.
    inducing_inputs_, log_evidence_bounds_, approximation_gap_, kernels_, likelihoods_, log_evidence_, relevance_,
    calibration_, classes_, converged_, n_iter_, history_, theta_names_
        As in :class:`bayesvm.BayesianSVC`; the evidence is that of all rows.

    Notes
    -----
    Inputs are dense, and inference is Laplace's. A fitted machine is small and here: predictions need no cluster, and
    :func:`bayesvm.save` writes it to one file.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from bayesvm.distributed import DistributedSVC
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> DistributedSVC("rbf", inducing=20, block_size=100).fit(X, y).n_blocks_
    2
    """

    def __init__(
        self,
        kernel: Any = "auto",
        *,
        ard: bool = False,
        likelihood: Any = "auto",
        inducing: Any = "auto",
        warm_start: bool = False,
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
        self.sample_size = sample_size
        self.client = client
        self.checkpoint = checkpoint

    def _spec(self, data: Any) -> DistributedProcess:
        return common.process(self, BayesianSVC, data)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, resume: Any = None) -> Self:
        """Learn hyperparameters and latent functions from the training data.

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
            blocks = common.read_blocks(fitted, engine, X, y, sample_weight, labels=True, ensure_min_samples=2)
            labels, counts = read_labels(fitted, engine, blocks, y)
            summary = common.summarize(engine, blocks, labels.weights, labels=True)
            represented = first_rows(counts, summary.sizes)
            sample = common.sample_rows(fitted, engine, progress, blocks, summary, labels, resume, represented)
            data = common.in_suited_units(self, dataclasses.replace(sample, codes=class_numbers(sample.y)))
            models = common.fit_models(self._spec, data)
            fitted._standardizer = data.standardizer
            attributes.write_attributes(fitted, models, None, None, fitted._standardizer)
            write_leave_one_out(fitted, data, summary.inputs.total)
            common.leave_cluster(fitted)
        attributes.adopt(self, fitted)
        attributes.warn_if_not_converged(self)
        return self

    predict = lazily(BayesianClassifier.predict)
    predict_proba = lazily(BayesianClassifier.predict_proba)
    predict_log_proba = lazily(BayesianClassifier.predict_log_proba)
    predict_latent = lazily(BayesianClassifier.predict_latent)
    decision_function = lazily(BayesianClassifier.decision_function)


def read_labels(fitted: Any, engine: Engine, blocks: Sequence[Any], y: Any) -> tuple[LabelMap, list[LabelCount]]:
    """Set the classes and their frequencies, and return the map of labels and the count of every class."""
    parts = [engine.submit(count_labels, block, i, name="labels") for i, block in enumerate(blocks)]
    found = merged_counts(engine.gather(parts))
    labels = np.array(list(found))
    check_classification_targets(labels)
    classes = np.unique(labels)
    fitted.classes_ = classes.astype(y.dtype) if isinstance(y, np.ndarray) else classes
    if classes.size < 2:
        raise ValueError(f"y: expected at least two classes, found one class, {classes.tolist()[0]!r}")
    counts = [found[label] for label in classes.tolist()]
    plain = np.array([count.weight for count in counts])
    factors = class_factors(fitted.class_weight, fitted.classes_, np.array([count.rows for count in counts]))
    weighted = plain if factors is None else plain * factors
    if np.any(weighted == 0.0):
        missing = classes[weighted == 0.0].tolist()[0]
        raise ValueError(f"weights: expected a positive weight in every class, found none in class {missing!r}")
    fitted._frequencies = ClassFrequencies(np.log(weighted / weighted.sum()), np.log(plain / plain.sum()))
    fitted._frequencies.shift(fitted.class_prior)
    n_outputs = classes.size if classes.size > 2 else 1
    return LabelMap(TargetScale.identity(n_outputs), classes=fitted.classes_, factors=factors), counts


def first_rows(counts: Sequence[LabelCount], sizes: Sequence[int]) -> Indices:
    """Return the numbers of the first rows of every class; ``sizes`` are those of the blocks."""
    starts = np.cumsum(sizes) - sizes
    return np.array([starts[block] + place for count in counts for block, place in count.first], dtype=np.intp)


def class_numbers(signs: Matrix) -> Indices:
    """Return the class numbers of rows from one-against-rest labels -1/+1, which have one column for two classes."""
    return np.argmax(signs, axis=1) if signs.shape[1] > 1 else (signs[:, 0] > 0.0).astype(np.intp)


def write_leave_one_out(fitted: Any, data: DistributedData, total: float) -> None:
    """Set the calibration, and the leave-one-out log likelihood as the sample tells it; ``total`` weighs all rows."""
    fitted.calibration_ = tuple(c for model in fitted.models_ for c in model.calibrations)
    odds = np.hstack([model.loo_log_odds() for model in fitted.models_])
    own = fitted._log_proba(odds, None)[np.arange(data.n_rows), data.codes]
    fitted.loo_log_likelihood_ = float(data.counts @ own) * total / float(data.counts.sum())


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
