"""The mode at learnt hyperparameters: a support vector machine, or a Gaussian process classifier without its error bars."""

from __future__ import annotations

import dataclasses

import numpy as np

from bayesvm._core import _smo
from bayesvm.estimators._machine import Machine
from bayesvm.inference import Posterior
from bayesvm.kernels.inputs import Inputs
from bayesvm.linalg import SupportFactor
from bayesvm.solvers import Newton, Status
from bayesvm.solvers.smo import SMO
from bayesvm.solvers.working_set import WorkingSet
from bayesvm.typing import Matrix, Vector


@dataclasses.dataclass(frozen=True)
class Mode:
    """A latent function without error bars.

    Attributes
    ----------
    machine : Machine
        Kernel and coefficients; only rows with a coefficient are kept.
    bias : float
        Added to the kernel expansion.
    status : Status
        How the solver ended.
    """

    machine: Machine
    bias: float
    status: Status

    def mean(self, X: Inputs) -> Vector:
        """Return the latent function at standardised inputs."""
        return self.machine.mean(X) + self.bias


def find_mode(machine: Machine, K: Matrix, *, bias_variance: float = 0.0) -> Mode:
    r"""Return the mode of the machine's convex loss with its kernel.

    Losses with kinks (the hinge) are solved in the dual by the working-set method, smooth ones by Newton's method.

    Parameters
    ----------
    machine : Machine
        With learnt hyperparameters.
    K : array, shape (n, n)
        Gram matrix of its training rows.
    bias_variance : float
        The constant in K that stands for an unpenalised bias. If positive, losses with kinks get a true one: the
        constraint :math:`\sum_i a_i = 0` instead of the constant.
    """
    y, loss = machine.objective.y, machine.likelihood.margin_loss
    bias = 0.0
    if loss.traits.smoothness >= 1:
        smooth = Newton().solve(K, y, loss)
        alpha, status = smooth.alpha, smooth.status
    elif bias_variance > 0.0:
        dual = loss.dual(y)
        assert dual is not None  # every loss with kinks has one
        columns = _smo.DenseColumns(np.ascontiguousarray(K - bias_variance))
        result = WorkingSet(tol=1e-8).start(columns, dual, equality=True).finish()
        alpha, bias, status = result.alpha, result.bias, result.status
    else:
        plain = SMO().solve(K, y, loss)
        alpha, status = plain.alpha, plain.status
    posterior = Posterior.of(alpha, SupportFactor.of(K, np.zeros_like(y)))
    inputs = machine.objective.X.take(posterior.support)
    return Mode(dataclasses.replace(machine, posterior=posterior, inputs=inputs, marginals=None), bias, status)


__all__ = ["Mode", "find_mode"]
