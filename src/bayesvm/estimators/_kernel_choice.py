"""Choosing a kernel by its evidence: Gaussian, then with a linear part, then with one length scale per feature."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from bayesvm.estimators._machine import Candidate, Machine
from bayesvm.kernels import Kernel, Linear
from bayesvm.typing import Vector

#: Fits a kernel from given starts (theta of kernel and likelihood), filled up with the library's own to the number asked for.
Fit = Callable[[Kernel, Sequence[Vector], int], Machine]


def choose_kernel(fit: Fit, kernel: Kernel, n_features: int, n_starts: int) -> Machine:
    """Return the machine with the highest evidence; its ``candidates`` report all that were tried.

    Each kernel contains the one before it, and starts from its optimum: the evidence of a larger kernel can be lower only by
    what the climb's tolerance leaves. ``kernel`` is the first one tried, a Gaussian plus a constant.
    """
    plain = fit(kernel, [], n_starts)
    gaussian, constant = plain.kernel.leaves()
    wider = gaussian + Linear(0.01 / n_features) + constant
    linear = fit(wider, [_theta(wider, plain)], min(2, n_starts))
    best = max((plain, linear), key=lambda m: m.evidence.value)
    relevant = best.kernel.with_ard().bind(n_features)
    ard = fit(relevant, [_theta(relevant, best)], 1)
    tried = {"gaussian + constant": plain, "gaussian + linear + constant": linear, f"{_form(best)} with ard": ard}
    winner = max(tried.values(), key=lambda m: m.evidence.value)
    candidates = tuple(Candidate(name, m.evidence.value, m is winner) for name, m in tried.items())
    return dataclasses.replace(winner, candidates=candidates)


def _theta(kernel: Kernel, machine: Machine) -> Vector:
    """Return a start with the given kernel and the likelihood of a machine."""
    return np.concatenate([kernel.theta, machine.likelihood.theta])


def _form(machine: Machine) -> str:
    return " + ".join(type(leaf).__name__.lower() for leaf in machine.kernel.leaves())


__all__ = ["choose_kernel"]
