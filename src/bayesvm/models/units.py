"""The units of features, where there are many rows: standard deviations, or those of logarithms.

Distances in a kernel know nothing of the distribution of a feature. Of frequencies, counts and amounts the few large
values lie far from everything else, and differences among the many small ones, which may say most, hardly count. Their
logarithms then make a better model of the same data. Since inputs are given and not predicted, the evidence of the
targets may be compared as it is.
"""

from __future__ import annotations

import dataclasses
import logging
from typing import TypeVar

from bayesvm.hyper.search import maximize_evidence
from bayesvm.kernels import Constant, Gaussian
from bayesvm.linalg.blas_threads import suited_blas_threads
from bayesvm.models.base import TrainingData, typical_distance
from bayesvm.models.gaussian_process import GaussianProcess
from bayesvm.models.large import sampled
from bayesvm.models.large_choice import ARD_FEATURES
from bayesvm.models.scaling import LogStandardizer, Standardizer
from bayesvm.typing import Matrix

logger = logging.getLogger(__name__)

Data = TypeVar("Data", bound=TrainingData)

#: Starts and evaluations of a search, and the predicted gain in nats at which it has converged.
STARTS = 2
EVALUATIONS = 60
GAIN = 0.3


def in_logarithms(data: Data, X: Matrix) -> Data | None:
    """Return the data with the logarithms of skewed features in their place, None if no feature is skewed.

    ``X`` are its rows in the user's units.
    """
    curved = LogStandardizer.curved(X, data.weights)
    return None if curved is None else in_units(data, curved, X)


def in_units(data: Data, standardizer: Standardizer, X: Matrix) -> Data:
    """Return the data with another map of the features; ``X`` are its rows in the user's units."""
    inputs = standardizer.inputs(X)
    distance = typical_distance(inputs, data.weights)
    return dataclasses.replace(data, X=inputs, distance=distance, standardizer=standardizer)


def suited_units(spec: GaussianProcess, data: Data, other: Data, last: Standardizer | None = None) -> Data:
    """Return the one of two sets of data, with features and with their logarithms, whose sample has more evidence.

    Parameters
    ----------
    spec : GaussianProcess
        What is fitted.
    data, other : TrainingData
        The same rows with standardised features, and with logarithms.
    last : Standardizer, optional
        Of an earlier fit that is continued: its kind is kept.
    """
    if last is not None:
        return other if isinstance(last, LogStandardizer) else data
    values = [sample_evidence(spec, own) for own in (data, other)]
    logger.info("log evidence of a sample %.5g, with logarithms of skewed features %.5g", *values)
    return other if values[1] > values[0] else data


def sample_evidence(spec: GaussianProcess, data: TrainingData) -> float:
    """Return the largest evidence of a sample of the rows with a Gaussian kernel.

    Raises
    ------
    KeyboardInterrupt
        If the search is interrupted: there is nothing to keep yet.
    """
    form = Gaussian() + Constant()
    kernel = form.with_ard() if 1 < data.n_features <= ARD_FEATURES else form
    objective = GaussianProcess.objective(spec, kernel.bind(data.n_features, data.names), sampled(data))
    maximizer = dataclasses.replace(spec.options.maximizer, tol=GAIN, max_evaluations=EVALUATIONS)
    with suited_blas_threads(objective.n_rows):
        maximum = maximize_evidence(maximizer, objective, spec.starts(objective.kernel, data, STARTS))
    if maximum.interrupted:
        raise KeyboardInterrupt
    return maximum.value


__all__ = ["in_logarithms", "in_units", "sample_evidence", "suited_units"]
