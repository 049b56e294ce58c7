"""The variational bound: contract, below the evidence, monotone descent, gradients, negative precisions, families."""

import dataclasses

import numpy as np
import pytest
from kernel_instances import CASES, points
from kernel_instances import IDS as KERNEL_IDS
from likelihood_instances import IDS, INSTANCES, concrete_subclasses

import bayesvm.likelihoods as lib
from bayesvm.exceptions import IncompatibleError, NotPositiveDefiniteError
from bayesvm.hyper import EvidenceObjective
from bayesvm.inference import Exact, FactorAnalysed, Inference, Variational, variational
from bayesvm.inference.free_energy import VariationalGaussian as Free
from bayesvm.kernels import Constant, Gaussian
from bayesvm.kernels.inputs import Inputs
from bayesvm.solvers import Status
from bayesvm.testing import check_inference, exact_log_evidence, five_point, relative_error
from bayesvm.testing.solvers import problem

TIGHT = Variational(tol=1e-9)
FINITE = [(i, x) for i, x in zip(IDS, INSTANCES) if not np.isfinite(x.domain[0])]
ONE_EACH = list({type(x): x for _, x in reversed(FINITE)}.values())

every = pytest.mark.parametrize("likelihood", [x for _, x in FINITE], ids=[i for i, _ in FINITE])
each = pytest.mark.parametrize("likelihood", ONE_EACH, ids=lambda x: type(x).__name__)


def random_problem(likelihood, n, rng):
    A = rng.normal(size=(n, n + 1))
    K = np.exp(rng.uniform(-2.0, 3.0)) * (A @ A.T) / n
    y = 1.5 * rng.normal(size=n)
    return K, np.where(y > 0.0, 1.0, -1.0) if isinstance(likelihood, lib.Classification) else y


# -- contract ----------------------------------------------------------------------------------------------------------
def test_no_method_of_these_two_files_is_forgotten():
    modules = {"bayesvm.inference.variational", "bayesvm.inference.factor_analysed"}
    assert {c for c in concrete_subclasses(Inference) if c.__module__ in modules} == {Variational, FactorAnalysed}


@every
def test_contract(likelihood):
    check_inference(TIGHT, likelihood)


@each
def test_contract_with_weights(likelihood):
    weights = np.random.default_rng(3).uniform(0.2, 2.0, size=40)
    weights[::9] = 0.0
    check_inference(TIGHT, lib.Weighted(likelihood, weights))


@pytest.mark.parametrize("method", [Variational(), FactorAnalysed(1)], ids=["full", "factor"])
def test_infinite_losses_are_refused(method):
    for likelihood in (lib.Trigonometric(), lib.RaisedCosine()):
        K, y = problem(likelihood)
        with pytest.raises(IncompatibleError, match="its loss is finite only between -1 and inf"):
            method.infer(K, y, likelihood)


# -- a bound -----------------------------------------------------------------------------------------------------------
def check_bound(likelihood, problems, seed=0):
    rng = np.random.default_rng(seed)
    for i in range(problems):
        K, y = random_problem(likelihood, 3 if i % 10 == 0 else 2, rng)
        gap = exact_log_evidence(K, y, likelihood) - TIGHT.infer(K, y, likelihood)[1].value
        assert gap > -1e-9, (K, y, gap)


@each
def test_below_the_evidence(likelihood):
    check_bound(likelihood, 6)


@pytest.mark.slow
@every
def test_below_the_evidence_on_a_hundred_problems(likelihood):
    check_bound(likelihood, 100, seed=1)


@pytest.mark.parametrize("variance", [0.01, 0.3, 30.0])
def test_gaussian_noise_is_exact(variance):
    likelihood = lib.GaussianNoise(variance)
    for seed in (0, 1):
        K, y = problem(likelihood, seed=seed)
        exact, found = Exact().infer(K, y, likelihood)[1], Variational().infer(K, y, likelihood)[1]
        np.testing.assert_allclose(found.value, exact.value, rtol=0.0, atol=1e-9)
        np.testing.assert_allclose(found.dK, exact.dK, atol=1e-8)
        np.testing.assert_allclose(found.dphi, exact.dphi, atol=1e-8)
    K, y = random_problem(likelihood, 3, np.random.default_rng(4))
    np.testing.assert_allclose(
        Variational().infer(K, y, likelihood)[1].value, exact_log_evidence(K, y, likelihood), atol=1e-9
    )


def test_the_reference_itself():
    likelihood = lib.GaussianNoise(0.3)
    for n in (1, 2, 3):
        K, y = random_problem(likelihood, n, np.random.default_rng(n))
        np.testing.assert_allclose(
            exact_log_evidence(K, y, likelihood), Exact().infer(K, y, likelihood)[1].value, atol=1e-10
        )
    with pytest.raises(ValueError, match="found 4"):
        exact_log_evidence(np.eye(4), np.ones(4), likelihood)


# -- descent -----------------------------------------------------------------------------------------------------------
@each
@pytest.mark.parametrize("size", [0.1, 1.0, 30.0])
def test_the_free_energy_never_rises(likelihood, size, monkeypatch):
    K, y = problem(likelihood)
    lower, energies = variational._lower, []

    def recorded(K, y, likelihood, q, natural, near):
        new = lower(K, y, likelihood, q, natural, near)
        if new is not None:
            energies.append((q.energy, new.energy))
        return new

    monkeypatch.setattr(variational, "_lower", recorded)
    assert Variational(starts=1).infer(size * K, y, likelihood)[1].status.ok
    assert energies
    for before, after in energies:
        assert after <= before + 1e-11 * (1.0 + abs(before))


def test_iterations_are_few_at_n_400():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = np.where(np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] + 0.5 * rng.normal(size=400) > 0.0, 1.0, -1.0)
    for likelihood in (lib.Logistic(), lib.NormalizedHinge()):
        objective = EvidenceObjective(Gaussian(5.0, 1.5) + Constant(1.0), likelihood.fix(), Variational(), Inputs(X), y)
        cold = objective.evaluate(objective.theta0)
        warm = objective.evaluate(objective.theta0 + 0.1, cold.evidence.latent)
        assert cold.evidence.status.ok
        assert warm.evidence.status.ok
        assert cold.evidence.n_iter <= 30
        assert warm.evidence.n_iter <= 10


def test_running_out_of_iterations_is_reported():
    K, y = problem(lib.Logistic())
    assert Variational(max_iter=3).infer(100.0 * K, y, lib.Logistic())[1].status is Status.MAX_ITER


# -- gradients ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("case", CASES, ids=KERNEL_IDS)
@pytest.mark.parametrize("likelihood", [lib.Logistic(), lib.NormalizedHinge()], ids=lambda x: type(x).__name__)
def test_every_kernel(case, likelihood):
    kernel = Gaussian(2.0, 0.6) + case.kernel if case.id == "mlp" else case.kernel
    X = points(20)
    y = np.where(np.sin(1.5 * X[:, 0]) + 0.3 * X[:, 1] > 0.1, 1.0, -1.0)
    objective = EvidenceObjective(kernel, likelihood, TIGHT, Inputs(X), y)
    centre = objective.evaluate(objective.theta0)
    latent = centre.evidence.latent
    slopes = five_point(lambda t: objective.evaluate(t, latent).value, objective.theta0, 2e-4).reshape(-1)
    scale = max(0.01, float(np.abs(slopes).max(initial=0.0)) * 1e-2)
    assert relative_error(centre.gradient, slopes, floor=scale) < 1e-6, (centre.gradient, slopes)


# -- the concave kink --------------------------------------------------------------------------------------------------
def noisy_labels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1))
    y = np.where(X[:, 0] > 0.0, 1.0, -1.0)
    y[:8] *= -1.0
    return (Gaussian(4.0, 2.0) + Constant(1.0)).gram(X), y


def test_negative_precisions_tighten_the_bound():
    K, y = noisy_labels()
    likelihood = lib.NormalizedHinge().fix()
    posterior, evidence = TIGHT.infer(K, y, likelihood)
    D, nu = evidence.latent
    assert evidence.status.ok
    assert np.sum(D < 0.0) >= 3
    clipped = Free.of(K, y, likelihood, np.stack([np.maximum(D, 0.0), nu]))
    assert -clipped.energy < evidence.value
    V = np.linalg.inv(np.linalg.inv(K + 1e-10 * np.eye(60)) + np.diag(D))
    np.testing.assert_allclose(posterior.var(K[:, posterior.support], np.diagonal(K).copy()), np.diagonal(V), rtol=1e-5)


def test_several_starts_are_compared_and_the_best_is_kept():
    K, y = noisy_labels()
    evidence = dataclasses.replace(TIGHT, starts=4).infer(K, y, lib.NormalizedHinge().fix())[1]
    assert len(evidence.bounds) == 4
    assert evidence.value >= max(evidence.bounds) - 1e-3
    assert evidence.multimodal == (max(evidence.bounds) - min(evidence.bounds) > 1e-3)
    alone = TIGHT.infer(K, y, lib.Logistic())[1]
    assert alone.bounds == (alone.value,)
    assert not alone.multimodal


def test_a_warm_start_that_the_gram_matrix_does_not_bear():
    K, y = noisy_labels()
    likelihood = lib.NormalizedHinge().fix()
    latent = np.stack([np.full(60, -5.0), y])
    warm, cold = TIGHT.infer(K, y, likelihood, warm_start=latent)[1], TIGHT.infer(K, y, likelihood)[1]
    assert warm.status.ok
    assert warm.value <= cold.value + 1e-6


@each
def test_a_gram_matrix_that_is_none_is_refused(likelihood):
    K, y = problem(likelihood, n=6)
    K = K - 1.01 * np.linalg.eigvalsh(K)[-1] * np.eye(6)
    with pytest.raises(NotPositiveDefiniteError):
        Variational().infer(K, y, likelihood, warm_start=np.stack([np.full(6, 1e3), np.zeros(6)]))


@pytest.mark.parametrize("likelihood", [lib.Logistic(), lib.NormalizedHinge().fix()], ids=lambda x: type(x).__name__)
def test_every_factorisation_is_counted(likelihood, monkeypatch):
    """Those of all starts; not those of the convex loss, which only makes one."""
    of, counted = Free.of, []

    def counting(K, y, given, *others, **options):
        counted.append(given is likelihood)
        return of(K, y, given, *others, **options)

    monkeypatch.setattr(Free, "of", counting)
    for seed in range(6):
        K, y = noisy_labels() if seed == 0 else random_problem(likelihood, 12, np.random.default_rng(seed))
        counted.clear()
        evidence = Variational(starts=4).infer(30.0 * K if seed % 2 else K, y, likelihood)[1]
        assert evidence.n_iter == sum(counted)


def test_a_later_start_that_is_better_is_followed_to_its_end():
    K, y = noisy_labels()
    likelihood, spent = lib.NormalizedHinge().fix(), []

    class Poor(Variational):
        def _descend(self, K, y, given, natural, tol):
            """Descend; from the first start hardly, as if there were a poor optimum."""
            method = self if spent else Variational(max_iter=4)
            q, status, n_iter = Variational._descend(method, K, y, given, natural, tol)
            spent.append(n_iter if given is likelihood else 0)
            return q, status, n_iter

    best = TIGHT.infer(K, y, likelihood)[1]
    evidence = Poor(starts=3).infer(K, y, likelihood)[1]
    assert evidence.status.ok
    assert evidence.value == pytest.approx(best.value, abs=1e-8)
    assert evidence.bounds[0] < best.value - 0.1
    assert evidence.bounds[1] == pytest.approx(evidence.value, abs=1e-8)
    assert evidence.n_iter == sum(spent)
    assert evidence.multimodal
