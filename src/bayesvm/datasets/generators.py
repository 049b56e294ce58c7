"""Regression data of the papers, drawn afresh from their laws."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesvm.likelihoods import Regression, SoftInsensitive
from bayesvm.typing import Matrix, Vector


def make_sinc(
    n: int = 100, *, noise: Regression | float | None = None, random_state: Any = None
) -> tuple[Matrix, Vector, Vector]:
    r"""Return the sinc data of Thesis section 4.5.1: :math:`y = \sin|x|/|x| + \delta`, x uniform on [-10, 10].

    Parameters
    ----------
    n : int
        Number of rows.
    noise : Regression, float or None
        Noise model, or the standard deviation of Gaussian noise. None: the soft insensitive model with C = 10,
        epsilon = 0.1, beta = 0.3 of Table 4.3.
    random_state : int or Generator, optional
        Seed.

    Returns
    -------
    X : array, shape (n, 1)
    y : array, shape (n,)
        Targets with noise.
    f : array, shape (n,)
        Without noise.
    """
    rng = np.random.default_rng(random_state)
    X = rng.uniform(-10.0, 10.0, size=(n, 1))
    f = np.sinc(X[:, 0] / np.pi)
    if noise is None:
        noise = SoftInsensitive(10.0, 0.1, 0.3)
    if isinstance(noise, Regression):
        return X, f + noise.distribution().rvs(n, rng), f
    return X, f + float(noise) * rng.standard_normal(n), f


def make_robot_arm(
    n: int = 200, *, noise: float = 0.05, n_inputs: int = 2, random_state: Any = None
) -> tuple[Matrix, Matrix, Matrix]:
    r"""Return joint angles and positions of a robot arm, Thesis (4.47).

    .. math:: y_1 = 2 \cos x_1 + 1.3 \cos(x_1 + x_2), \qquad y_2 = 2 \sin x_1 + 1.3 \sin(x_1 + x_2),

    with :math:`x_1` uniform on :math:`\pm[0.453, 1.932]` and :math:`x_2` uniform on [0.534, 3.142].

    Parameters
    ----------
    n : int
        Number of rows.
    noise : float
        Standard deviation of the Gaussian noise of both positions.
    n_inputs : {2, 6}
        With 6, columns 3 and 4 are copies of the angles with Gaussian noise of standard deviation 0.02, and columns 5
        and 6 are standard normal and irrelevant.
    random_state : int or Generator, optional
        Seed.

    Returns
    -------
    X : array, shape (n, n_inputs)
    Y : array, shape (n, 2)
        Positions with noise.
    F : array, shape (n, 2)
        Without noise.
    """
    if n_inputs not in (2, 6):
        raise ValueError(f"make_robot_arm: expected 2 or 6 inputs, found {n_inputs!r}")
    rng = np.random.default_rng(random_state)
    x1 = rng.uniform(0.453, 1.932, size=n) * rng.choice([-1.0, 1.0], size=n)
    x2 = rng.uniform(0.534, 3.142, size=n)
    F = np.column_stack(
        [2.0 * np.cos(x1) + 1.3 * np.cos(x1 + x2), 2.0 * np.sin(x1) + 1.3 * np.sin(x1 + x2)],
    )
    X = np.column_stack([x1, x2])
    Y = F + noise * rng.standard_normal((n, 2))
    if n_inputs == 6:
        X = np.hstack([X, X + 0.02 * rng.standard_normal((n, 2)), rng.standard_normal((n, 2))])
    return X, Y, F


def make_mackey_glass(
    n: int = 1000, *, delay: float = 17.0, noise: float = 0.0, burn_in: int = 500, random_state: Any = None
) -> Vector:
    r"""Return the chaotic series of Mackey and Glass, sampled at unit intervals.

    .. math:: \dot x(t) = \frac{0.2\, x(t - \tau)}{1 + x(t - \tau)^{10}} - 0.1\, x(t),

    integrated by a fourth-order Runge-Kutta rule with step 0.1, the delayed value at half steps by interpolation.

    Parameters
    ----------
    n : int
        Length of the series.
    delay : float
        The delay :math:`\tau`, a multiple of 0.1; chaotic from about 17 on.
    noise : float
        Standard deviation of Gaussian observation noise.
    burn_in : int
        Time units that are left out at the beginning.
    random_state : int or Generator, optional
        Seed of the noise and of the constant history before time zero.

    Returns
    -------
    x : array, shape (n,)
    """
    rng = np.random.default_rng(random_state)
    step, lag = 0.1, round(delay / 0.1)
    if lag < 1:
        raise ValueError(f"make_mackey_glass: expected a delay of at least 0.1, found {delay!r}")
    total = 10 * (n + burn_in)
    x = np.empty(lag + total + 1)
    x[: lag + 1] = rng.uniform(0.5, 1.3)

    def slope(now: float, past: float) -> float:
        return 0.2 * past / (1.0 + past**10) - 0.1 * now

    for i in range(lag, lag + total):
        past, ahead = float(x[i - lag]), float(x[i - lag + 1])
        middle, now = 0.5 * (past + ahead), float(x[i])
        k1 = slope(now, past)
        k2 = slope(now + 0.5 * step * k1, middle)
        k3 = slope(now + 0.5 * step * k2, middle)
        k4 = slope(now + step * k3, ahead)
        x[i + 1] = now + step / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    series = x[lag + 10 * burn_in :: 10][:n]
    return np.asarray(series + noise * rng.standard_normal(n))


def embed(series: Vector, order: int, spacing: int = 1, ahead: int = 1) -> tuple[Matrix, Vector]:
    """Return windows of a series and the values that follow them.

    Parameters
    ----------
    series : array, shape (n,)
        The series.
    order : int
        Values per window.
    spacing : int
        Steps between the values of a window.
    ahead : int
        Steps from the last value of a window to the target.

    Returns
    -------
    X : array, shape (m, order)
        Windows, the oldest value first.
    y : array, shape (m,)
        Targets.
    """
    series = np.asarray(series, dtype=float)
    length = (order - 1) * spacing + 1
    m = series.size - length - ahead + 1
    if m < 1:
        raise ValueError(f"embed: expected a series longer than {length + ahead - 1}, found {series.size} values")
    columns = [series[i * spacing : i * spacing + m] for i in range(order)]
    return np.column_stack(columns), series[length + ahead - 1 : length + ahead - 1 + m]


__all__ = ["embed", "make_mackey_glass", "make_robot_arm", "make_sinc"]
