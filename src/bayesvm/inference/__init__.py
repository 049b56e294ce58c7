"""(K, y, likelihood) -> Posterior, Evidence."""

from bayesvm.inference.base import Evidence, Inference, Posterior
from bayesvm.inference.ep import EP
from bayesvm.inference.exact import Exact
from bayesvm.inference.factor_analysed import FactorAnalysed
from bayesvm.inference.laplace import Laplace
from bayesvm.inference.leave_one_out import Marginals, leave_one_out
from bayesvm.inference.names import PREDICTIVE_EP, from_name
from bayesvm.inference.variational import Variational, VariationalEvidence

__all__ = [
    "EP",
    "PREDICTIVE_EP",
    "Evidence",
    "Exact",
    "FactorAnalysed",
    "Inference",
    "Laplace",
    "Marginals",
    "Posterior",
    "Variational",
    "VariationalEvidence",
    "from_name",
    "leave_one_out",
]
