"""Seeing for yourself that the evidence gradient of a fitted estimator is right."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from sklearn.base import clone

from bayesvm.testing.differences import five_point, relative_error
from bayesvm.typing import Vector


@dataclasses.dataclass(frozen=True)
class GradientReport:
    """Analytic and numerical gradient of a log evidence.

    Attributes
    ----------
    names : tuple of str
        Hyperparameters (their logarithms are differentiated).
    theta : array
        Where.
    analytic, numeric : arrays
        The library's gradient, and five-point central differences of the value.
    error : float
        Largest ``|analytic - numeric| / max(1, |numeric|)``.
    """

    names: tuple[str, ...]
    theta: Vector
    analytic: Vector
    numeric: Vector
    error: float

    def __str__(self) -> str:
        width = max((len(name) for name in self.names), default=4)
        head = f"{'':{width}}  {'analytic':>14}  {'differences':>14}"
        rows = [f"{n:{width}}  {a:14.7g}  {d:14.7g}" for n, a, d in zip(self.names, self.analytic, self.numeric)]
        return "\n".join([head, *rows, f"largest relative error {self.error:.1e}"])


def check_gradient(estimator: Any, X: Any, y: Any, theta: Any = None, step: float = 1e-4) -> GradientReport:
    """Compare the evidence gradient of a self-tuning estimator with five-point differences.

    Parameters
    ----------
    estimator : self-tuning estimator
        Cloned and fitted without optimisation; the original is not changed.
    X, y : arrays
        Data.
    theta : array, optional
        Where to compare (logarithms of the hyperparameters); the estimator's first start if None.
    step : float
        Step of the differences. The evidence of a likelihood whose curvature jumps (trigonometric, soft insensitive)
        jumps too: if a jump lies within two steps, the differences are wrong and not the gradient. Try another theta or
        step.

    Returns
    -------
    report : GradientReport
        Print it, or look at ``report.error``.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesvm import BayesianSVC, check_gradient
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(30, 2))
    >>> y = X[:, 0] + 0.5 * rng.normal(size=30) > 0
    >>> bool(check_gradient(BayesianSVC(likelihood="logistic"), X, y).error < 1e-6)
    True
    """
    fitted = clone(estimator).set_params(optimizer=None).fit(X, y)
    if theta is None:
        theta = fitted.history_[0].end
    theta = np.asarray(theta, dtype=float)
    _, analytic = fitted.log_evidence(theta, gradient=True)
    numeric = five_point(lambda t: fitted.log_evidence(t), theta, step).reshape(theta.shape)
    return GradientReport(fitted.theta_names_, theta, analytic, numeric, relative_error(analytic, numeric))


__all__ = ["GradientReport", "check_gradient"]
