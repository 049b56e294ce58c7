"""What the self-tuning classifiers with a likelihood share: one-vs-rest machines, their posterior, calibration."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from bayesvm import inference
from bayesvm.estimators._calibration import Calibration, calibrate_odds
from bayesvm.estimators._labels import LabelProbabilities
from bayesvm.estimators._machine import Machine, refine
from bayesvm.inference import EP, PREDICTIVE_EP, Inference
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods import Classification, Likelihood, Weighted, from_name
from bayesvm.typing import Indices, Matrix, Vector


class SelfTuningClassifier(LabelProbabilities):
    """Base of the self-tuning classifiers; see :class:`~bayesvm.BayesianSVC` for arguments, attributes and notes."""

    def _likelihood(self) -> Classification:
        likelihood = from_name(self.likelihood) if isinstance(self.likelihood, str) else self.likelihood
        if not isinstance(likelihood, Classification) or not likelihood.traits.normalized:
            raise ValueError(
                "likelihood: expected 'trigonometric', 'raised-cosine', 'logistic', 'probit' or an object for two classes "
                f"that is a normalised probability, found {self.likelihood!r}"
            )
        return likelihood

    def _check_arguments(self) -> None:
        super()._check_arguments()
        if self.posterior not in (None, "ep", self.inference):
            raise ValueError(
                f"posterior: expected None, 'ep' or the method of inference, {self.inference!r}, found {self.posterior!r}"
            )
        if self.calibrate not in ("auto", "loo", None):
            raise ValueError(f"calibrate: expected 'auto', 'loo' or None, found {self.calibrate!r}")

    def _inference(self) -> Inference:
        return inference.from_name(self.inference, self._solver(), self._likelihood())

    def _refined(self, machine: Machine) -> Machine:
        wanted = self.posterior == "ep" and not isinstance(machine.objective.inference, EP)
        return refine(machine, PREDICTIVE_EP if wanted else None)

    # -- fitting ------------------------------------------------------------------------------------------------------
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn hyperparameters and latent function from the training data.

        Parameters
        ----------
        X : array, sparse matrix or DataFrame, shape (n, d)
            Inputs.
        y : array, shape (n,)
            Labels of two or more classes, of any type that scikit-learn takes.
        sample_weight : array, shape (n,), optional
            Non-negative weights; rows of weight zero are left out.

        Returns
        -------
        self : the estimator
        """
        self._check_arguments()
        likelihood: Likelihood = self._likelihood()
        X, codes, weights, rows = self._labelled(X, y, sample_weight)
        if weights is not None:
            likelihood = Weighted(likelihood, weights[rows])
        positives = range(self.classes_.size) if self.classes_.size > 2 else (1,)
        problems = [(np.where(codes[rows] == k, 1.0, -1.0), likelihood) for k in positives]
        inputs = self._prepare(X[rows], None if weights is None else weights[rows])
        self._finish(self._fit_machines(inputs, problems), X, rows)
        self._leave_one_out(X, codes, rows, np.ones(rows.size) if weights is None else weights[rows])
        return self

    def _leave_one_out(self, X: Any, codes: Indices, rows: Indices, weights: Vector) -> None:
        """Calibrate on the leave-one-out predictions of the rows that were used, and report them for all rows."""
        own = np.column_stack([_loo_log_odds(machine) for machine in self._machines])
        self.calibration_ = [
            Calibration()
            if self.calibrate is None
            else calibrate_odds(
                own[:, k], m.objective.y, weights, tuned=self._tuned(m), cautious=self.calibrate == "auto"
            )
            for k, m in enumerate(self._machines)
        ]
        odds = np.empty((codes.size, len(self._machines)))
        odds[rows] = self._calibrated(own)
        unused = np.setdiff1d(np.arange(codes.size), rows)
        if unused.size:
            odds[unused] = self._log_odds(self._standardizer.inputs(X[unused]))
        log_proba = self._log_proba(odds, None)
        self.loo_proba_ = np.exp(log_proba)
        self.loo_log_likelihood_ = float(weights @ log_proba[rows, codes[rows]])

    def _tuned(self, machine: Machine) -> int:
        return 0 if self.optimizer is None else machine.theta.size

    def _calibrated(self, odds: Matrix) -> Matrix:
        return np.column_stack([c.apply(odds[:, k]) for k, c in enumerate(self.calibration_)])

    # -- prediction ---------------------------------------------------------------------------------------------------
    def _log_odds(self, inputs: Inputs) -> Matrix:
        """Return the log odds of each machine's averaged and calibrated probability, one column per machine."""
        latent = [machine.latent(inputs) for machine in self._machines]
        columns = [m.likelihood.plain.log_odds(*pair) for m, pair in zip(self._machines, latent)]
        return self._calibrated(np.column_stack(columns))


def _loo_log_odds(machine: Machine) -> Vector:
    """Return the log odds of the training rows, each predicted without itself."""
    q = machine.marginals
    assert q is not None
    likelihood = machine.likelihood.plain
    assert isinstance(likelihood, Classification)
    return likelihood.log_odds(q.cavity_mean, q.cavity_var)


__all__ = ["SelfTuningClassifier"]
