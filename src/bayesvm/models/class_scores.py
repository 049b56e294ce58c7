r"""Scores of several classes: latent functions of one kernel, one per class against the rest, and their solutions.

Given the Gram matrix and the signs of all classes, a *solution* finds coefficients :math:`\alpha_{ik}` of functions
:math:`m_k(x) = \sum_i \alpha_{ik} k(x, x_i)`, and what these would be at each training row without that row:

* *posterior means* of a likelihood, by the method of inference that is used everywhere else; for a sparse likelihood
  most coefficients are zero;
* *least squares*: the targets are the signs themselves, with unit noise. All classes share one factorisation,
  :math:`\alpha = (K + W^{-1})^{-1} Y` with the weights W of the rows, and the left-out means are exact.

Only the means are used: :mod:`bayesvm.models.joint_calibration` turns them into probabilities.
"""

from __future__ import annotations

import dataclasses
import sys
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from bayesvm.inference import EP, Inference
from bayesvm.inference.leave_one_out import left_out_columns, left_out_means
from bayesvm.inference.reduction import Reduction
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods.base import Likelihood
from bayesvm.linalg import SupportFactor
from bayesvm.models.calibration import Calibration
from bayesvm.models.joint_calibration import JointCalibration
from bayesvm.models.predictor import blocks
from bayesvm.typing import Indices, Matrix

#: Mismatch of moments, in standard deviations, of posteriors whose means are averaged with others.
EASY = 1e-3


@dataclasses.dataclass(frozen=True)
class Scores:
    """Coefficients of all classes, and their functions at the training rows.

    Attributes
    ----------
    coefficients, means, left_out : arrays, shape (n, C)
        One column per class: coefficients; values at the training rows; the same, each without the row itself.
    """

    coefficients: Matrix
    means: Matrix
    left_out: Matrix


class Solution(ABC):
    """How the functions of all classes are found."""

    #: Its name where what was tried is logged.
    name: ClassVar[str]

    @abstractmethod
    def scores(self, K: Matrix, signs: Matrix, likelihood: Likelihood, near: Scores | None = None) -> Scores:
        """Solve for all classes.

        Parameters
        ----------
        K : array, shape (n, n)
            Gram matrix.
        signs : array, shape (n, C)
            +1 for the rows of a class, -1 for the others.
        likelihood : Likelihood
            Of the signs, with the weights of the rows.
        near : Scores, optional
            Of a similar kernel, to begin with.
        """


@dataclasses.dataclass(frozen=True)
class PosteriorMeans(Solution):
    """Posterior means of the likelihood by a method of inference."""

    name: ClassVar[str] = "posterior means"

    inference: Inference

    def scores(self, K: Matrix, signs: Matrix, likelihood: Likelihood, near: Scores | None = None) -> Scores:
        """Infer the classes one after the other."""
        columns = []
        for k, y in enumerate(np.ascontiguousarray(signs.T)):
            start = None if near is None else near.means[:, k]
            if isinstance(self.inference, EP):
                at_ease = dataclasses.replace(self.inference, tol=max(EASY, self.inference.tol))
                posterior = at_ease.posterior(K, y, likelihood, warm_start=start)[0]
            else:
                posterior = self.inference.infer(K, y, likelihood, warm_start=start)[0]
            mean, left_out = left_out_means(K, posterior, likelihood.copies)
            columns.append((posterior.coefficients(y.size), mean, left_out))
        return Scores(*(np.column_stack(parts) for parts in zip(*columns, strict=True)))


@dataclasses.dataclass(frozen=True)
class SignRegression(Solution):
    """Regression of the signs with unit noise."""

    name: ClassVar[str] = "least squares"

    def scores(self, K: Matrix, signs: Matrix, likelihood: Likelihood, near: Scores | None = None) -> Scores:
        """Solve for all classes with one factorisation."""
        copies = np.broadcast_to(np.asarray(likelihood.copies, dtype=float), K.shape[0])
        factor = SupportFactor.of(K, copies)
        alpha = factor.apply(np.asfortranarray(signs))
        return Scores(alpha, *left_out_columns(K, alpha, factor, copies))


@dataclasses.dataclass(frozen=True)
class MeanFunctions:
    r"""Functions of several classes, :math:`m_k(x) = \sum_i \alpha_{ik} k(x, x_i)`.

    Attributes
    ----------
    kernel : Kernel
        With its parameters, on standardised inputs.
    inputs : Inputs
        Rows with a coefficient in some class.
    basis : array of int
        Their numbers among the training rows.
    coefficients : array, shape (m, C)
        One column per class.
    """

    kernel: Kernel
    inputs: Inputs
    basis: Indices
    coefficients: Matrix

    @classmethod
    def of(cls, kernel: Kernel, X: Inputs, coefficients: Matrix) -> MeanFunctions:
        """Keep the rows with a coefficient."""
        basis = np.flatnonzero(np.any(coefficients != 0.0, axis=1))
        return cls(kernel, X.take(basis), basis, coefficients[basis])

    def __sizeof__(self) -> int:
        """Return the size with the data; see :class:`~bayesvm.kernels.inputs.Inputs`."""
        return object.__sizeof__(self) + sys.getsizeof(self.inputs)

    def mean(self, X: Inputs) -> Matrix:
        """Return the functions at the rows of X, one column per class."""
        values = np.empty((len(X), self.coefficients.shape[1]))
        for rows, part in blocks(X, len(self.inputs)):
            values[rows] = self.kernel.gram(part, self.inputs) @ self.coefficients
        return values


@dataclasses.dataclass(frozen=True)
class ScoredClasses:
    """Probabilities of several classes from functions whose values are corrected together.

    Attributes
    ----------
    functions : MeanFunctions, or a fitted model with as many outputs
        Gives the scores.
    calibration : JointCalibration
        Turns them into log odds.
    left_out : array, shape (n, C)
        Scores of the training rows, each without itself.
    """

    functions: Any
    calibration: JointCalibration
    left_out: Matrix

    def __sizeof__(self) -> int:
        """Return the size with the data; see :class:`~bayesvm.kernels.inputs.Inputs`."""
        return object.__sizeof__(self) + sys.getsizeof(self.functions) + sys.getsizeof(self.left_out)

    @property
    def basis(self) -> Indices:
        """Training rows on which predictions depend."""
        return np.asarray(self.functions.basis)

    @property
    def reduction(self) -> Reduction | None:
        """What the functions say of theirs."""
        found: Reduction | None = getattr(self.functions, "reduction", None)
        return found

    @property
    def calibrations(self) -> tuple[Calibration, ...]:
        """The correction of every class."""
        return self.calibration.parts()

    def log_odds(self, X: Inputs) -> Matrix:
        """Return the log odds of the classes, up to a common number per row."""
        return self.calibration.apply(self.functions.mean(X))

    def loo_log_odds(self) -> Matrix:
        """Return the same for the training rows, each predicted without itself."""
        return self.calibration.apply(self.left_out)


__all__ = ["MeanFunctions", "PosteriorMeans", "ScoredClasses", "Scores", "SignRegression", "Solution"]
