r"""Bayesian neural networks with one hidden layer (Thesis section 3.1, MacKay1992).

The network is :math:`f(x) = b + V \tanh(c + U x)`, Thesis (3.14). Its weights are in groups, each with a Gaussian prior
of precision :math:`\kappa_c` (3.33): one group per input (or one for all), one for the biases of the hidden units, one
for the weights and one for the biases of the outputs.

*Level 1*: the mode of :math:`S(w) = \sum \ell + \sum_c \tfrac{\kappa_c}{2} \lVert w_c \rVert^2` (3.8) by L-BFGS with
exact gradients. *Level 2*: from the Gauss-Newton Hessian :math:`H = J^\top W J + \operatorname{diag}(\kappa)`, which is
positive definite,

.. math:: \gamma_c = k_c - \kappa_c \operatorname{tr}_c H^{-1}, \qquad
          \kappa_c \leftarrow \gamma_c / \lVert w_c \rVert^2, \qquad
          \sigma_k^2 \leftarrow \frac{\sum_i r_{ik}^2}{n - \sum_c \gamma_c / q}

for each of q outputs, repeated until the evidence (3.21) no longer changes. *Level 3*: the evidence with the widths of
the posterior of the logarithms of the hyperparameters, :math:`\sqrt{2/\gamma_c}` and :math:`\sqrt{2/(n - \gamma/q)}`,
and the :math:`2^m m!` networks that are the same up to signs and order of the hidden units; it ranks numbers of hidden
units and starts (3.22).
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import gammaln

from bayesvm.likelihoods.base import Likelihood
from bayesvm.linalg import Cholesky, cholesky
from bayesvm.solvers.base import Status
from bayesvm.typing import Indices, Matrix, Vector

#: Precisions stay within this range.
LEAST, MOST = 1e-6, 1e10
#: Precisions of the first cycle, in turn. Weak ones begin with a flexible network, which may fit noise, strong ones
#: with nearly linear hidden units, which may stay so. The evidence tells which of the two optima is better.
FIRST = (0.05, 30.0)

Likelihoods = tuple[Likelihood, ...]


@dataclasses.dataclass(frozen=True)
class Network:
    """Shape of a network: which entries of the weight vector are what.

    Parameters
    ----------
    inputs, hidden, outputs : int
        Numbers of units.
    ard : bool
        Whether the weights of every input are a group of their own.
    """

    inputs: int
    hidden: int
    outputs: int
    ard: bool = True

    @property
    def size(self) -> int:
        """Number of weights."""
        return self.hidden * (self.inputs + 1) + self.outputs * (self.hidden + 1)

    def split(self, w: Vector) -> tuple[Matrix, Vector, Matrix, Vector]:
        """Return U (hidden, inputs), c (hidden,), V (outputs, hidden), b (outputs,)."""
        cuts = np.cumsum([self.hidden * self.inputs, self.hidden, self.outputs * self.hidden])
        U, c, V, b = np.split(w, cuts)
        return U.reshape(self.hidden, self.inputs), c, V.reshape(self.outputs, self.hidden), b

    def groups(self) -> Indices:
        """Return the group of every weight: inputs first, then hidden biases, output weights, output biases."""
        first = np.tile(np.arange(self.inputs) if self.ard else np.zeros(self.inputs, dtype=int), self.hidden)
        sizes = [self.hidden, self.outputs * self.hidden, self.outputs]
        return np.concatenate([first, first.max() + np.repeat([1, 2, 3], sizes)])

    def start(self, rng: np.random.Generator) -> Vector:
        """Return random weights at which the hidden units are neither linear nor saturated."""
        U = rng.standard_normal((self.hidden, self.inputs)) / np.sqrt(self.inputs)
        V = rng.standard_normal((self.outputs, self.hidden)) / np.sqrt(self.hidden)
        return np.concatenate([U.ravel(), rng.standard_normal(self.hidden), V.ravel(), np.zeros(self.outputs)])

    def forward(self, w: Vector, X: Matrix) -> tuple[Matrix, Matrix]:
        """Return outputs (n, outputs) and hidden values (n, hidden), Thesis (3.14)."""
        U, c, V, b = self.split(w)
        hidden = np.tanh(X @ U.T + c)
        return hidden @ V.T + b, hidden

    def backward(self, w: Vector, X: Matrix, hidden: Matrix, slope: Matrix) -> Vector:
        """Return the gradient in the weights of a function whose gradient in the outputs is ``slope``."""
        V = self.split(w)[2]
        inner = (slope @ V) * (1.0 - hidden**2)
        return np.concatenate([(inner.T @ X).ravel(), inner.sum(axis=0), (slope.T @ hidden).ravel(), slope.sum(axis=0)])

    def jacobian(self, w: Vector, X: Matrix) -> Matrix:
        """Return the derivatives of the outputs in the weights, shape (n, outputs, size)."""
        V = self.split(w)[2]
        _, hidden = self.forward(w, X)
        n = len(X)
        J = np.zeros((n, self.outputs, self.size))
        inner = (1.0 - hidden**2)[:, None, :] * V  # (n, outputs, hidden)
        a, b = self.hidden * self.inputs, self.hidden * (self.inputs + 1)
        J[:, :, :a] = (inner[..., None] * X[:, None, None, :]).reshape(n, self.outputs, a)
        J[:, :, a:b] = inner
        for k in range(self.outputs):
            J[:, k, b + k * self.hidden : b + (k + 1) * self.hidden] = hidden
            J[:, k, b + self.outputs * self.hidden + k] = 1.0
        return J


@dataclasses.dataclass(frozen=True)
class TrainedNetwork:
    r"""A network at the optimum of its hyperparameters.

    Attributes
    ----------
    network : Network
        Its shape.
    weights : array
        The mode.
    precision : array, shape (n_groups,)
        :math:`\kappa_c`.
    determined : array, shape (n_groups,)
        :math:`\gamma_c`, how many weights of each group the data determine.
    likelihoods : tuple of Likelihood
        One per output, with its noise.
    factor : Cholesky
        Of the Gauss-Newton Hessian.
    log_evidence : float
        Level 3, up to a constant that is the same for all numbers of hidden units.
    status : Status
        Whether the evidence settled.
    n_iter : int
        Cycles of levels 1 and 2.
    """

    network: Network
    weights: Vector
    precision: Vector
    determined: Vector
    likelihoods: Likelihoods
    factor: Cholesky
    log_evidence: float
    status: Status
    n_iter: int

    def latent(self, X: Matrix) -> tuple[Matrix, Matrix]:
        r"""Return outputs and their variances :math:`g^\top H^{-1} g` (3.29) at the rows of X, each (n, outputs)."""
        mean, _ = self.network.forward(self.weights, X)
        J = self.network.jacobian(self.weights, X)
        half = self.factor.half_solve(J.reshape(-1, self.network.size).T)
        return mean, np.einsum("ij,ij->j", half, half).reshape(mean.shape)


@dataclasses.dataclass(frozen=True)
class NetworkTrainer:
    """Options of the training.

    Parameters
    ----------
    tol : float
        Change of the log evidence per cycle, in nats, below which the hyperparameters have settled.
    max_cycles : int
        Largest number of cycles of levels 1 and 2.
    steps : int
        Largest number of L-BFGS steps per cycle.
    """

    tol: float = 0.01
    max_cycles: int = 100
    steps: int = 200

    def train(
        self,
        network: Network,
        X: Matrix,
        Y: Matrix,
        likelihood: Likelihood,
        rng: np.random.Generator,
        first: float = FIRST[0],
    ) -> TrainedNetwork:
        """Train one network from a random start.

        Parameters
        ----------
        network : Network
            Its shape.
        X, Y : arrays, shapes (n, inputs) and (n, outputs)
            Standardised inputs; labels -1/+1 or targets, one column per output.
        likelihood : Likelihood
            Of every output. If it has a noise variance (a quadratic loss), that is re-estimated for each.
        rng : numpy Generator
            For the start.
        first : float
            Precision of all weights in the first cycle.
        """
        groups = network.groups()
        kappa = np.full(groups.max() + 1, first)
        likelihoods = (likelihood,) * network.outputs
        w, last = network.start(rng), -np.inf
        for cycle in range(1, self.max_cycles + 1):
            w = self._mode(network, w, X, Y, likelihoods, kappa[groups])
            level = _level2(network, w, X, Y, likelihoods, kappa)
            if abs(level.log_evidence - last) < self.tol:
                return dataclasses.replace(level, status=Status.CONVERGED, n_iter=cycle)
            last = level.log_evidence
            kappa = np.clip(level.determined / np.maximum(np.bincount(groups, w**2), 1e-300), LEAST, MOST)
            likelihoods = _renoised(likelihoods, Y - network.forward(w, X)[0], float(level.determined.sum()))
        return dataclasses.replace(level, n_iter=self.max_cycles)

    def _mode(
        self, network: Network, w: Vector, X: Matrix, Y: Matrix, likelihoods: Likelihoods, decay: Vector
    ) -> Vector:
        """Level 1: return the weights after at most ``steps`` steps of L-BFGS, in units of their prior deviations."""
        root = np.sqrt(decay)

        def cost(v: Vector) -> tuple[float, Vector]:
            w = v / root
            f, hidden = network.forward(w, X)
            loss, slope, _ = _derivatives(likelihoods, Y, f)
            return loss + 0.5 * float(v @ v), network.backward(w, X, hidden, slope) / root + v

        options: Any = {"maxiter": self.steps, "ftol": 1e-9, "gtol": 1e-4}
        found = minimize(cost, w * root, jac=True, method="L-BFGS-B", options=options)
        return np.asarray(found.x) / root


def _derivatives(likelihoods: Likelihoods, Y: Matrix, f: Matrix) -> tuple[float, Matrix, Matrix]:
    """Return the total loss, its gradient and its curvature in the outputs."""
    columns = [likelihood.derivatives(Y[:, k], f[:, k]) for k, likelihood in enumerate(likelihoods)]
    gradient = np.column_stack([d.gradient for d in columns])
    return float(sum(np.sum(d.loss) for d in columns)), gradient, np.column_stack([d.curvature for d in columns])


def _level2(
    network: Network, w: Vector, X: Matrix, Y: Matrix, likelihoods: Likelihoods, kappa: Vector
) -> TrainedNetwork:
    """Return Hessian, well determined parameters and evidence at given weights and hyperparameters."""
    groups = network.groups()
    f, _ = network.forward(w, X)
    loss, _, curvature = _derivatives(likelihoods, Y, f)
    J = network.jacobian(w, X).reshape(-1, network.size)
    H = J.T @ (curvature.ravel()[:, None] * J)
    H[np.diag_indices_from(H)] += kappa[groups]
    factor = cholesky(H, overwrite=True, what="the Hessian of the network's weights")
    inverse = factor.inverse_diagonal()
    counts = np.bincount(groups).astype(float)
    gamma = np.clip(counts - kappa * np.bincount(groups, inverse), 1e-8, counts)
    value = -loss - 0.5 * float(kappa[groups] @ w**2) - 0.5 * factor.log_det()
    value += 0.5 * float(counts @ np.log(kappa))
    value += 0.5 * float(np.sum(np.log(2.0 / np.maximum(gamma, 0.1))))  # width of the posterior of ln kappa
    left = max(len(Y) - float(gamma.sum()) / network.outputs, 1.0)
    value += 0.5 * sum(likelihood.theta.size for likelihood in likelihoods) * float(np.log(2.0 / left))
    value += float(gammaln(network.hidden + 1) + network.hidden * np.log(2.0))
    return TrainedNetwork(network, w, kappa, gamma, likelihoods, factor, value, Status.MAX_ITER, 0)


def _renoised(likelihoods: Likelihoods, residuals: Matrix, determined: float) -> Likelihoods:
    """Return the likelihoods with their noise variances re-estimated; as they are, if they have none."""
    if not (likelihoods[0].traits.quadratic and likelihoods[0].theta.size):
        return likelihoods
    left = max(len(residuals) - determined / len(likelihoods), 1.0)
    logs = np.log(np.maximum(np.sum(residuals**2, axis=0) / left, 1e-300))
    low, high = likelihoods[0].bounds[0]
    return tuple(old.with_theta(np.array([np.clip(log, low, high)])) for old, log in zip(likelihoods, logs))


def best_network(
    trainer: NetworkTrainer,
    X: Matrix,
    Y: Matrix,
    likelihood: Likelihood,
    sizes: tuple[int, ...],
    n_starts: int,
    rng: np.random.Generator,
    *,
    ard: bool,
) -> tuple[TrainedNetwork, tuple[TrainedNetwork, ...]]:
    """Train networks of increasing size from several starts; return the best by evidence, and the best of every size.

    The search ends with the first size whose evidence is more than five nats below the best so far.
    """
    best: list[TrainedNetwork] = []
    for hidden in sizes:
        network = Network(X.shape[1], hidden, Y.shape[1], ard)
        tried = [trainer.train(network, X, Y, likelihood, rng, FIRST[i % len(FIRST)]) for i in range(n_starts)]
        best.append(max(tried, key=lambda t: t.log_evidence))
        if best[-1].log_evidence < max(t.log_evidence for t in best) - 5.0:
            break
    return max(best, key=lambda t: t.log_evidence), tuple(best)


__all__ = ["Network", "NetworkTrainer", "TrainedNetwork", "best_network"]
