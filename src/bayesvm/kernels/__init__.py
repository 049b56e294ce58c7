"""Covariance functions and their algebra; the contract is in :mod:`bayesvm.kernels.base`."""

from bayesvm.kernels.base import Kernel
from bayesvm.kernels.constant import Constant
from bayesvm.kernels.dot import MLP, DotProduct, Linear, NeuralNetwork, Polynomial
from bayesvm.kernels.expression import as_kernel
from bayesvm.kernels.feature_product import BSpline, Dirichlet
from bayesvm.kernels.gaussian import Gaussian
from bayesvm.kernels.inputs import Inputs
from bayesvm.kernels.laplacian import Laplacian
from bayesvm.kernels.logarithmic import Logarithmic
from bayesvm.kernels.precomputed import Precomputed
from bayesvm.kernels.rescaled import Rescaled
from bayesvm.kernels.sklearn_adapter import from_sklearn
from bayesvm.kernels.stationary import Matern32, Matern52, OrnsteinUhlenbeck, RationalQuadratic, Stationary

__all__ = [
    "MLP",
    "BSpline",
    "Constant",
    "Dirichlet",
    "DotProduct",
    "Gaussian",
    "Inputs",
    "Kernel",
    "Laplacian",
    "Linear",
    "Logarithmic",
    "Matern32",
    "Matern52",
    "NeuralNetwork",
    "OrnsteinUhlenbeck",
    "Polynomial",
    "Precomputed",
    "RationalQuadratic",
    "Rescaled",
    "Stationary",
    "as_kernel",
    "from_sklearn",
]
