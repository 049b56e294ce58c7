"""Models by a variational bound on the evidence (Seeger1999), with the mode at the learnt hyperparameters beside it."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from bayesvm._core import working_set
from bayesvm.inference import Variational
from bayesvm.inference.variational import SAME
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods.base import Classification, Likelihood
from bayesvm.models.base import TrainingData
from bayesvm.models.gaussian_process import GaussianProcess, GaussianProcessModel
from bayesvm.solvers import Newton, Status
from bayesvm.solvers.smo import SMO
from bayesvm.solvers.working_set import WorkingSet
from bayesvm.typing import Indices, Matrix, Vector

#: Inner starts that are compared at the learnt hyperparameters if the loss is not convex.
FINAL_STARTS = 5


@dataclasses.dataclass(frozen=True)
class Mode:
    """A latent function without error bars: a support vector machine, or the mode of a Gaussian process classifier.

    Attributes
    ----------
    support : array of int
        Training rows with a coefficient that is not zero.
    alpha : array
        Their coefficients.
    inputs : Inputs
        Those rows, standardised.
    bias : float
        Added to the kernel expansion.
    status : Status
        How the solver ended.
    """

    support: Indices
    alpha: Vector
    inputs: Inputs
    bias: float
    status: Status

    def mean(self, kernel: Kernel, X: Inputs) -> Vector:
        """Return the latent function at standardised inputs."""
        return np.asarray(kernel.gram(X, self.inputs) @ self.alpha + self.bias)


def find_mode(K: Matrix, y: Vector, likelihood: Likelihood, X: Inputs, *, bias_variance: float = 0.0) -> Mode:
    r"""Return the mode of the convex loss that belongs to a likelihood.

    Losses with kinks (the hinge) are solved in the dual by the working-set method, smooth ones by Newton's method.

    Parameters
    ----------
    K : array, shape (n, n)
        Gram matrix of the training rows.
    y : array, shape (n,)
        Labels.
    likelihood : Likelihood
        With learnt parameters.
    X : Inputs
        The training rows.
    bias_variance : float
        The constant in K that stands for an unpenalised bias. If positive, losses with kinks get a true one: the
        constraint :math:`\sum_i a_i = 0` instead of the constant.
    """
    loss, bias = likelihood.margin_loss, 0.0
    if loss.traits.smoothness >= 1:
        smooth = Newton().solve(K, y, loss)
        alpha, status = smooth.alpha, smooth.status
    elif bias_variance > 0.0:
        dual = loss.dual(y)
        assert dual is not None  # every loss with kinks has one
        columns = working_set.DenseColumns(np.ascontiguousarray(K - bias_variance))
        result = WorkingSet(tol=1e-8).start(columns, dual, equality=True).finish()
        alpha, bias, status = result.alpha, result.bias, result.status
    else:
        plain = SMO().solve(K, y, loss)
        alpha, status = plain.alpha, plain.status
    support = np.flatnonzero(alpha)
    return Mode(support, alpha[support], X.take(support), bias, status)


@dataclasses.dataclass(frozen=True)
class VariationalModel(GaussianProcessModel):
    """The variational Gaussian, with the modes and the bounds that were compared.

    Attributes
    ----------
    modes : tuple of Mode
        One per output.
    inner_bounds : tuple of float
        Bounds reached by different inner starts at the learnt hyperparameters.
    by_mode : bool
        Whether ``support`` and ``coefficients`` are those of the modes.
    """

    modes: tuple[Mode, ...] = ()
    inner_bounds: tuple[float, ...] = ()
    by_mode: bool = False

    @property
    def problems(self) -> tuple[str, ...]:
        """What did not converge, in words."""
        failed = (f"the mode was not found: {m.status.value}" for m in self.modes if not m.status.ok)
        return (*super().problems, *dict.fromkeys(failed))

    @property
    def support(self) -> Indices:
        """Training rows with a coefficient that is not zero."""
        if not self.by_mode:
            return super().support
        return np.unique(np.concatenate([mode.support for mode in self.modes]))

    @property
    def coefficients(self) -> Matrix:
        """Their coefficients, one row per output."""
        if not self.by_mode:
            return super().coefficients
        support = self.support
        rows = np.zeros((len(self.modes), support.size))
        for row, mode in zip(rows, self.modes, strict=True):
            row[np.searchsorted(support, mode.support)] = mode.alpha
        return rows

    def mode_mean(self, X: Inputs) -> Matrix:
        """Return the modes at the rows of X, one column per output."""
        return np.column_stack([mode.mean(self.kernel, X) for mode in self.modes])

    def mode_log_odds(self, X: Inputs) -> Matrix:
        """Return the log odds of the probabilities at the modes."""
        likelihood, zero = self.likelihood.plain, np.zeros(len(X))
        assert isinstance(likelihood, Classification)
        return np.column_stack([likelihood.log_odds(f, zero) for f in self.mode_mean(X).T])


@dataclasses.dataclass(frozen=True)
class VariationalProcess(GaussianProcess):
    """A Gaussian process fitted by a variational bound.

    Parameters
    ----------
    bias_variance : float
        Variance of the constant that stands for an unpenalised bias; 0.0: there is none.
    by_mode : bool
        Whether the reported support is that of the modes.
    """

    bias_variance: float = 0.0
    by_mode: bool = False

    def finish(self, model: Any, data: TrainingData) -> VariationalModel:
        """Return the model with the best of several Gaussians, and with its modes."""
        model, bounds = _best_start(model)
        plain = super().finish(model, data)
        X = plain.objective.X
        K = plain.kernel.gram(X)
        modes = tuple(
            find_mode(K, y, plain.likelihood, X, bias_variance=self.bias_variance) for y in plain.objective.outputs
        )
        attributes = {
            "free_energy_terms": ({name: -value for name, value in plain.evidence.terms.items()},),
            "inner_bounds": (bounds,),
            "intercept": np.array([mode.bias if self.by_mode else 0.0 for mode in modes]),
        }
        fields = {f.name: getattr(plain, f.name) for f in dataclasses.fields(plain)}
        fields = {**fields, "attributes": attributes}
        return VariationalModel(**fields, modes=modes, inner_bounds=bounds, by_mode=self.by_mode)


def _best_start(model: GaussianProcessModel) -> tuple[GaussianProcessModel, tuple[float, ...]]:
    """Return the model with the best of several Gaussians at its hyperparameters, and the bounds that were compared.

    A convex loss has one Gaussian only, and one bound.
    """
    objective, own = model.objective, model.evidence.value
    if objective.likelihood.traits.convex or not isinstance(objective.inference, Variational):
        return model, (own,)
    several = dataclasses.replace(objective.inference, starts=FINAL_STARTS)
    (y,) = objective.outputs
    posterior, evidence = several.infer(model.kernel.gram(objective.X), y, model.likelihood)
    bounds = (own, *evidence.bounds)
    if evidence.value <= own + SAME:
        return model, bounds
    inputs = objective.X.take(posterior.support)
    return dataclasses.replace(model, posteriors=(posterior,), evidence=evidence, inputs=inputs), bounds


__all__ = ["Mode", "VariationalModel", "VariationalProcess", "find_mode"]
