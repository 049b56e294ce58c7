"""Latent functions with Gaussian posteriors of the common form: everything that prediction needs, and nothing else."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator, Sequence
from typing import Self

import numpy as np

from bayesvm.inference import Marginals, Posterior
from bayesvm.inference.reduction import NO_ROWS, Reduction, reduce_posteriors
from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods.base import Classification, Likelihood, Regression
from bayesvm.likelihoods.weighted import Weighted
from bayesvm.linalg.covariance_root import covariance_root
from bayesvm.models.base import BLOCK, CACHE, PART
from bayesvm.models.calibration import Calibration, ScaleCalibration
from bayesvm.typing import Indices, Matrix, Vector


@dataclasses.dataclass(frozen=True)
class Predictor:
    """Kernel, likelihood and posteriors, with the support rows that prediction needs.

    Attributes
    ----------
    kernel, likelihood : Kernel, Likelihood
        With their learnt parameters; the kernel acts on standardised inputs.
    posteriors : tuple of Posterior
        One per output.
    inputs : Inputs
        Rows of the support of any posterior (of the basis, if they are reduced), standardised.
    marginals : tuple of Marginals
        The posteriors at the training rows, for leave-one-out predictions.
    calibrations : tuple of Calibration or ScaleCalibration
        Correction of the predictions, one per output.
    reduction : Reduction or None
        Of the posteriors to a basis of few rows; None if they are as they were inferred.
    """

    kernel: Kernel
    likelihood: Likelihood
    posteriors: tuple[Posterior, ...]
    inputs: Inputs
    marginals: tuple[Marginals, ...] = dataclasses.field(default=(), kw_only=True)
    calibrations: tuple[Calibration | ScaleCalibration, ...] = dataclasses.field(default=(), kw_only=True)
    reduction: Reduction | None = dataclasses.field(default=None, kw_only=True)

    def __sizeof__(self) -> int:
        """Return the size with the data; see :class:`~bayesvm.kernels.inputs.Inputs`."""
        return object.__sizeof__(self) + sys.getsizeof(self.inputs)

    @property
    def n_outputs(self) -> int:
        """Number of latent functions."""
        return len(self.posteriors)

    @property
    def basis(self) -> Indices:
        """Training rows on which predictions depend."""
        return support_union(self.posteriors)

    def reduced_on(self, X: Inputs, tol: float | None, preferred: Indices = NO_ROWS) -> Self:
        """Return the predictor with its posteriors projected onto few rows (:mod:`bayesvm.inference.reduction`).

        Predictions at the training rows X change by at most ``tol`` standard deviations. The predictor is returned as
        it is for None, and where no smaller set of rows is good enough. Leave-one-out predictions do not change.
        Rows in ``preferred`` are taken before others.
        """
        if tol is None:
            return self
        variances = [q.var for q in self.marginals]
        weights = np.asarray(self.likelihood.weights) if isinstance(self.likelihood, Weighted) else None
        found = reduce_posteriors(self.kernel.gram(X), self.posteriors, variances, tol, preferred, weights)
        if found is None:
            return self
        posteriors, reduction = found
        return dataclasses.replace(
            self, posteriors=posteriors, inputs=X.forget().take(reduction.basis), reduction=reduction
        )

    # -- the latent functions -----------------------------------------------------------------------------------------
    def mean(self, X: Inputs) -> Matrix:
        """Return the means of the latent functions alone, at a lower cost than :meth:`latent`."""
        mean = np.empty((len(X), self.n_outputs))
        for rows, part in blocks(X, len(self.inputs)):
            for k, (p, K_s) in enumerate(self._cross(part)):
                mean[rows, k] = p.mean(K_s)
        return mean

    def latent(self, X: Inputs) -> tuple[Matrix, Matrix]:
        """Return means and variances of the latent functions at the rows of X (standardised), block by block."""
        mean, var = np.empty((len(X), self.n_outputs)), np.empty((len(X), self.n_outputs))
        for rows, part in blocks(X, len(self.inputs)):
            prior = self.kernel.diag(part)
            for k, (p, K_s) in enumerate(self._cross(part)):
                mean[rows, k], var[rows, k] = p.mean(K_s), p.var(K_s, prior)
        return mean, var

    def sample(self, X: Inputs, n_draws: int, rng: np.random.Generator) -> Matrix:
        """Return joint draws of the latent functions at the rows of X, shape (n, n_draws, q)."""
        K_ss, draws = self.kernel.gram(X), []
        for p, K_s in self._cross(X):
            root = covariance_root(p.covariance(K_s, K_ss), float(np.max(K_ss.diagonal())), what="posterior covariance")
            draws.append(p.mean(K_s)[:, None] + root @ rng.standard_normal((len(X), n_draws)))
        return np.stack(draws, axis=-1)

    def _cross(self, X: Inputs) -> Iterator[tuple[Posterior, Matrix]]:
        """Yield every posterior with the Gram matrix of X and its support."""
        K_s = self.kernel.gram(X, self.inputs)
        if self.n_outputs == 1:
            yield self.posteriors[0], K_s
            return
        rows = support_union(self.posteriors)
        for p in self.posteriors:
            yield p, K_s[:, np.searchsorted(rows, p.support)]

    # -- predictions of labels and targets ----------------------------------------------------------------------------
    def log_odds(self, X: Inputs) -> Matrix:
        """Return log odds of the averaged (and calibrated) probabilities, one column per output."""
        mean, var = self.latent(X)
        return self._calibrated(mean, var)

    def odds_range(self, X: Inputs) -> tuple[Matrix, Matrix] | None:
        """Return bounds of the log odds of one output that need the latent mean alone; None where there are none.

        A variance is at most that of the prior.
        """
        likelihood = self.likelihood.plain
        if self.n_outputs > 1 or not isinstance(likelihood, Classification) or not likelihood.traits.levels_off:
            return None
        mean = self.mean(X)
        least = likelihood.least_log_odds(mean, self.kernel.diag(X)[:, None])
        low, high = np.where(mean > 0.0, least, -np.inf), np.where(mean < 0.0, -least, np.inf)
        for correction in self.calibrations:
            assert isinstance(correction, Calibration)
            low, high = correction.apply(low), correction.apply(high)
        return low, high

    def loo_log_odds(self) -> Matrix:
        """Return the same for the training rows, each predicted without itself."""
        return self._calibrated(*self.loo_latent())

    def loo_latent(self) -> tuple[Matrix, Matrix]:
        """Return means and variances of the latent functions at the training rows, each without itself."""
        mean = np.column_stack([q.cavity_mean for q in self.marginals])
        var = np.column_stack([q.cavity_var for q in self.marginals])
        return mean, var

    def _calibrated(self, mean: Matrix, var: Matrix) -> Matrix:
        likelihood = self.likelihood.plain
        assert isinstance(likelihood, Classification)
        columns = [likelihood.log_odds(mean[:, k], var[:, k]) for k in range(self.n_outputs)]
        for k, correction in enumerate(self.calibrations):
            assert isinstance(correction, Calibration)
            columns[k] = correction.apply(columns[k])
        return np.column_stack(columns)

    def loo_log_densities(self, outputs: Sequence[Vector]) -> Matrix:
        """Return log densities of the training targets, each predicted without itself, one column per output.

        Parameters
        ----------
        outputs : sequence of arrays, shape (n,)
            The targets of every output.
        """
        noise = self.likelihood.plain
        assert isinstance(noise, Regression)
        columns = []
        for c, q, y in zip(self.calibrations, self.marginals, outputs, strict=True):
            assert isinstance(c, ScaleCalibration)
            columns.append(c.log_density(noise, y, q.cavity_mean, q.cavity_var))
        return np.column_stack(columns)


def support_union(posteriors: Sequence[Posterior]) -> Indices:
    """Return the training rows that some posterior needs."""
    if len(posteriors) == 1:
        return posteriors[0].support
    return np.unique(np.concatenate([p.support for p in posteriors]))


def blocks(X: Inputs, width: int) -> Iterator[tuple[Indices, Inputs]]:
    """Cut X into parts whose Gram matrix with ``width`` other rows stays in the cache (``CACHE`` entries).

    A part has at least ``PART`` rows, so that a large factor is not read for a few rows at a time, as long as its Gram
    matrix has at most ``BLOCK`` entries.
    """
    n, width = len(X), max(1, width)
    step = max(CACHE // width, min(PART, BLOCK // width), 1)
    for start in range(0, n, step):
        rows = np.arange(start, min(start + step, n))
        yield rows, X if rows.size == n else X.take(rows)


__all__ = ["Predictor", "blocks", "support_union"]
