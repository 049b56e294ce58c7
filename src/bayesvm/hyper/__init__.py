"""Learning theta: the evidence objective, hyperpriors, and one search for all estimators."""

from bayesvm.hyper.assessment import Assessment, assess, predict_assessment
from bayesvm.hyper.bfgs import SearchStatus
from bayesvm.hyper.default_prior import CommonLevel, default_hyperprior
from bayesvm.hyper.interrupts import keep_best_on_interrupt
from bayesvm.hyper.model_evidence import ModelEvidence, has_jumps, integrated_evidence, nearby_maximum
from bayesvm.hyper.multistart import Maximizer, Maximum, SearchProgress, StartRecord
from bayesvm.hyper.objective import Evaluation, EvidenceObjective
from bayesvm.hyper.priors import ByName, Flat, Hyperprior, LogNormal, RelevanceGamma, RelevanceShares, thesis_prior
from bayesvm.hyper.search import maximize_evidence
from bayesvm.hyper.starts import regression_starting_points, starting_points

__all__ = [
    "Assessment",
    "ByName",
    "CommonLevel",
    "Evaluation",
    "EvidenceObjective",
    "Flat",
    "Hyperprior",
    "LogNormal",
    "Maximizer",
    "Maximum",
    "ModelEvidence",
    "RelevanceGamma",
    "RelevanceShares",
    "SearchProgress",
    "SearchStatus",
    "StartRecord",
    "assess",
    "default_hyperprior",
    "has_jumps",
    "integrated_evidence",
    "keep_best_on_interrupt",
    "maximize_evidence",
    "nearby_maximum",
    "predict_assessment",
    "regression_starting_points",
    "starting_points",
    "thesis_prior",
]
