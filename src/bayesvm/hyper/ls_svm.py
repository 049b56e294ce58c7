r"""Learning the kernel of a least-squares machine: level 3 of VanGestel2002 as an objective, and its maximisation.

Steps 2 to 4 of section 6.1: BFGS ascent from all starts maximises level 2 as a function of the kernel and of gamma
together, which needs one Cholesky factor per step (:mod:`bayesvm.inference.ls_svm.joint`). From the best end the
evidence of level 3 itself is maximised, with gamma at its optimum for every kernel. It begins with the curvature of
level 2, whose inverse Hessian in (kernel, gamma) holds that of its maximum over gamma, so that one or two
eigendecompositions are enough. With one length scale per feature the first search has the scales tied.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Sequence

import numpy as np

from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.hyper.multistart import Maximizer, Maximum, StartRecord
from bayesvm.hyper.objective import KernelParameters
from bayesvm.hyper.priors import Flat, Hyperprior
from bayesvm.inference.base import Evidence
from bayesvm.inference.ls_svm import Design, Joint, LevelTwo, Spectrum, level3, relative_range
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.typing import Indices, Matrix, Vector

logger = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class LevelsEvaluation:
    """What one evaluation of level 3 gives.

    Attributes
    ----------
    theta : array
        Where.
    value, gradient : float, array
        Log evidence plus log hyperprior, and its derivative.
    evidence : Evidence
        (5.3) with its cotangent.
    spectrum, found : Spectrum, LevelTwo
        Eigenpairs and hyperparameters at this kernel.
    """

    theta: Vector
    value: float
    gradient: Vector
    evidence: Evidence
    spectrum: Spectrum
    found: LevelTwo


@dataclasses.dataclass(frozen=True)
class JointEvaluation:
    """What one evaluation of level 2 gives: where, value, gradient, and the evidence."""

    theta: Vector
    value: float
    gradient: Vector
    evidence: Evidence


@dataclasses.dataclass(frozen=True)
class Begun:
    """An evaluation of level 2 of which value and factor are known, but not the gradient."""

    theta: Vector
    value: float
    joint: Joint


@dataclasses.dataclass(frozen=True)
class LevelsObjective(KernelParameters):
    """Log evidence of level 3 plus log hyperprior, as a function of the logarithms of the kernel's parameters.

    Parameters
    ----------
    kernel : Kernel
        Bound to the data; its parameters are ``theta0``.
    X : Inputs
        Training inputs.
    y : array, shape (n, q)
        Targets, one column per output.
    design : Design
        Weights and bias.
    prior : Hyperprior
        Density of theta.
    """

    kernel: Kernel
    X: Inputs
    y: Matrix
    design: Design
    prior: Hyperprior = dataclasses.field(default_factory=Flat)

    def part(self, rows: Indices) -> LevelsObjective:
        """Return the objective on some of the rows."""
        design = self.design
        weights = None if design.weights is None else design.weights[rows]
        own = dataclasses.replace(design, n=rows.size, weights=weights)
        return dataclasses.replace(self, X=self.X.take(rows), y=self.y[rows], design=own)

    def evaluate(self, theta: Vector, warm_start: Vector | None = None) -> LevelsEvaluation:
        """Return value, gradient and the three levels at ``theta``; a warm start has no effect."""
        theta = np.asarray(theta, dtype=float)
        kernel = self.kernel.with_theta(theta)
        spectrum, found, evidence = level3(kernel.gram(self.X), self.y, self.design)
        log_prior, slope = self.prior.log_density(theta, self.names)
        gradient = kernel.pullback(self.X, evidence.dK) + slope
        return LevelsEvaluation(theta, evidence.value + log_prior, gradient, evidence, spectrum, found)


@dataclasses.dataclass(frozen=True)
class JointObjective:
    """Level 2 plus log hyperprior as a function of the kernel's parameters and of gamma relative to the kernel.

    Parameters
    ----------
    levels : LevelsObjective
        The problem.
    tilt : array, optional
        Slope of a linear function of the kernel's parameters that is added, as a stand-in for the Occam factor.
    quiet : bool
        Whether the noise is kept at its least.
    begun : tuple of Begun
        Points at which the matrix is factored already.
    """

    levels: LevelsObjective
    tilt: Vector | None = None
    quiet: bool = False
    begun: tuple[Begun, ...] = ()

    @property
    def bounds(self) -> Matrix:
        """Bounds of (theta, relative logarithm of gamma)."""
        low, high = relative_range(self.levels.design)
        return np.vstack([self.levels.bounds, (high if self.quiet else low, high)])

    def evaluate(self, theta: Vector, warm_start: Vector | None = None) -> JointEvaluation:
        """Return value and gradient; a warm start has no effect."""
        known = next((point for point in self.begun if np.array_equal(point.theta, theta)), None)
        joint, own = known.joint if known else self._factored(theta), np.asarray(theta[:-1], dtype=float)
        evidence = joint.evidence()
        added, slope = self._added(own)
        kernel = self.levels.kernel.with_theta(own)
        gradient = np.append(kernel.pullback(self.levels.X, evidence.dK) + slope, evidence.dphi)
        return JointEvaluation(theta, evidence.value + added, gradient, evidence)

    def begin(self, theta: Vector) -> Begun:
        """Return the value alone, at a third of the cost, with the factor from which an evaluation can go on."""
        joint = self._factored(theta)
        return Begun(theta, joint.value() + self._added(np.asarray(theta[:-1], dtype=float))[0], joint)

    def _factored(self, theta: Vector) -> Joint:
        """Return the factored matrix."""
        levels, own = self.levels, np.asarray(theta[:-1], dtype=float)
        K = levels.kernel.with_theta(own).gram(levels.X)
        return Joint.of(K, levels.y, levels.design, float(theta[-1]))

    def _added(self, own: Vector) -> tuple[float, Vector]:
        """Return what is added to level 2, and its slope in the kernel's parameters."""
        log_prior, slope = self.levels.prior.log_density(own, self.levels.names)
        if self.tilt is None:
            return log_prior, slope
        return log_prior + float(self.tilt @ own), slope + self.tilt


def maximize_levels(maximizer: Maximizer, objective: LevelsObjective, starts: Sequence[Vector]) -> Maximum:
    """Maximise the evidence of level 3 from the given starts.

    The history holds the searches on level 2 first (their values lack the Occam factor), then that on level 3.

    Parameters
    ----------
    maximizer : Maximizer
        Options of the searches.
    objective : LevelsObjective
        What is maximised.
    starts : sequence of arrays
        Each a theta of the kernel, or of the kernel with its features tied.
    """
    tied = dataclasses.replace(objective, kernel=objective.kernel.tied())
    size = objective.theta0.size
    loose = [start for start in starts if start.size == size]
    bound = [start for start in starts if start.size != size]
    records: list[StartRecord] = []
    if bound:
        joint = _maximize_joint(maximizer, tied, bound)
        records += [_untied(objective, tied, record) for record in joint.history]
        loose.append(_free(objective, tied, joint.theta))
    elif len(loose) == 1:
        return _level3(maximizer, objective, loose, loose)
    joint = _maximize_joint(maximizer, objective, loose)
    H = max(joint.history, key=lambda record: record.value).H
    final = _level3(maximizer, objective, [joint.theta], loose, H)
    return dataclasses.replace(final, history=(*records, *joint.history, *final.history))


def _maximize_joint(maximizer: Maximizer, objective: LevelsObjective, starts: Sequence[Vector]) -> Maximum:
    """Maximise level 2 over the kernel and gamma, and return the result without gamma."""
    found = maximizer.maximize(JointObjective(objective), [np.append(start, 0.0) for start in starts])
    history = tuple(without_gamma(record) for record in found.history)
    return dataclasses.replace(found, theta=found.theta[:-1], history=history)


def without_gamma(record: StartRecord) -> StartRecord:
    """Return the record of the kernel's parameters; H is then that of level 2 maximised over gamma."""
    H = None if record.H is None else record.H[:-1, :-1]
    return dataclasses.replace(record, start=record.start[:-1], end=record.end[:-1], H=H)


def _level3(
    maximizer: Maximizer,
    objective: LevelsObjective,
    starts: Sequence[Vector],
    fallback: Sequence[Vector],
    H: Matrix | None = None,
) -> Maximum:
    """Maximise level 3 from the starts, or from ``fallback`` where the centred Gram matrix is indefinite at them."""
    try:
        return maximizer.maximize(objective, starts, metrics=[H] * len(starts))
    except NotPositiveDefiniteError as error:
        logger.info("level 3 cannot begin where level 2 ended: %s", error)
        return maximizer.maximize(objective, fallback)


def _free(objective: LevelsObjective, tied: LevelsObjective, theta: Vector) -> Vector:
    """Return the point of the larger space that a theta of the tied kernel stands for."""
    return objective.kernel.matching(tied.kernel.with_theta(theta)).theta


def _untied(objective: LevelsObjective, tied: LevelsObjective, record: StartRecord) -> StartRecord:
    start, end = (_free(objective, tied, theta) for theta in (record.start, record.end))
    return dataclasses.replace(record, start=start, end=end)


__all__ = ["Begun", "JointObjective", "LevelsEvaluation", "LevelsObjective", "maximize_levels", "without_gamma"]
