r"""Elliptical slice sampling (Murray2010), many chains at a time.

The target is a Gaussian :math:`\mathcal N(m, V)` times :math:`e^{h(f)}`. With a draw g of :math:`\mathcal N(0, V)`, the
points :math:`m + (f - m)\cos\varphi + g \sin\varphi` have the right Gaussian density for every angle; an angle is found
on a shrinking bracket such that h exceeds a random level below its present value. There is nothing to tune.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bayesvm.typing import Matrix, Vector

#: Returns h for every column.
LogFactor = Callable[[Matrix], Vector]

#: Halvings of the bracket after which a chain stays where it is (the bracket is then below rounding).
SHRINKS = 60


def elliptical_step(
    f: Matrix, value: Vector, direction: Matrix, log_factor: LogFactor, power: float, rng: np.random.Generator
) -> tuple[Matrix, Vector]:
    r"""Move every chain once.

    Parameters
    ----------
    f : array, shape (n, s)
        States relative to the mean m, one column per chain.
    value : array, shape (s,)
        ``log_factor(f)``.
    direction : array, shape (n, s)
        Draws of :math:`\mathcal N(0, V)`.
    log_factor : callable
        h, of states relative to the mean.
    power : float
        The target is the Gaussian times :math:`e^{\text{power}\, h}`.
    rng : numpy Generator
        Source of levels and angles.

    Returns the new states and their factors.
    """
    s = f.shape[1]
    level = power * value - rng.standard_exponential(s)
    angle: Vector = np.asarray(rng.uniform(0.0, 2.0 * np.pi, s))
    low, high = angle - 2.0 * np.pi, angle.copy()
    new, new_value = f.copy(), value.copy()
    waiting = np.arange(s)
    for _ in range(SHRINKS):
        trial = f[:, waiting] * np.cos(angle[waiting]) + direction[:, waiting] * np.sin(angle[waiting])
        trial_value = log_factor(trial)
        good = power * trial_value > level[waiting]
        taken = waiting[good]
        new[:, taken], new_value[taken] = trial[:, good], trial_value[good]
        uniform = np.asarray(rng.uniform(size=s))  # one per chain: its draws do not depend on other chains
        waiting = waiting[~good]
        if waiting.size == 0:
            break
        below = angle[waiting] < 0.0
        low[waiting] = np.where(below, angle[waiting], low[waiting])
        high[waiting] = np.where(below, high[waiting], angle[waiting])
        angle[waiting] = low[waiting] + uniform[waiting] * (high[waiting] - low[waiting])
    return new, new_value


__all__ = ["LogFactor", "elliptical_step"]
