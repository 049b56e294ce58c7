"""Covariance functions and their algebra; the contract is in :mod:`bayesvm.kernels.base`."""

from bayesvm.kernels.base import Kernel
from bayesvm.kernels.constant import Constant
from bayesvm.kernels.dirichlet import Dirichlet
from bayesvm.kernels.dot import MLP, Linear, Polynomial
from bayesvm.kernels.gaussian import Gaussian
from bayesvm.kernels.inputs import Inputs
from bayesvm.kernels.matern import Matern32, Matern52, OrnsteinUhlenbeck
from bayesvm.kernels.neural_network import NeuralNetwork
from bayesvm.kernels.precomputed import Precomputed
from bayesvm.kernels.rational_quadratic import RationalQuadratic
from bayesvm.kernels.rescaled import Rescaled
from bayesvm.kernels.sklearn_adapter import from_sklearn
from bayesvm.kernels.spline import BSpline

__all__ = [
    "MLP",
    "BSpline",
    "Constant",
    "Dirichlet",
    "Gaussian",
    "Inputs",
    "Kernel",
    "Linear",
    "Matern32",
    "Matern52",
    "NeuralNetwork",
    "OrnsteinUhlenbeck",
    "Polynomial",
    "Precomputed",
    "RationalQuadratic",
    "Rescaled",
    "from_sklearn",
]
