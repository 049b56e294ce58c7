"""Reference values of the likelihoods in mpmath, from the formulas of the docstrings.

Run this file to write ``reference_values.json`` anew (a few minutes):

    PYTHONPATH=src python tests/likelihoods/likelihood_reference.py

Everything is a mpmath number of ``DIGITS`` digits; a float argument is taken exactly.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import mpmath
from mpmath import mp, mpf

DIGITS = 90
TABLE = Path(__file__).with_name("reference_values.json")


def trigonometric(t):
    if t <= -1:
        return mp.inf
    return mpf(0) if t >= 1 else -2 * mp.log(mp.sin(mp.pi / 4 * (1 + t)))


def raised_cosine(t):
    if t <= -1:
        return mp.inf
    with mp.workdps(3 * mp.dps):  # two thirds of the digits cancel next to the edge
        return mpf(0) if t >= 1 else -mp.log((1 + t + mp.sin(mp.pi * t) / mp.pi) / 2)


def logistic(t):
    return mp.log1p(mp.exp(-t)) if t > 0 else -t + mp.log1p(mp.exp(t))


def probit(t):
    if t > 0:
        return -mp.log1p(-mp.erfc(t / mp.sqrt(2)) / 2)
    return -mp.log(mp.erfc(-t / mp.sqrt(2)) / 2)


def hinge(t, C):
    return C * max(1 - t, mpf(0))


def normalized_hinge(t, C):
    return logistic(-C * (max(1 - t, mpf(0)) - max(1 + t, mpf(0))))


def gaussian_noise(t, variance):
    return t * t / (2 * variance) + mp.log(2 * mp.pi * variance) / 2


def laplace(t, C):
    return C * abs(t) - mp.log(C / 2)


def epsilon_insensitive(t, C, epsilon):
    return C * max(abs(t) - epsilon, mpf(0)) + mp.log(2 * (epsilon + 1 / C))


def _zoned(t, C, epsilon, beta, shape, mass):
    u = (abs(t) - epsilon) / (beta * epsilon)
    if u <= -1:
        return mp.log(mass)
    return mp.log(mass) + C * (abs(t) - epsilon if u >= 1 else beta * epsilon * shape(u))


def _quadratic(u):
    return (u + 1) ** 2 / 4


def _cosine(u):
    return (u + 1) ** 2 / 4 - (1 + mp.cos(mp.pi * u)) / (2 * mp.pi**2)


_MASS: dict = {}


def _mass(C, epsilon, beta, shape):
    """Return Z by integration (once per set of parameters)."""
    key = (C, epsilon, beta, shape)
    if key not in _MASS:
        with mp.workdps(DIGITS):
            points = [-1 + mpf(2) * i / 24 for i in range(25)]
            zone = mp.quad(lambda u: mp.exp(-C * beta * epsilon * shape(u)), points) * beta * epsilon
            _MASS[key] = 2 * ((1 - beta) * epsilon + zone + mp.exp(-C * beta * epsilon) / C)
    return _MASS[key]


def soft_insensitive(t, C, epsilon, beta):
    return _zoned(t, C, epsilon, beta, _quadratic, _mass(C, epsilon, beta, _quadratic))


def smooth_insensitive(t, C, epsilon, beta):
    return _zoned(t, C, epsilon, beta, _cosine, _mass(C, epsilon, beta, _cosine))


def huber(t, C, epsilon):
    return soft_insensitive(t, C, epsilon, mpf(1))


#: Name of the class -> (loss, parameters to tabulate).
CASES = {
    "Trigonometric": (trigonometric, [{}]),
    "RaisedCosine": (raised_cosine, [{}]),
    "Logistic": (logistic, [{}]),
    "Probit": (probit, [{}]),
    "Hinge": (hinge, [{"C": 1.0}, {"C": 1e4}]),
    "NormalizedHinge": (normalized_hinge, [{"C": 1.0}, {"C": 50.0}, {"C": 0.02}]),
    "GaussianNoise": (gaussian_noise, [{"variance": 0.1}]),
    "Laplace": (laplace, [{"C": 10.0}, {"C": 1e4}]),
    "EpsilonInsensitive": (epsilon_insensitive, [{"C": 10.0, "epsilon": 0.1}, {"C": 1e4, "epsilon": 1e-3}]),
    "SoftInsensitive": (
        soft_insensitive,
        [{"C": 10.0, "epsilon": 0.1, "beta": 0.3}, {"C": 1e4, "epsilon": 1e-6, "beta": 0.1}],
    ),
    "SmoothInsensitive": (
        smooth_insensitive,
        [{"C": 10.0, "epsilon": 0.1, "beta": 0.3}, {"C": 1e4, "epsilon": 1.0, "beta": 1.0}],
    ),
    "Huber": (huber, [{"C": 10.0, "epsilon": 0.1}]),
}
#: Points of the derivatives; those outside a domain are skipped.
POINTS = [-1e20, -1e3, -40.0, -3.0, -1.0 + 1e-8, -0.5, -0.09, 0.01, 0.12]
POINTS += [0.3, 0.9, 1.0 - 1e-8, 1.3, 7.0, 40.0, 1e3, 1e20]
#: Means and variances of the Gaussian integrals.
GAUSSIANS = [(m, v) for m in (0.3, -1.7, 0.101, 4.0) for v in (1e-24, 1e-3, 1.0, 1e4, 1e12)]
GAUSSIANS += [(-50.0, 1.0), (-50.0, 1e-6), (-1.0, 1e-24), (-1.0 + 1e-8, 1e-24), (1.0, 1e-24), (1.0 - 1e-8, 1e-14)]
GAUSSIANS += [(1e20, 1e-24), (-1e20, 1e-24), (1e20, 1e12), (-1e20, 1e12)]
GAUSSIANS += [(1e3, 0.01), (-1e3, 0.01), (37.0, 30.0), (-37.0, 30.0)]


def _mode(h, low, high, start):
    """Return the maximiser of a concave function on [low, high] by ternary search, from an anchor within."""
    step = mpf(10) ** -60
    left, right = max(low, start - step), min(high, start + step)
    while left > low and h(left) > h((left + start) / 2):
        step, left = step * 16, max(low, start - step * 16)
    step = mpf(10) ** -60
    while right < high and h(right) > h((right + start) / 2):
        step, right = step * 16, min(high, start + step * 16)
    for _ in range(150):
        third = (right - left) / 3
        if h(left + third) < h(right - third):
            left += third
        else:
            right -= third
    return (left + right) / 2


def _fallen(h, mode, end, drop):
    """Return the point between the mode and the end where h has fallen by about ``drop`` (or the end)."""
    top = h(mode)
    step = mpf(10) ** -70 * (1 if end > mode else -1)
    while abs(step) < abs(end - mode) and h(mode + step) > top - drop:
        step *= 2
    return end if abs(step) >= abs(end - mode) else mode + step


def log_gaussian_integral(loss, knots, domain, mean, var):
    """Return ln of the integral of exp(-loss) N(mean, var), piece by piece between the knots."""
    mean, var = mpf(mean), mpf(var)
    ends = [mpf(domain[0]), *(mpf(k) for k in knots if domain[0] < k < domain[1]), mpf(domain[1])]
    total = []
    for low, high in itertools.pairwise(ends):

        def h(t):
            return -loss(t) - (t - mean) ** 2 / (2 * var)

        anchor = min(max(mean, low), high)
        if loss(anchor) == mp.inf:
            anchor += mpf(10) ** -58 if anchor == low else -(mpf(10) ** -58)
        mode = _mode(h, low, high, anchor)
        top = h(mode)
        left, right = _fallen(h, mode, low, 60), _fallen(h, mode, high, 60)
        points = [left + (mode - left) * mpf(i) / 6 for i in range(6)]
        points += [mode + (right - mode) * mpf(i) / 6 for i in range(7)]
        points = sorted(set(points))
        if len(points) < 2:
            continue
        value = mp.quad(lambda t: mp.exp(h(t) - top), points, method="gauss-legendre", maxdegree=5)  # noqa: B023
        if value > 0:
            total.append(top + mp.log(value))
    best = max(total)
    return best + mp.log(sum(mp.exp(x - best) for x in total)) - mp.log(2 * mp.pi * var) / 2


def derivatives(loss, t):
    """Return the loss and its first three derivatives by differences at high precision; t must not be a knot."""
    with mp.workdps(4 * DIGITS):
        found = [loss(mpf(t)), *(mpmath.diff(loss, mpf(t), n) for n in (1, 2, 3))]
        return [x if abs(x) > mpf(10) ** -320 else mpf(0) for x in found]  # below that, rounding of the differences


def build():
    """Return the table: class -> list of {parameters, derivatives, integrals}; numbers as strings of 25 digits."""
    import bayesvm.likelihoods as library

    table = {}
    for name, (formula, settings) in CASES.items():
        table[name] = []
        for parameters in settings:
            exact = {k: mpf(v) for k, v in parameters.items()}
            instance = getattr(library, name)(**parameters)

            def loss(t, formula=formula, exact=exact):
                return formula(t, **exact)

            def text(x):
                return mp.nstr(x, 25)

            rows = {
                "derivatives": [
                    [p, *(text(d) for d in derivatives(loss, p))]
                    for p in POINTS
                    if instance.domain[0] < p < instance.domain[1]
                ],
                "integrals": [
                    [m, v, text(log_gaussian_integral(loss, instance.knots, instance.domain, m, v))]
                    for m, v in GAUSSIANS
                ],
            }
            table[name].append({"parameters": parameters, **rows})
            print(name, parameters, flush=True)  # noqa: T201
    return table


def _text(table):
    """Return the table as JSON with one row of numbers per line."""
    blocks = []
    for name, entries in table.items():
        texts = []
        for entry in entries:
            rows = {key: ",\n  ".join(json.dumps(row) for row in entry[key]) for key in ("derivatives", "integrals")}
            parts = [f'"{key}": [\n  {text}\n ]' for key, text in rows.items()]
            texts.append("{" + ",\n ".join([f'"parameters": {json.dumps(entry["parameters"])}', *parts]) + "}")
        blocks.append(f"{json.dumps(name)}: [" + ",\n ".join(texts) + "]")
    return "{" + ",\n".join(blocks) + "}\n"


if __name__ == "__main__":
    mp.dps = DIGITS
    TABLE.write_text(_text(build()))
