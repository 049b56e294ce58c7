"""The support vector machine as a probability model (Sollich1999): mode, evidence, normaliser, draws."""

from bayesvm.inference.hinge.annealed import AnnealedEstimate, Annealing, annealed_evidence
from bayesvm.inference.hinge.ep_or_exact import HingeExactOrEP
from bayesvm.inference.hinge.mode import HingeMode, hinge_bounds, hinge_mode
from bayesvm.inference.hinge.naive_evidence import NaiveHinge
from bayesvm.inference.hinge.normalizer import (
    Normalizer,
    NormalizerEstimate,
    log_nu,
    normalizer_path,
    planned,
    rejection,
)
from bayesvm.inference.hinge.sampling import PosteriorDraws, SliceSampling

__all__ = [
    "AnnealedEstimate",
    "Annealing",
    "HingeExactOrEP",
    "HingeMode",
    "NaiveHinge",
    "Normalizer",
    "NormalizerEstimate",
    "PosteriorDraws",
    "SliceSampling",
    "annealed_evidence",
    "hinge_bounds",
    "hinge_mode",
    "log_nu",
    "normalizer_path",
    "planned",
    "rejection",
]
