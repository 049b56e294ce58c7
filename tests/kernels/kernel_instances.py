"""Every kernel of the library with a slow reference: a plain function of one pair of points."""

from __future__ import annotations

from dataclasses import dataclass
from math import asin, cos, exp, pi, prod, sqrt, tanh
from typing import Any

import numpy as np
from sklearn.gaussian_process import kernels as skk

from bayesvm import kernels as bk
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.combine import OnColumns, Product, Sum

D = 3


@dataclass(frozen=True)
class Case:
    id: str
    kernel: Kernel
    pair: Any  # k(x, z) by a loop over features
    sparse: bool = True


def r2(x, z, scale=1.0):
    scale = np.broadcast_to(scale, D)
    return sum(((x[i] - z[i]) / scale[i]) ** 2 for i in range(D))


def dot(x, z, weights=1.0):
    weights = np.broadcast_to(weights, D)
    return sum(weights[i] * x[i] * z[i] for i in range(D))


def b_spline(order, u):
    """Cox-de Boor recursion for the centred cardinal B-spline."""
    if order == 0:
        return 1.0 if -0.5 <= u < 0.5 else 0.0
    half = (order + 1) / 2
    return ((half + u) * b_spline(order - 1, u + 0.5) + (half - u) * b_spline(order - 1, u - 0.5)) / order


def spline(order, v, scale):
    scale = np.broadcast_to(scale, D)
    return lambda x, z: v * prod(b_spline(order, (x[i] - z[i]) / scale[i]) / b_spline(order, 0.0) for i in range(D))


def dirichlet(order, v, scale):
    scale = np.broadcast_to(scale, D)

    def one(u):
        return (1 + 2 * sum(cos(j * u) for j in range(1, order + 1))) / (2 * order + 1)

    return lambda x, z: v * prod(one((x[i] - z[i]) / scale[i]) for i in range(D))


def arcsine(v, b, w):
    def s(x, z):
        return b + dot(x, z, w)

    return lambda x, z: v * 2 / pi * asin(2 * s(x, z) / sqrt((1 + 2 * s(x, x)) * (1 + 2 * s(z, z))))


def matern32(v, scale):
    return lambda x, z: v * (1 + sqrt(3 * r2(x, z, scale))) * exp(-sqrt(3 * r2(x, z, scale)))


def logarithms(x):
    u = (x[0] - 1.0) / 0.5, (x[2] + 2.0) / 0.01
    return np.array([np.sign(u[0]) * np.log1p(abs(u[0])), x[1], np.sign(u[1]) * np.log1p(abs(u[1]))])


def matern52(v, scale):
    def value(x, z):
        s = sqrt(5 * r2(x, z, scale))
        return v * (1 + s + s * s / 3) * exp(-s)

    return value


def laplacian(v, scale, power):
    return lambda x, z: v * exp(-(sum(abs(a - b) / l for a, b, l in zip(x, z, scale, strict=True)) ** power))


ARD = (0.7, 1.5, 4.0)
WIDE = (2.7, 3.5, 4.0)
GAUSSIAN = bk.Gaussian(1.7, 1.3)


def gaussian(x, z):
    return 1.7 * exp(-r2(x, z, 1.3) / 2)


def rational(v, scale, a):
    return lambda x, z: v * (1 + r2(x, z, scale) / (2 * a)) ** -a


CASES = [
    Case("gaussian", GAUSSIAN, gaussian),
    Case("gaussian-ard", bk.Gaussian(1.7, ARD, ard=True), lambda x, z: 1.7 * exp(-r2(x, z, ARD) / 2)),
    Case(
        "gaussian-ard-fixed-variance",
        bk.Gaussian(1.7, ARD, ard=True).fix("variance"),
        lambda x, z: 1.7 * exp(-r2(x, z, ARD) / 2),
    ),
    Case("gaussian-fixed-lengthscale", GAUSSIAN.fix("lengthscale"), gaussian),
    Case("ornstein-uhlenbeck", bk.OrnsteinUhlenbeck(0.6, 2.0), lambda x, z: 0.6 * exp(-sqrt(r2(x, z, 2.0)))),
    Case(
        "ornstein-uhlenbeck-ard", bk.OrnsteinUhlenbeck(0.6, ARD, ard=True), lambda x, z: 0.6 * exp(-sqrt(r2(x, z, ARD)))
    ),
    Case("matern32", bk.Matern32(0.6, 2.0), matern32(0.6, 2.0)),
    Case("matern32-ard", bk.Matern32(0.6, ARD, ard=True), matern32(0.6, ARD)),
    Case("matern52", bk.Matern52(0.6, 2.0), matern52(0.6, 2.0)),
    Case("matern52-ard", bk.Matern52(0.6, ARD, ard=True), matern52(0.6, ARD)),
    Case("rational-quadratic", bk.RationalQuadratic(1.2, 0.8, alpha=0.4), rational(1.2, 0.8, 0.4)),
    Case("rational-quadratic-ard", bk.RationalQuadratic(1.2, ARD, 3.0, ard=True), rational(1.2, ARD, 3.0)),
    Case("laplacian", bk.Laplacian(0.6, 2.0), laplacian(0.6, (2.0, 2.0, 2.0), 1.0), sparse=False),
    Case("laplacian-ard", bk.Laplacian(0.6, ARD, ard=True), laplacian(0.6, ARD, 1.0), sparse=False),
    Case("laplacian-root", bk.Laplacian(0.6, 2.0, power=0.5), laplacian(0.6, (2.0, 2.0, 2.0), 0.5), sparse=False),
    Case("laplacian-power-ard", bk.Laplacian(0.6, ARD, power=0.7, ard=True), laplacian(0.6, ARD, 0.7), sparse=False),
    Case("linear", bk.Linear(0.3), lambda x, z: 0.3 * dot(x, z)),
    Case("linear-ard", bk.Linear(ARD, ard=True), lambda x, z: dot(x, z, ARD)),
    Case("polynomial", bk.Polynomial(3, 0.2, 1.4), lambda x, z: 0.2 * (dot(x, z) + 1.4) ** 3),
    Case("polynomial-degree-1", bk.Polynomial(1, 0.2, 1.4), lambda x, z: 0.2 * (dot(x, z) + 1.4)),
    Case("mlp", bk.MLP(1.1, 0.3, 0.2), lambda x, z: 1.1 * tanh(0.3 * dot(x, z) + 0.2)),
    Case("neural-network", bk.NeuralNetwork(1.5, 0.5, 2.0), arcsine(1.5, 0.5, 2.0)),
    Case("neural-network-ard", bk.NeuralNetwork(1.5, 0.5, ARD, ard=True), arcsine(1.5, 0.5, ARD)),
    Case("b-spline-1", bk.BSpline(1, 1.3, 3.0), spline(1, 1.3, 3.0), sparse=False),
    Case("b-spline-3-ard", bk.BSpline(3, 1.3, WIDE, ard=True), spline(3, 1.3, WIDE), sparse=False),
    Case("b-spline-5", bk.BSpline(5, 1.3, 1.2), spline(5, 1.3, 1.2), sparse=False),
    Case("dirichlet", bk.Dirichlet(2, 0.9, 1.4), dirichlet(2, 0.9, 1.4), sparse=False),
    Case("dirichlet-ard", bk.Dirichlet(10, 0.9, ARD, ard=True), dirichlet(10, 0.9, ARD), sparse=False),
    Case("constant", bk.Constant(0.8), lambda x, z: 0.8),
    Case("sum", Sum(GAUSSIAN, bk.Constant(0.8)), lambda x, z: gaussian(x, z) + 0.8),
    Case("product", Product(GAUSSIAN, bk.Linear(0.3)), lambda x, z: gaussian(x, z) * 0.3 * dot(x, z)),
    Case("scaled", 2.0 * GAUSSIAN, lambda x, z: 2.0 * gaussian(x, z)),
    Case(
        "on-columns",
        OnColumns(bk.Gaussian(1.0, (0.5, 2.0), ard=True), (2, 0)),
        lambda x, z: exp(-((x[2] - z[2]) ** 2 / 0.25 + (x[0] - z[0]) ** 2 / 4.0) / 2),
    ),
    Case(
        "rescaled",
        bk.Rescaled(bk.Matern52(0.6, ARD, ard=True), (0.0, 0.0, 0.0), (2.0, 0.5, 3.0)),
        lambda x, z: matern52(0.6, ARD)(x / [2, 0.5, 3], z / [2, 0.5, 3]),
    ),
    Case(
        "rescaled-shifted",
        bk.Rescaled(bk.Polynomial(2), (1.0, -2.0, 0.5), (2.0, 0.5, 3.0)),
        lambda x, z: (dot((x - [1, -2, 0.5]) / [2, 0.5, 3], (z - [1, -2, 0.5]) / [2, 0.5, 3]) + 1) ** 2,
        sparse=False,
    ),
    Case(
        "logarithmic",
        bk.Logarithmic(bk.Matern52(0.6, ARD, ard=True), (1.0, 0.0, -2.0), (0.5, 0.0, 0.01)),
        lambda x, z: matern52(0.6, ARD)(logarithms(x), logarithms(z)),
        sparse=False,
    ),
    Case(
        "sklearn",
        bk.from_sklearn(skk.ConstantKernel(1.7, "fixed") * skk.RBF([0.7, 1.5, 4.0])),
        lambda x, z: 1.7 * exp(-r2(x, z, ARD) / 2),
        sparse=False,
    ),
]
IDS = [case.id for case in CASES]


def points(n=16, d=D, seed=3):
    return np.random.default_rng(seed).normal(size=(n, d))


def slow_gram(pair, X, Z):
    return np.array([[pair(x, z) for z in Z] for x in X])


# The Cox-de Boor recursion above against the closed form of the cubic spline at the centre: 2/3.
assert abs(b_spline(3, 0.0) - 2 / 3) < 1e-15
