"""Networks: the evidence of the linearised model, predictive variances, fixed points of the hyperparameters."""

import dataclasses

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import gammaln
from scipy.stats import multivariate_normal

from bayesvm.inference import mlp
from bayesvm.inference.mlp import Network, NetworkTrainer, best_network
from bayesvm.likelihoods import GaussianNoise, Logistic
from bayesvm.testing import five_point


def data(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.tanh(2.0 * X[:, :1]) + 0.1 * rng.normal(size=(n, 1))


def trained(hidden=2, likelihood=None, seed=0, **options):
    X, Y = data()
    Y = Y if likelihood is None else np.where(Y > 0.0, 1.0, -1.0)
    trainer = NetworkTrainer(**{"tol": 1e-5, "max_cycles": 400, "steps": 2000, **options})
    rng = np.random.default_rng(seed)
    return X, Y, trainer.train(Network(2, hidden, 1), X, Y, likelihood or GaussianNoise(0.05), rng)


def cost_of(found, X, Y):
    groups = found.network.groups()

    def cost(w):
        f = found.network.forward(w, X)[0][:, 0]
        return np.sum(found.likelihoods[0].derivatives(Y[:, 0], f).loss) + 0.5 * found.precision[groups] @ w**2

    return cost


def refined(found, X, Y):
    """Return the mode to the last digits."""
    scale = np.sqrt(found.precision[found.network.groups()])
    cost = cost_of(found, X, Y)
    return minimize(lambda v: cost(v / scale), found.weights * scale, method="BFGS", tol=1e-9).x / scale


def test_evidence_is_that_of_the_model_linearised_at_the_mode():
    """With f = f* + J (w - w*) the targets are Gaussian; what is added are widths and symmetries (level 3)."""
    X, Y, found = trained()
    network, kappa, w = found.network, found.precision, refined(found, X, Y)
    level = mlp._level2(network, w, X, Y, found.likelihoods, kappa)
    groups, noise = network.groups(), np.exp(found.likelihoods[0].theta[0])
    J = network.jacobian(w, X)[:, 0]
    shifted = Y[:, 0] - network.forward(w, X)[0][:, 0] + J @ w
    C = J @ np.diag(1.0 / kappa[groups]) @ J.T + noise * np.eye(60)
    exact = multivariate_normal(np.zeros(60), C).logpdf(shifted)
    widths = 0.5 * np.sum(np.log(2.0 / np.maximum(level.determined, 0.1)))
    widths += 0.5 * np.log(2.0 / (60.0 - level.determined.sum()))
    symmetries = gammaln(3) + 2.0 * np.log(2.0)
    assert level.log_evidence == pytest.approx(exact + widths + symmetries, abs=1e-7)
    assert found.log_evidence == pytest.approx(level.log_evidence, abs=1e-3)


@pytest.mark.parametrize("likelihood", [None, Logistic()], ids=["gaussian", "logistic"])
def test_the_weights_are_a_mode_and_the_precisions_a_fixed_point(likelihood):
    X, Y, found = trained(likelihood=likelihood)
    assert found.status.ok
    cost = cost_of(found, X, Y)
    assert cost(found.weights) < cost(refined(found, X, Y)) + 1e-3  # nats
    squares = np.bincount(found.network.groups(), found.weights**2)
    free = (found.precision > 1e-5) & (found.precision < 1e9)
    np.testing.assert_allclose((found.precision * squares)[free], found.determined[free], rtol=1e-3, atol=5e-3)


def test_variances_of_predictions_are_those_of_the_dense_hessian():
    X, _, found = trained()
    network, noise = found.network, np.exp(found.likelihoods[0].theta[0])
    J = network.jacobian(found.weights, X)[:, 0]
    H = J.T @ J / noise + np.diag(found.precision[network.groups()])
    new = np.random.default_rng(1).normal(size=(5, 2))
    mean, var = found.latent(new)
    g = network.jacobian(found.weights, new)[:, 0]
    np.testing.assert_allclose(mean, network.forward(found.weights, new)[0])
    np.testing.assert_allclose(var[:, 0], np.einsum("ij,jk,ik->i", g, np.linalg.inv(H), g), rtol=1e-8)
    trace = np.bincount(network.groups(), np.diagonal(np.linalg.inv(H)))
    counts = np.bincount(network.groups())
    np.testing.assert_allclose(found.determined, np.clip(counts - found.precision * trace, 1e-8, counts), atol=1e-7)


def test_the_network_with_the_highest_evidence_is_kept():
    X, Y = data()
    rng = np.random.default_rng(0)
    best, by_size = best_network(NetworkTrainer(), X, Y, GaussianNoise(0.05), (1, 2, 3), 2, rng, ard=True)
    assert best.log_evidence == max(t.log_evidence for t in by_size)
    assert [t.network.hidden for t in by_size] == [1, 2, 3][: len(by_size)]
    assert best.precision[1] > 100.0 * best.precision[0]  # the second input has no influence


@pytest.mark.parametrize(
    ("values", "tried"), [([1.0, 9.0, 3.5, 20.0], 3), ([1.0, 9.0, 4.5, 20.0], 4), ([9.0, 1.0, 20.0, 0.0], 2)]
)
def test_a_search_ends_with_the_first_size_that_is_five_nats_worse(values, tried):
    X, Y, found = trained(max_cycles=1)

    class Known(NetworkTrainer):
        def train(self, network, X, Y, likelihood, rng, first):
            return dataclasses.replace(found, network=network, log_evidence=values[network.hidden - 1])

    best, by_size = best_network(Known(), X, Y, GaussianNoise(), (1, 2, 3, 4), 2, np.random.default_rng(0), ard=True)
    assert [t.log_evidence for t in by_size] == values[:tried]
    assert best.log_evidence == max(values[:tried])


def test_running_out_of_cycles_is_reported():
    assert not trained(max_cycles=1)[2].status.ok


def test_derivatives_of_several_outputs():
    network, rng = Network(2, 3, 4), np.random.default_rng(0)
    w, X = rng.normal(size=network.size), rng.normal(size=(5, 2))
    expected = five_point(lambda w: network.forward(w, X)[0].ravel(), w).reshape(network.size, 5, 4)
    J = network.jacobian(w, X)
    np.testing.assert_allclose(J, np.moveaxis(expected, 0, -1), rtol=1e-7, atol=1e-9)
    slope = rng.normal(size=(5, 4))
    gradient = network.backward(w, X, network.forward(w, X)[1], slope)
    np.testing.assert_allclose(gradient, np.einsum("nk,nkw->w", slope, J), rtol=1e-12)


def test_groups_of_weights():
    plain, ard = Network(2, 3, 2, ard=False), Network(2, 3, 2)
    assert ard.groups().tolist() == [0, 1] * 3 + [2] * 3 + [3] * 6 + [4] * 2
    assert plain.groups().tolist() == [0, 0] * 3 + [1] * 3 + [2] * 6 + [3] * 2


def two_outputs(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 2))
    Y = np.column_stack([np.tanh(2.0 * X[:, 0]), 0.5 * X[:, 1]]) + rng.normal(size=(80, 2)) * [0.1, 0.3]
    trainer = NetworkTrainer(tol=1e-5, max_cycles=400, steps=2000)
    return X, Y, trainer.train(Network(2, 2, 2), X, Y, GaussianNoise(0.05), rng)


def test_every_output_has_its_noise():
    X, Y, found = two_outputs()
    assert found.status.ok
    left = 80.0 - found.determined.sum() / 2.0
    expected = np.sum((Y - found.network.forward(found.weights, X)[0]) ** 2, axis=0) / left
    np.testing.assert_allclose([likelihood.variance for likelihood in found.likelihoods], expected, rtol=1e-3)
    np.testing.assert_allclose(expected, [0.01, 0.09], rtol=0.5)


def test_the_evidence_of_two_outputs_is_that_of_the_linearised_model():
    X, Y, found = two_outputs()
    network, kappa, groups = found.network, found.precision, found.network.groups()

    def cost(w):
        f = network.forward(w, X)[0]
        loss = sum(np.sum(a.derivatives(Y[:, k], f[:, k]).loss) for k, a in enumerate(found.likelihoods))
        return loss + 0.5 * kappa[groups] @ w**2

    scale = np.sqrt(kappa[groups])
    w = minimize(lambda v: cost(v / scale), found.weights * scale, method="BFGS", tol=1e-9).x / scale
    level = mlp._level2(network, w, X, Y, found.likelihoods, kappa)
    J = network.jacobian(w, X).reshape(160, -1)
    shifted = (Y - network.forward(w, X)[0]).ravel() + J @ w
    noise = np.tile([likelihood.variance for likelihood in found.likelihoods], 80)
    exact = multivariate_normal(np.zeros(160), J / kappa[groups] @ J.T + np.diag(noise)).logpdf(shifted)
    widths = 0.5 * np.sum(np.log(2.0 / np.maximum(level.determined, 0.1)))
    widths += np.log(2.0 / (80.0 - level.determined.sum() / 2.0))  # of two noise variances
    assert level.log_evidence == pytest.approx(exact + widths + gammaln(3) + 2.0 * np.log(2.0), abs=1e-6)


def test_noise_that_is_given_stays():
    X, Y, found = trained(likelihood=GaussianNoise(0.05).fix())
    assert found.likelihoods == (GaussianNoise(0.05).fix(),)
    level = mlp._level2(found.network, found.weights, X, Y, found.likelihoods, found.precision)
    free = mlp._level2(found.network, found.weights, X, Y, (GaussianNoise(0.05),), found.precision)
    width = 0.5 * np.log(2.0 / (60.0 - level.determined.sum()))
    assert free.log_evidence - level.log_evidence == pytest.approx(width, abs=1e-9)


def test_the_start_is_neither_linear_nor_saturated():
    network = Network(40, 50, 30)
    U, c, V, b = network.split(network.start(np.random.default_rng(0)))
    assert np.std(U) == pytest.approx(40**-0.5, rel=0.05)
    assert np.std(V) == pytest.approx(50**-0.5, rel=0.05)
    assert np.std(c) == pytest.approx(1.0, rel=0.3)
    assert not np.any(b)


@pytest.mark.parametrize(("max_cycles", "settled"), [(3, False), (400, True)])
def test_cycles_are_counted(max_cycles, settled, monkeypatch):
    mode, counted = NetworkTrainer._mode, []
    monkeypatch.setattr(NetworkTrainer, "_mode", lambda *args: counted.append(1) or mode(*args))
    found = trained(max_cycles=max_cycles)[2]
    assert (found.status.ok, found.n_iter) == (settled, len(counted))
    assert settled or len(counted) == max_cycles


def test_every_size_is_tried_from_weak_and_from_strong_weights():
    X, Y, found = trained(max_cycles=1)
    begun = []

    class Recorder(NetworkTrainer):
        def train(self, network, X, Y, likelihood, rng, first):
            begun.append((network.hidden, network.ard, first))
            return dataclasses.replace(found, network=network, log_evidence=-float(len(begun)))

    best, by_size = best_network(Recorder(), X, Y, GaussianNoise(), (1, 2), 3, np.random.default_rng(0), ard=False)
    weak, strong = 0.05, 30.0
    assert begun == [(hidden, False, first) for hidden in (1, 2) for first in (weak, strong, weak)]
    assert (best.log_evidence, [t.log_evidence for t in by_size]) == (-1.0, [-1.0, -4.0])
