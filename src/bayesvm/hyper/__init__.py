"""Learning theta: the evidence objective, hyperpriors, and one maximiser for all estimators."""

from bayesvm.hyper.ascent import ClimbStatus
from bayesvm.hyper.maximize import Maximizer, Maximum, StartRecord, Tick
from bayesvm.hyper.objective import Evaluation, EvidenceObjective
from bayesvm.hyper.priors import ByName, Flat, Hyperprior, LogNormal, RelevanceGamma, RelevanceShares, thesis_prior
from bayesvm.hyper.settle import maximize_evidence
from bayesvm.hyper.shared import SharedObjective
from bayesvm.hyper.starts import regression_starting_points, starting_points
from bayesvm.hyper.thin import maximize_thinning
from bayesvm.hyper.tie import maximize_untying

__all__ = [
    "ByName",
    "ClimbStatus",
    "Evaluation",
    "EvidenceObjective",
    "Flat",
    "Hyperprior",
    "LogNormal",
    "Maximizer",
    "Maximum",
    "RelevanceGamma",
    "RelevanceShares",
    "SharedObjective",
    "StartRecord",
    "Tick",
    "maximize_evidence",
    "maximize_thinning",
    "maximize_untying",
    "regression_starting_points",
    "starting_points",
    "thesis_prior",
]
