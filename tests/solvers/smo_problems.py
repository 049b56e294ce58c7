"""Random dual problems and independent solutions of them."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from bayesvm.likelihoods.dual import Dual


def inputs(n, seed, d=3):
    """Return inputs, a smooth signal, and the generator."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(1.5 * X[:, 0]) + 0.5 * X[:, 1], rng


def gram(X, variance=1.7, lengthscale=1.0):
    return variance * np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2) / lengthscale**2)


def duals(n=30, seed=0, lengthscale=1.0):
    """Return a name, a Gram matrix and a dual for every formulation."""
    X, signal, rng = inputs(n, seed)
    K = gram(X, lengthscale=lengthscale)
    labels = np.where(signal + 0.5 * rng.normal(size=n) > 0.0, 1.0, -1.0)
    target = signal + 0.3 * rng.normal(size=n)
    w = rng.uniform(0.2, 2.0, size=n)
    return {
        "l1": (K, Dual.margin(labels, 2.0).weighted(w)),
        "le": (K, Dual.margin(labels, 2.0, bend=0.4).weighted(w)),
        "l2": (K, Dual.margin(labels, np.inf, bend=0.3).weighted(w)),
        "hard": (K, Dual.margin(np.sign(signal), np.inf)),
        "trigonometric": (K, Dual.margin(labels, np.inf, weight=1.0)),
        "trigonometric weighted": (K, Dual.margin(labels, np.inf, weight=1.0).weighted(w)),
        "insensitive": (K, Dual.residual(target, 3.0, kink=0.1).weighted(w)),
        "soft": (K, Dual.residual(target, 3.0, kink=0.07, bend=0.02).weighted(w)),
        "huber": (K, Dual.residual(target, 3.0, bend=0.06)),
        "laplace": (K, Dual.residual(target, 3.0)),
        "quadratic": (K, Dual.residual(target, np.inf, bend=0.1)),
    }


def objective(K, dual, a):
    return 0.5 * a @ K @ a + dual.value(a)


def scipy_solution(K, dual, equality):
    """Minimise over the positive and the negative part of a with a general solver of SciPy (SLSQP): no kinks remain."""
    n = dual.target.size

    def split(z):
        return z[:n], z[n:]

    def fun(z):
        p, m = split(z)
        a = p - m
        return 0.5 * a @ K @ a + dual.value(p) + dual.value(-m)

    def jac(z):
        p, m = split(z)
        g = K @ (p - m)
        return np.concatenate([g + slope(dual, p), -(g + slope(dual, -m))])

    # value(p) + value(-m) counts a bend once for each part: equal to the dual wherever p m = 0
    bounds = [(0.0, u) for u in dual.upper] + [(0.0, -low) for low in dual.lower]
    bounds = [(low, None if np.isinf(high) else high) for low, high in bounds]
    ones = np.concatenate([np.ones(n), -np.ones(n)])
    constraint = [{"type": "eq", "fun": lambda z: ones @ z, "jac": lambda z: ones}] if equality else []
    result = minimize(
        fun, np.zeros(2 * n), jac=jac, bounds=bounds, constraints=constraint, method="SLSQP",
        options={"maxiter": 2000, "ftol": 1e-15},
    )  # fmt: skip
    p, m = split(result.x)
    return p - m


def slope(dual, a):
    """Derivative of the separable part away from the kink (for a >= 0 the right one, for a <= 0 the left one)."""
    sign = np.where(a > 0.0, 1.0, -1.0)
    sign[a == 0.0] = 1.0 if np.all(a >= 0.0) else -1.0
    w = np.where(dual.weight > 0.0, dual.weight, 1.0)
    curved = np.where(dual.weight > 0.0, 4.0 / np.pi * np.arctan(2.0 * a / (np.pi * w)), 0.0)
    return -dual.target + dual.kink * sign + dual.bend * a + curved
