"""Newton: every likelihood it can treat, refusals in words, warm starts, hard problems."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from likelihood_instances import IDS, INSTANCES, concrete_subclasses

import bayesvm.likelihoods as lib
from bayesvm.exceptions import IncompatibleError
from bayesvm.kernels import Gaussian
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods.base import Classification, Likelihood, Traits
from bayesvm.linalg import SupportFactor
from bayesvm.solvers import MAPResult, Newton, Solver, Status, newton
from bayesvm.solvers.newton import times
from bayesvm.testing import check_solver
from bayesvm.testing.solvers import problem

SOLVERS = [Newton()]
TREATED = [(i, x) for i, x in zip(IDS, INSTANCES) if x.traits.smoothness >= 1 and x.traits.convex]
REFUSED = [(i, x) for i, x in zip(IDS, INSTANCES) if not (x.traits.smoothness >= 1 and x.traits.convex)]


def every(cases):
    return pytest.mark.parametrize("likelihood", [x for _, x in cases], ids=[i for i, _ in cases])


def weights(n=40, seed=5):
    w = np.random.default_rng(seed).uniform(0.1, 3.0, size=n)
    w[::7] = 0.0
    return w


# -- conformance ------------------------------------------------------------------------------------------------------
def test_newton_is_among_the_solvers_and_none_is_without_an_instance():
    solvers = {c for c in concrete_subclasses(Solver) if c.__module__ == "bayesvm.solvers.newton"}
    assert solvers == {type(s) for s in SOLVERS}


def test_both_lists_hold_something_and_no_likelihood_is_missing():
    kinds = {type(x) for _, x in (*TREATED, *REFUSED)} | {lib.Weighted}
    assert kinds == concrete_subclasses(Likelihood)
    assert {type(x).__name__ for _, x in REFUSED} == {"Hinge", "NormalizedHinge", "Laplace", "EpsilonInsensitive"}


@every(TREATED)
@pytest.mark.parametrize("seed", [0, 1])
def test_contract(likelihood, seed):
    check_solver(Newton(), likelihood, seed=seed)


@every(TREATED)
def test_contract_with_weights(likelihood):
    check_solver(Newton(), lib.Weighted(likelihood, weights()))


@every(REFUSED)
def test_refusal_names_what_is_missing(likelihood):
    K, y = problem(likelihood)
    name = type(likelihood).__name__
    with pytest.raises(
        IncompatibleError,
        match=rf"Newton cannot treat {name}: it needs 1 continuous derivative\(s\) of the loss \(it has 0\)",
    ) as caught:
        Newton().solve(K, y, likelihood)
    assert ("and a convex loss" in str(caught.value)) == (not likelihood.traits.convex)


def test_refusal_of_a_smooth_loss_that_is_not_convex():
    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Concave(lib.Logistic):
        traits = Traits(smoothness=3, convex=False, normalized=True, sparse=False)

    with pytest.raises(IncompatibleError, match=r"Newton cannot treat Concave: it needs a convex loss$"):
        Newton().check(Concave())


# -- what the checks themselves notice --------------------------------------------------------------------------------
@dataclasses.dataclass(frozen=True)
class Faulty(Newton):
    """A Newton solver with one fault, to see that the check notices it."""

    change: object = None

    def solve(self, K, y, likelihood, *, warm_start=None) -> MAPResult:
        result = super().solve(K, y, likelihood, warm_start=warm_start)
        return dataclasses.replace(result, **self.change(result, warm_start))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r, _: {"alpha": r.alpha + 1e-5}, "expected alpha = -loss'"),
        (lambda r, _: {"status": Status.STALLED}, "did not converge"),
        (lambda r, _: {"objective": r.objective + 1e-6}, "reports the objective"),
        (lambda r, warm: {"n_iter": 99} if warm is not None else {}, "a warm start at the mode took 99 steps"),
    ],
    ids=["alpha", "status", "objective", "warm"],
)
def test_the_check_notices(change, message):
    with pytest.raises(AssertionError, match=message):
        check_solver(Faulty(change=change), lib.Logistic())


def test_the_check_notices_a_point_that_is_no_minimum():
    class Half(Newton):
        def solve(self, K, y, likelihood, *, warm_start=None):
            r = super().solve(K, y, likelihood, warm_start=warm_start)
            f = 0.5 * r.f
            return dataclasses.replace(r, f=f, alpha=-likelihood.derivatives(y, f).gradient)

    with pytest.raises(AssertionError, match="expected f = K alpha"):
        check_solver(Half(), lib.Logistic())


# -- results ----------------------------------------------------------------------------------------------------------
def test_gaussian_noise_is_solved_in_one_step():
    likelihood = lib.GaussianNoise(0.3)
    K, y = problem(likelihood)
    result = Newton(tol=1e-11).solve(K, y, likelihood)
    assert result.n_iter == 1
    np.testing.assert_allclose(result.f, K @ np.linalg.solve(K + 0.3 * np.eye(40), y), rtol=1e-9)


def test_points_in_the_flat_part_have_no_coefficient():
    for likelihood in (lib.Trigonometric(), lib.RaisedCosine()):
        K, y = problem(likelihood)
        result = Newton().solve(10.0 * K, y, likelihood)
        flat = y * result.f > 1.0
        assert 0 < flat.sum() < y.size
        assert np.all(result.alpha[flat] == 0.0)
        assert np.all(result.alpha[~flat] * y[~flat] > 0.0)


@every(TREATED)
def test_arguments_are_left_alone(likelihood):
    K, y = problem(likelihood)
    guess = 0.1 * y
    before = K.copy(), y.copy(), guess.copy()
    Newton().solve(K, y, likelihood, warm_start=guess)
    for old, new in zip(before, (K, y, guess)):
        assert np.array_equal(old, new)


@every(TREATED)
def test_warm_start_after_a_small_change_of_the_gram_matrix(likelihood):
    solver = Newton(tol=1e-10)
    K, y = problem(likelihood)
    mode = solver.solve(K, y, likelihood)
    changed = 1.02 * K
    cold = solver.solve(changed, y, likelihood)
    warm = solver.solve(changed, y, likelihood, warm_start=mode.f)
    assert cold.status.ok
    assert warm.status.ok
    assert warm.n_iter <= cold.n_iter
    if cold.n_iter > 3:
        assert warm.n_iter < cold.n_iter
    np.testing.assert_allclose(warm.f, cold.f, rtol=0.0, atol=1e-7)


@every(TREATED)
@pytest.mark.parametrize("guess", [0.0, 50.0, -50.0, 1e8])
def test_a_bad_guess_does_not_change_the_result(likelihood, guess):
    solver = Newton(tol=1e-10)
    K, y = problem(likelihood)
    cold = solver.solve(K, y, likelihood)
    warm = solver.solve(K, y, likelihood, warm_start=guess * np.sign(y))
    assert warm.status.ok
    np.testing.assert_allclose(warm.f, cold.f, rtol=0.0, atol=1e-7)


# -- hard problems ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("likelihood", [lib.Trigonometric(), lib.RaisedCosine()], ids=["trigonometric", "raised"])
@pytest.mark.parametrize("scale", [1.0, 1e3, 1e6])
def test_contradictory_rows_stay_inside_the_domain(likelihood, scale):
    K, y = problem(likelihood, n=20)
    twice = np.tile(np.arange(20), 2)
    K = scale * K[np.ix_(twice, twice)]
    y = np.r_[y, -y]  # every input with both labels: margins beyond one would cost an infinite loss at the twin
    result = Newton().solve(K, y, likelihood)
    assert result.status.ok
    assert np.isfinite(result.objective)
    np.testing.assert_allclose(result.f, 0.0, atol=1e-6)

    y[20:30] = y[:10]  # now only half of them
    result = Newton().solve(K, y, likelihood)
    assert result.status.ok
    assert np.all(np.abs(result.f[10:20]) < 1.0)
    assert np.all(y * result.f > -1.0)


both = pytest.mark.parametrize("solve", [Newton.solve, Newton.solve_in_numpy], ids=["native", "numpy"])


@both
def test_a_warm_start_outside_the_domain_is_dropped(solve):
    likelihood = lib.Trigonometric()
    K, y = problem(likelihood)
    assert not np.all(np.isfinite(likelihood.derivatives(y, -3.0 * y).loss))
    cold, warm = solve(Newton(), K, y, likelihood), solve(Newton(), K, y, likelihood, warm_start=-3.0 * y)
    np.testing.assert_array_equal(warm.f, cold.f)
    assert warm.n_iter == cold.n_iter


@every(TREATED)
@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1e6, 1e10])
def test_huge_and_tiny_kernel_variance(likelihood, scale):
    K, y = problem(likelihood)
    K = scale * (K + 0.01 * np.eye(40))
    result = Newton().solve(K, y, likelihood)
    assert np.isfinite(result.objective)
    assert result.objective <= likelihood.derivatives(y, np.zeros(40)).loss.sum() * (1.0 + 1e-12)
    if scale < 1.0:
        assert result.status.ok
        np.testing.assert_allclose(
            result.f, K @ -likelihood.derivatives(y, np.zeros(40)).gradient, rtol=1e-2, atol=1e-9
        )
    else:
        assert result.status.ok or (scale > 1e6 and result.status is Status.STALLED)  # kernels end at a variance of 1e6
        assert result.kkt < 1e-6


@pytest.mark.parametrize("n", [1, 2])
@every(TREATED)
def test_tiny_problems(likelihood, n):
    K, y = problem(likelihood, n=n)
    result = Newton(tol=1e-11).solve(K, y, likelihood)
    assert result.status.ok
    np.testing.assert_allclose(result.alpha, -likelihood.derivatives(y, result.f).gradient, atol=1e-12)
    np.testing.assert_allclose(result.f, K @ result.alpha, atol=1e-9)


@both
def test_running_out_of_steps_is_reported(solve):
    likelihood = lib.Logistic()
    K, y = problem(likelihood)
    result = solve(Newton(max_iter=1), 100.0 * K, y, likelihood)
    assert result.status is Status.MAX_ITER
    assert not result.status.ok
    assert result.n_iter == 1
    assert result.kkt > 1e-9
    assert np.isfinite(result.objective)
    assert "maximal number" in result.status.value


@both
def test_a_tolerance_below_rounding_ends_as_stalled(solve):
    likelihood = lib.Logistic()
    K, y = problem(likelihood)
    result = solve(Newton(tol=1e-30), 1e4 * K, y, likelihood)
    assert result.status is Status.STALLED
    assert result.kkt < 1e-9


@settings(deadline=None, max_examples=25)
@given(
    name=st.sampled_from(["trigonometric", "raised-cosine", "logistic", "probit", "huber", "smooth-insensitive"]),
    log_scale=st.floats(-6.0, 4.0),
    seed=st.integers(0, 10**6),
    n=st.integers(1, 30),
)
def test_any_problem_converges(name, log_scale, seed, n):
    likelihood = lib.from_name(name)
    K, y = problem(likelihood, n=n, seed=seed)
    K = 10.0**log_scale * K
    result = Newton().solve(K, y, likelihood)
    assert result.status is not Status.MAX_ITER
    assert result.kkt < 1e-6
    assert result.objective <= likelihood.derivatives(y, np.zeros(n)).loss.sum() + 1e-9


# -- weights ----------------------------------------------------------------------------------------------------------
@every(TREATED)
def test_integer_weights_equal_repeated_rows(likelihood):
    K, y = problem(likelihood, n=15)
    w = np.array([1, 2, 3, 0, 1] * 3)
    rows = np.repeat(np.arange(15), w)
    solver = Newton(tol=1e-12)
    repeated = solver.solve(np.ascontiguousarray(K[np.ix_(rows, rows)]), y[rows], likelihood)
    weighted = solver.solve(K, y, lib.Weighted(likelihood, w.astype(float)))
    np.testing.assert_allclose(weighted.f[rows], repeated.f, atol=1e-8)
    np.testing.assert_allclose(weighted.objective, repeated.objective, rtol=1e-10)
    np.testing.assert_allclose(weighted.alpha, np.bincount(rows, repeated.alpha, 15), atol=1e-8)
    assert np.all(weighted.alpha[w == 0] == 0.0)


def test_times_uses_only_the_rows_that_count():
    K, _ = problem(lib.Logistic())
    for step in (1, 2, 5, 100):
        x = np.zeros(40)
        x[::step] = np.arange(1.0, 1.0 + x[::step].size)
        np.testing.assert_allclose(times(K, x), K @ x, rtol=1e-13)
    np.testing.assert_array_equal(times(K, np.zeros(40)), np.zeros(40))


def test_classification_problems_have_labels():
    for _, likelihood in TREATED:
        _, y = problem(likelihood)
        assert (set(np.unique(y)) == {-1.0, 1.0}) == isinstance(likelihood, Classification)


@both
@pytest.mark.parametrize(
    "likelihood", [lib.SoftInsensitive(3.0, 0.5, 0.01), lib.SoftInsensitive(10.0, 0.1, 0.3)], ids=repr
)
def test_a_search_that_stalls_with_majorants_goes_on_without(likelihood, solve):
    K, y = problem(likelihood)
    result = solve(Newton(), 1e10 * (K + 0.01 * np.eye(40)), y, likelihood)
    assert result.kkt < 1e-7


@both
def test_a_search_that_stalls_with_majorants_at_its_last_factorisation_ends(solve):
    likelihood = lib.SoftInsensitive(100.0, 0.1, 0.001)
    K, y = problem(likelihood)
    K, start = 1e8 * (K + 0.01 * np.eye(40)), np.ones(40)
    spent = [solve(Newton(max_iter=most), K, y, likelihood, warm_start=start).n_iter for most in range(1, 50)]
    assert all(n <= most for most, n in enumerate(spent, 1))


# -- chord steps ------------------------------------------------------------------------------------------------------
def test_mixed_chord_steps_are_fewer_and_lead_to_the_same_mode(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=80) > 0.0, 1.0, -1.0)
    K, likelihood = Gaussian(4.0, 1.0).gram(Inputs(X)), lib.Logistic()
    mode = Newton(tol=1e-12).solve_in_numpy(K, y, likelihood)
    alpha = mode.alpha * (1.0 + 0.02 * rng.normal(size=80))
    start = newton._point(y, likelihood, alpha, K @ alpha)
    factor = SupportFactor.of(K, 1.2 * mode.derivatives.curvature)  # plain steps divide the residual by six
    seen, plain_point = [], newton._point
    monkeypatch.setattr(newton, "_point", lambda *args: seen.append(args) or plain_point(*args))
    steps = []
    for depth in (0, newton.CHORD_DEPTH):
        monkeypatch.setattr(newton, "CHORD_DEPTH", depth)
        seen.clear()
        found = newton._chord_steps(K, y, likelihood, start, factor, 1e-8)
        assert found.kkt <= newton.POLISH * 1e-8
        np.testing.assert_allclose(found.f, K @ found.alpha, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(found.alpha, mode.alpha, rtol=1e-7, atol=1e-8)
        steps.append(len(seen))
    plain, mixed = steps
    assert mixed <= plain - 3
