"""(K, y, likelihood) -> Posterior, Evidence."""

from bayesvm.inference.base import Evidence, Inference, Posterior
from bayesvm.inference.cavities import Marginals, leave_one_out
from bayesvm.inference.ep import EP
from bayesvm.inference.exact import Exact
from bayesvm.inference.laplace import Laplace

__all__ = ["EP", "Evidence", "Exact", "Inference", "Laplace", "Marginals", "Posterior", "leave_one_out"]
