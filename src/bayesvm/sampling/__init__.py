r"""The full Bayesian treatment of :math:`\theta` (Thesis section 3.2.5.2).

Draws from its posterior, and predictions averaged over them. ``sample_theta(fitted)`` draws the hyperparameters of any
fitted self-tuning estimator; ``.committee()`` of the result is the average of (3.70) as an estimator. The samplers are
those of nutpie and emcee, which come with the extra ``bayesvm[sampling]``.
"""

from bayesvm.sampling.diagnostics import Diagnostics
from bayesvm.sampling.draw import ThetaSamples, sample_theta
from bayesvm.sampling.target import Target

__all__ = ["Diagnostics", "Target", "ThetaSamples", "sample_theta"]
