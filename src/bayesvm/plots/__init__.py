"""Pictures of fitted estimators, in scikit-learn's manner: ``Display.from_estimator(...)`` draws and returns it.

matplotlib (extra ``plots``) is imported when something is drawn. Surfaces use a colour map of increasing lightness
and lines differ in dash or marker too, so that every picture can be read without colour.
"""

from bayesvm.plots.comparison import ComparisonDisplay
from bayesvm.plots.decision import DecisionSurfaceDisplay
from bayesvm.plots.evidence import EvidenceSurfaceDisplay, EvidenceTraceDisplay
from bayesvm.plots.hinge import EvidenceCurveDisplay, SVMPriorDisplay
from bayesvm.plots.latent import LatentFunctionDisplay
from bayesvm.plots.losses import LossDisplay, NoiseDensityDisplay
from bayesvm.plots.prior import PriorSamplesDisplay
from bayesvm.plots.relevance import RelevanceDisplay
from bayesvm.plots.reliability import ReliabilityDisplay
from bayesvm.plots.residuals import ResidualsDisplay

__all__ = [
    "ComparisonDisplay",
    "DecisionSurfaceDisplay",
    "EvidenceCurveDisplay",
    "EvidenceSurfaceDisplay",
    "EvidenceTraceDisplay",
    "LatentFunctionDisplay",
    "LossDisplay",
    "NoiseDensityDisplay",
    "PriorSamplesDisplay",
    "RelevanceDisplay",
    "ReliabilityDisplay",
    "ResidualsDisplay",
    "SVMPriorDisplay",
]
