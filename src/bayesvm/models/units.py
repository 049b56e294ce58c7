"""The units of features, where there are many rows: standard deviations, or those of logarithms.

Distances in a kernel know nothing of the distribution of a feature. Of frequencies, counts and amounts the few large
values lie far from everything else, and differences among the many small ones, which may say most, hardly count. Their
logarithms then make a better model of the same data. Since inputs are given and not predicted, the evidence of the
targets may be compared as it is.
"""

from __future__ import annotations

import dataclasses
import logging

from bayesvm.hyper.search import maximize_evidence
from bayesvm.kernels import Constant, Gaussian
from bayesvm.models.base import TrainingData, typical_distance
from bayesvm.models.large import LargeProcess
from bayesvm.models.large_choice import ARD_FEATURES
from bayesvm.models.scaling import LogStandardizer, Standardizer
from bayesvm.typing import Matrix

logger = logging.getLogger(__name__)

#: Starts and evaluations of a search, and the predicted gain in nats at which it has converged.
STARTS = 2
EVALUATIONS = 60
GAIN = 0.3


def suited_units(spec: LargeProcess, data: TrainingData, X: Matrix, last: Standardizer | None = None) -> TrainingData:
    """Return the data with the logarithms of skewed features in their place, if the evidence of a sample is higher.

    Parameters
    ----------
    spec : LargeProcess
        What is fitted.
    data : TrainingData
        To what, with standardised features.
    X : array
        The rows in the user's units.
    last : Standardizer, optional
        Of an earlier fit that is continued: its kind is kept.
    """
    curved = LogStandardizer.curved(X, data.weights)
    if curved is None or (last is not None and not isinstance(last, LogStandardizer)):
        return data
    inputs = curved.inputs(X)
    distance = typical_distance(inputs, data.weights)
    other = dataclasses.replace(data, X=inputs, distance=distance, standardizer=curved)
    if last is not None:
        return other
    values = [sample_evidence(spec, own) for own in (data, other)]
    logger.info("log evidence of a sample %.5g, with logarithms of skewed features %.5g", *values)
    return other if values[1] > values[0] else data


def sample_evidence(spec: LargeProcess, data: TrainingData) -> float:
    """Return the largest evidence of a sample of the rows with a Gaussian kernel.

    Raises
    ------
    KeyboardInterrupt
        If the search is interrupted: there is nothing to keep yet.
    """
    form = Gaussian() + Constant()
    kernel = form.with_ard() if 1 < data.n_features <= ARD_FEATURES else form
    problem = spec.objective(kernel.bind(data.n_features, data.names), data)
    maximizer = dataclasses.replace(spec.options.maximizer, tol=GAIN, max_evaluations=EVALUATIONS)
    maximum = maximize_evidence(maximizer, problem.sample(), spec.starts(problem.kernel, data, STARTS))
    if maximum.interrupted:
        raise KeyboardInterrupt
    return maximum.value


__all__ = ["sample_evidence", "suited_units"]
