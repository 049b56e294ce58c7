"""(K, y, likelihood) -> Posterior, Evidence."""

from bayesvm.inference.base import Evidence, Inference, Posterior
from bayesvm.inference.exact import Exact
from bayesvm.inference.laplace import Laplace

__all__ = ["Evidence", "Exact", "Inference", "Laplace", "Posterior"]
