"""Fitted models: from a specification and training data to latent functions with learnt hyperparameters."""

from bayesvm.models.base import Candidate, FittedModel, ModelSpec, SearchOptions, TrainingData
from bayesvm.models.fit import fit_model
from bayesvm.models.gaussian_process import GaussianProcess, GaussianProcessModel

__all__ = [
    "Candidate",
    "FittedModel",
    "GaussianProcess",
    "GaussianProcessModel",
    "ModelSpec",
    "SearchOptions",
    "TrainingData",
    "fit_model",
]
