"""The evidence with the hyperparameters integrated out, of machines with Gaussian process models."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted


class ModelEvidenceMixin:
    """Adds ``log_model_evidence_`` and its error to an estimator with Gaussian process models."""

    models_: tuple[Any, ...]
    log_evidence_: float
    optimizer: str | None
    #: Added to log evidences of targets that were brought to other units.
    _log_jacobian: float = 0.0

    @property
    def log_model_evidence_(self) -> float:
        r"""Log evidence with the hyperparameters integrated out, in nats; summed over the outputs.

        It counts hyperparameters, so it compares kernels, likelihoods and ``ard`` where ``log_evidence_``, their value
        at the learnt hyperparameters, prefers the larger model. Their prior is the machine's ``hyperprior`` if one was
        given and is proper, and otherwise the weak one of :mod:`bayesvm.hyper.default_prior`, on the scale of the data.

        It is computed when it is first asked for and then kept: a short search from the learnt hyperparameters and
        :math:`4k + 1` evaluations for k hyperparameters, each of the cost of one evaluation in ``fit``. NaN if the
        evidence cannot be computed next to the optimum. With ``optimizer=None`` the hyperparameters are given, nothing
        is integrated, and it is ``log_evidence_``.
        """
        check_is_fitted(self)
        if self.optimizer is None:
            return self.log_evidence_
        return float(sum(model.model_evidence.value for model in self.models_)) + self._log_jacobian

    @property
    def log_model_evidence_error_(self) -> float:
        """Estimated bound of the error of ``log_model_evidence_`` in nats (:mod:`bayesvm.hyper.model_evidence`).

        It is that of the integral over the hyperparameters; how close Laplace's method comes to the evidence at given
        hyperparameters is another matter.
        """
        check_is_fitted(self)
        if self.optimizer is None:
            return 0.0
        return float(sum(model.model_evidence.error for model in self.models_))


__all__ = ["ModelEvidenceMixin"]
