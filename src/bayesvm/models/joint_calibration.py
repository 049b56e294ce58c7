r"""Class probabilities from one score per class, with the few numbers that this takes fitted to all classes together.

With one score :math:`m_k(x)` per class, latent means of one-against-rest machines that share a kernel or whatever else
grows with the probability of the class,

.. math:: P(k|x) \propto \exp(s_k\, m_k(x) + b_k) , \qquad s_k = e^{\lambda + t_k} .

The common slope (*temperature*) :math:`e^\lambda`, the slopes' deviations :math:`t_k` from it and the shifts
:math:`b_k` (*vector scaling*) maximise, on the leave-one-out scores of the training rows with classes :math:`c_i`,

.. math:: F = \sum_i w_i \ln P(c_i|x_i) - \frac{(\lambda - \lambda_0)^2}{2 \sigma_\lambda^2}
          - \sum_k \frac{t_k^2}{2 \sigma_t^2} - \sum_k \frac{b_k^2}{2 \sigma_b^2}
          - \tau \gamma\, e^{\lambda - \lambda_0} .

At :math:`\lambda_0` the mean size of :math:`e^{\lambda} m` is that of odds which are neither bold nor shy; so the scale
of the scores does not matter. The last term takes back what hyperparameters gained that were tuned on the same rows, as
for two classes (:mod:`bayesvm.models.calibration`). What the scores are *worth* is the evidence of these numbers, the
integral of :math:`e^F` by Laplace's method,

.. math:: \ln E = F - \ln \sigma_\lambda \sigma_t^C \sigma_b^C - \tfrac12 \ln\det(-\nabla\nabla F) ,

by which kernels and hyperparameters can be weighted. In the curvature the derivative of the slopes' logarithms twice in
the same score is left out (Gauss-Newton), so that it is positive definite.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

from bayesvm.linalg import cholesky
from bayesvm.models.calibration import Calibration
from bayesvm.typing import Indices, Matrix, Vector


@dataclasses.dataclass(frozen=True)
class JointCalibration:
    """Log odds of the classes up to a common number, ``scales * scores + shifts``.

    Attributes
    ----------
    scales, shifts : arrays, shape (C,)
        What is applied to the scores.
    gain : float
        By how much slopes and shifts of their own raise the leave-one-out log likelihood over the common slope that was
        expected beforehand, in nats.
    log_evidence : float
        What the scores are worth.
    """

    scales: Vector
    shifts: Vector
    gain: float = 0.0
    log_evidence: float = 0.0

    def apply(self, scores: Matrix) -> Matrix:
        """Return the log odds of the classes, up to a common number per row."""
        return scores * self.scales + self.shifts

    def parts(self) -> tuple[Calibration, ...]:
        """Return the same as one correction per class, each with an equal share of gain and evidence."""
        shares = self.gain / self.scales.size, self.log_evidence / self.scales.size
        return tuple(Calibration(float(a), float(b), *shares) for a, b in zip(self.scales, self.shifts, strict=True))


@dataclasses.dataclass(frozen=True)
class ClassShrinkage:
    r"""How far the data must justify slopes and shifts.

    Parameters
    ----------
    size : float or None
        Mean size of log odds that is expected beforehand; it gives :math:`\lambda_0`. None: the scores are log odds
        already, and a slope of one is expected.
    slope, own, shift : float
        :math:`\sigma_\lambda, \sigma_t, \sigma_b`: standard deviations of the logarithm of the common slope, of each
        class's own deviation from it, and of the shifts.
    optimism : float
        :math:`\tau`: nats by which the leave-one-out likelihood is too good for each tuned hyperparameter.
    """

    size: float | None = 3.0
    slope: float = 1.0
    own: float = 0.25
    shift: float = 0.5
    optimism: float = 0.5


#: As far as the data justify it, and (nearly) in full.
CAUTIOUS_CLASSES = ClassShrinkage()
FULL_CLASSES = ClassShrinkage(slope=2.0, own=0.5, shift=1.0, optimism=0.0)
#: For classes that were calibrated one against the rest before.
COUPLED = ClassShrinkage(size=None, slope=0.5, optimism=0.0)
#: Logarithm of a slope beyond which it is not distinguished: its square times a sum over rows is still a number.
LARGEST = 200.0


@dataclasses.dataclass(frozen=True)
class _Problem:
    """The function F of (lambda, b, t) with its derivatives."""

    scores: Matrix
    codes: Indices
    weights: Vector
    expected: float  #: lambda_0
    tuned: float  #: tau gamma
    shrinkage: ClassShrinkage

    @property
    def deviations(self) -> Vector:
        """Prior standard deviations of all numbers."""
        C, s = self.scores.shape[1], self.shrinkage
        return np.concatenate([[s.slope], np.full(C, s.shift), np.full(C, s.own)])

    def split(self, p: Vector) -> tuple[Vector, Vector]:
        """Return slopes and shifts."""
        C = self.scores.shape[1]
        return _finite_exp(p[0] + self.expected + p[C + 1 :]), p[1 : C + 1]

    def loss(self, p: Vector) -> tuple[float, Vector]:
        """Return -F and its derivative, with lambda counted from what is expected."""
        scales, shifts = self.split(p)
        log_p, rows = log_softmax(self.scores * scales + shifts, axis=1), np.arange(self.codes.size)
        error = np.exp(log_p)
        error[rows, self.codes] -= 1.0
        error *= self.weights[:, None]
        own = np.sum(error * self.scores, axis=0) * scales
        penalty, z = self.tuned * float(_finite_exp(p[0])), p / self.deviations
        value = 0.5 * z @ z + penalty - self.weights @ log_p[rows, self.codes]
        return float(value), z / self.deviations + np.concatenate([[own.sum() + penalty], error.sum(axis=0), own])

    def curvature(self, p: Vector) -> Matrix:
        """Return the second derivatives of -F (Gauss-Newton)."""
        scales, shifts = self.split(p)
        scaled = self.scores * scales
        P = np.exp(log_softmax(scaled + shifts, axis=1))
        ones = np.ones_like(scaled)

        def block(a: Matrix, b: Matrix) -> Matrix:
            weighted = self.weights[:, None] * P
            return np.asarray(np.diag(np.sum(weighted * a * b, axis=0)) - (weighted * a).T @ (P * b))

        between, slopes = block(ones, scaled), block(scaled, scaled)
        H = np.block(
            [
                [slopes.sum(keepdims=True), between.sum(axis=1)[None], slopes.sum(axis=0)[None]],
                [between.sum(axis=1)[:, None], block(ones, ones), between],
                [slopes.sum(axis=0)[:, None], between.T, slopes],
            ]
        )
        H[0, 0] += self.tuned * float(_finite_exp(p[0]))
        return np.asarray(H + np.diag(self.deviations**-2.0))


def calibrate_classes(
    scores: Matrix,
    codes: Indices,
    weights: Vector,
    *,
    determined: float,
    shrinkage: ClassShrinkage = CAUTIOUS_CLASSES,
) -> JointCalibration:
    r"""Fit slopes and shifts.

    Parameters
    ----------
    scores : array, shape (n, C)
        Leave-one-out scores, one column per class.
    codes : array of int, shape (n,)
        Class numbers of the rows.
    weights : array, shape (n,)
        Weights of the rows.
    determined : float
        :math:`\gamma`, how many hyperparameters the same rows determined.
    shrinkage : ClassShrinkage
        How far the data must justify it.
    """
    size = float(np.average(np.mean(np.abs(scores), axis=1), weights=weights))
    expected = 0.0 if shrinkage.size is None or size == 0.0 else float(np.log(shrinkage.size / size))
    problem = _Problem(scores, codes, weights, expected, shrinkage.optimism * determined, shrinkage)
    deviations = problem.deviations

    def loss(z: Vector) -> tuple[float, Vector]:
        value, gradient = problem.loss(deviations * z)
        return value, deviations * gradient

    start = np.zeros(deviations.size)
    found = minimize(loss, start, jac=True, method="L-BFGS-B")
    p = deviations * found.x
    log_det = cholesky(problem.curvature(p), what="the curvature of the calibration").log_det()
    log_evidence = -float(found.fun) - float(np.sum(np.log(deviations))) - 0.5 * log_det
    gain = _log_likelihood(problem, p) - _log_likelihood(problem, start)
    return JointCalibration(*problem.split(p), gain, log_evidence)


def _finite_exp(x: Vector) -> Vector:
    """Return the exponential, of numbers beyond LARGEST that of LARGEST: a line search may try any number."""
    return np.exp(np.minimum(x, LARGEST))


def _log_likelihood(problem: _Problem, p: Vector) -> float:
    """Return the log likelihood of the classes."""
    scales, shifts = problem.split(p)
    log_p = log_softmax(problem.scores * scales + shifts, axis=1)
    return float(problem.weights @ log_p[np.arange(problem.codes.size), problem.codes])


__all__ = ["CAUTIOUS_CLASSES", "COUPLED", "FULL_CLASSES", "ClassShrinkage", "JointCalibration", "calibrate_classes"]
