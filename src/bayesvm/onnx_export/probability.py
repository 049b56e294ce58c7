r"""Averaged class probabilities as nodes.

:math:`P = \int p(f)\, \mathcal N(f; m, v)\, df` is cut at points between which p is smooth. On each piece p is a
polynomial (fitted here, to rounding), and the integral over :math:`z = (f - m)/\sqrt v`, restricted to :math:`|z| \le
9`, is a Gauss-Legendre sum. Beyond the last point p is one up to rounding, before the first it is zero.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.polynomial import chebyshev

from bayesvm.likelihoods import Likelihood
from bayesvm.onnx_export.graph import Graph
from bayesvm.typing import Vector

#: Standard deviations beyond which nothing is left, nodes per piece, degree of a piece, its greatest width.
REACH, NODES, DEGREE, WIDTH = 9.0, 64, 20, 3.0
#: How far p may be from its limit where the pieces end.
LIMIT = 1e-13


def average(g: Graph, likelihood: Likelihood, mean: str, var: str) -> str:
    """Return P(y = +1) of Gaussian latent values with given means and variances, each (n, 1)."""
    std = g.op("Sqrt", g.op("Max", var, np.array(1e-24)))
    x, w = np.polynomial.legendre.leggauss(NODES)
    x, w = x[None, :], w[None, :]
    cuts = _cuts(likelihood)
    ends = [
        *(
            g.op("Clip", g.op("Div", g.op("Sub", np.array(c), mean), std), np.array(-REACH), np.array(REACH))
            for c in cuts
        )
    ]
    ends.append(g.op("Add", g.op("Mul", mean, np.array(0.0)), np.array(REACH)))
    total = ""
    for k, (start, end) in enumerate(itertools.pairwise(ends)):
        half = g.op("Mul", g.op("Sub", end, start), np.array(0.5))
        z = g.op("Add", g.op("Add", start, half), g.op("Mul", half, x))
        density = g.op("Exp", g.op("Mul", g.op("Mul", z, z), np.array(-0.5)))
        if k + 1 < len(cuts):
            t = g.op("Add", mean, g.op("Mul", std, z))
            density = g.op("Mul", density, _polynomial(g, likelihood, cuts[k], cuts[k + 1], t))
        part = g.op("Mul", g.row_sum(g.op("Mul", density, w / np.sqrt(2.0 * np.pi))), half)
        total = g.op("Add", total, part) if total else part
    return g.op("Max", total, np.array(1e-300))


def _probability(likelihood: Likelihood, t: Vector) -> Vector:
    return np.asarray(np.exp(-likelihood.profile(np.asarray(t, dtype=float)).loss))


def _cuts(likelihood: Likelihood) -> list[float]:
    """Return the points that separate the pieces, from where p is zero to where it is one."""
    low = high = 1.0
    while low < 64.0 and _probability(likelihood, np.array([-low]))[0] > LIMIT:
        low += 1.0
    while high < 64.0 and 1.0 - _probability(likelihood, np.array([high]))[0] > LIMIT:
        high += 1.0
    inner = [knot for knot in likelihood.knots if -low < knot < high]
    coarse = [-low, *inner, high]
    cuts: list[float] = []
    for a, b in itertools.pairwise(coarse):
        count = max(1, int(np.ceil((b - a) / WIDTH)))
        cuts += np.linspace(a, b, count + 1)[:-1].tolist()
    return [*cuts, high]


def _polynomial(g: Graph, likelihood: Likelihood, a: float, b: float, t: str) -> str:
    """Return p(t) for t between a and b by Horner's rule."""
    centre, half = 0.5 * (a + b), 0.5 * (b - a)
    inside = 1.0 - 1e-12  # the value at a knot may be that of the other side
    nodes = chebyshev.chebpts1(DEGREE + 1)
    fitted = chebyshev.chebfit(nodes, _probability(likelihood, centre + half * inside * nodes), DEGREE)
    powers = chebyshev.cheb2poly(np.where(np.abs(fitted) > 1e-16, fitted, 0.0))
    u = g.op("Mul", g.op("Sub", t, np.array(centre)), np.array(1.0 / half))
    value = g.op("Add", g.op("Mul", u, np.array(0.0)), np.array(powers[-1]))
    for coefficient in powers[-2::-1]:
        value = g.op("Add", g.op("Mul", value, u), np.array(float(coefficient)))
    return value


__all__ = ["average"]
