"""Several classes with one kernel: scores, judgement, average."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_softmax

from bayesvm.hyper import EvidenceObjective, Maximum, default_hyperprior
from bayesvm.inference import EP, Exact, Laplace, leave_one_out
from bayesvm.inference.leave_one_out import left_out_means
from bayesvm.kernels import Constant, Gaussian
from bayesvm.kernels.inputs import Inputs
from bayesvm.likelihoods import GaussianNoise, Trigonometric
from bayesvm.likelihoods.weighted import Weighted
from bayesvm.models.average import AveragedClasses
from bayesvm.models.base import SearchOptions, TrainingData
from bayesvm.models.candidates import OneKernel
from bayesvm.models.class_kernels import ClassKernels
from bayesvm.models.class_scores import MeanFunctions, PosteriorMeans, SignRegression
from bayesvm.models.fit import fit_model
from bayesvm.models.gaussian_process import GaussianProcessModel
from bayesvm.models.joint_calibration import calibrate_classes
from bayesvm.models.joint_process import JointProcess
from bayesvm.models.lattice import FARTHEST, climb, log_prior, shifts
from bayesvm.models.probabilities import one_against_rest
from bayesvm.models.shared_process import MANY, Judge, SharedProcess, judged_rows

KERNEL = (Gaussian(2.0, 1.5) + Constant(0.5)).bind(2)


def blobs(n=60, n_classes=3, seed=0, spread=0.8):
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % n_classes
    angles = 2.0 * np.pi * codes / n_classes
    X = np.column_stack([np.cos(angles), np.sin(angles)]) * 2.0 + spread * rng.normal(size=(n, 2))
    return X, codes


def data_of(X, codes, weights=None):
    signs = one_against_rest(codes, int(codes.max()) + 1)
    return TrainingData(Inputs(X), signs, weights, 3.0, codes=codes, scale=np.ones(signs.shape[1]))


def spec(kind=SharedProcess, candidates=None, **changes):
    options = {"hyperprior": default_hyperprior(3.0), "shared": True, "calibrate": "auto"} | changes
    return kind(candidates or ClassKernels(), Trigonometric(), Laplace(), options=SearchOptions(n_starts=2), **options)


@pytest.mark.parametrize("weighted", [False, True])
def test_sign_regression_is_exact_regression_with_unit_noise(weighted):
    X, codes = blobs()
    K, signs = KERNEL.gram(Inputs(X)), one_against_rest(codes, 3)
    copies = np.random.default_rng(1).integers(1, 4, size=codes.size).astype(float)
    noise, labels = GaussianNoise(1.0), Trigonometric()
    if weighted:
        noise, labels = Weighted(noise, tuple(copies)), Weighted(labels, tuple(copies))
    found = SignRegression().scores(K, signs, labels)
    for k in range(3):
        posterior, _ = Exact().infer(K, signs[:, k].copy(), noise)
        q = leave_one_out(K, posterior, noise.copies)
        np.testing.assert_allclose(found.coefficients[:, k], posterior.coefficients(codes.size), atol=1e-10)
        np.testing.assert_allclose(found.means[:, k], q.mean, atol=1e-10)
        np.testing.assert_allclose(found.left_out[:, k], q.cavity_mean, atol=1e-10)


def test_left_out_means_of_sign_regression_are_those_of_a_machine_without_the_row():
    X, codes = blobs(n=20)
    K, signs = KERNEL.gram(Inputs(X)), one_against_rest(codes, 3)
    found = SignRegression().scores(K, signs, Trigonometric())
    rest = np.arange(1, 20)
    alpha = np.linalg.solve(K[np.ix_(rest, rest)] + np.eye(19), signs[rest])
    np.testing.assert_allclose(found.left_out[0], K[0, rest] @ alpha, atol=1e-10)


@pytest.mark.parametrize("inference", [Laplace(), EP()])
def test_posterior_means_are_those_of_the_inference(inference):
    X, codes = blobs()
    K, signs = KERNEL.gram(Inputs(X)), one_against_rest(codes, 3)
    found = PosteriorMeans(inference).scores(K, signs, Trigonometric())
    for k in range(3):
        posterior, _ = inference.infer(K, signs[:, k].copy(), Trigonometric())
        q = leave_one_out(K, posterior)
        np.testing.assert_allclose(found.means[:, k], q.mean, atol=3e-3)
        np.testing.assert_allclose(found.left_out[:, k], q.cavity_mean, atol=1e-2)


def test_functions_keep_the_rows_with_a_coefficient():
    X, codes = blobs()
    K, signs = KERNEL.gram(Inputs(X)), one_against_rest(codes, 3)
    found = PosteriorMeans(Laplace()).scores(K, signs, Trigonometric())
    functions = MeanFunctions.of(KERNEL, Inputs(X), found.coefficients)
    assert functions.basis.size < codes.size
    np.testing.assert_allclose(functions.mean(Inputs(X)), found.means, atol=1e-10)


def test_climbing_ends_at_a_place_that_no_neighbour_beats():
    def look(place):
        return -float((place[0] - 2) ** 2 + (place[1] + 1) ** 2)

    scores = climb(look)
    assert max(scores, key=scores.get) == (2, -1)
    assert max(climb(lambda place: float(place[0]), farthest=1).values()) == 1.0
    assert max(abs(i) for i, _ in climb(lambda place: float(place[0]))) == FARTHEST
    assert log_prior((0, 0)) == 0.0 > log_prior((1, 0))
    assert shifts((1, -1))[0] > 0.0 > shifts((1, -1))[1]


def test_climbing_needs_a_score_at_the_start():
    with pytest.raises(ValueError, match="a score at the start"):
        climb(lambda place: None)


def test_an_average_of_classes():
    X, codes = blobs(n=90)
    model = fit_model(spec(), data_of(X, codes))
    assert isinstance(model, AveragedClasses)
    assert model.weights.sum() == pytest.approx(1.0)
    log_proba = model.log_odds(Inputs(X))
    np.testing.assert_allclose(np.exp(log_proba).sum(axis=1), 1.0, rtol=1e-12)
    mixed = sum(w * np.exp(log_softmax(m.log_odds(Inputs(X)), axis=1)) for w, m in zip(model.weights, model.members))
    np.testing.assert_allclose(np.exp(log_proba), mixed, rtol=1e-10)
    assert np.mean(log_proba.argmax(axis=1) == codes) > 0.9
    assert {c.kernel for c in model.candidates} >= {"gaussian"}
    assert sum(c.weight for c in model.candidates) == pytest.approx(1.0)


def test_left_out_probabilities_are_worse_than_those_of_the_rows_themselves():
    X, codes = blobs(n=90, spread=1.2)
    model, rows = fit_model(spec(), data_of(X, codes)), np.arange(90)
    kept, left = (
        log_softmax(odds, axis=1)[rows, codes].sum() for odds in (model.log_odds(Inputs(X)), model.loo_log_odds())
    )
    assert left < kept


def test_weight_is_repetition():
    X, codes = blobs(n=45)
    weights = np.random.default_rng(0).integers(1, 3, size=45)
    weighted = fit_model(spec(), data_of(X, codes, weights.astype(float)))
    repeated = fit_model(spec(), data_of(np.repeat(X, weights, axis=0), np.repeat(codes, weights)))
    np.testing.assert_allclose(np.exp(weighted.log_odds(Inputs(X))), np.exp(repeated.log_odds(Inputs(X))), atol=2e-3)


def test_a_given_kernel_stays_at_the_maximum_of_its_evidence():
    X, codes = blobs(n=60)
    model = fit_model(spec(JointProcess, OneKernel(Gaussian() + Constant())), data_of(X, codes))
    member = model.members[0]
    assert len(model.members) == 1
    np.testing.assert_allclose(member.functions.mean(Inputs(X)), model.chosen.mean(Inputs(X)), atol=1e-9)
    expected = member.calibration.apply(model.chosen.mean(Inputs(X)))
    np.testing.assert_allclose(log_softmax(expected, axis=1), model.log_odds(Inputs(X)), atol=1e-9)


def test_many_rows_are_judged_on_a_part():
    X, codes = blobs(n=MANY + 80)
    data = data_of(X, codes)
    rows = judged_rows(data)
    assert rows.size < data.n_rows
    assert np.ptp(np.bincount(codes[rows])) <= 2
    model = fit_model(spec(), data)
    assert len(model.objective.X) == data.n_rows
    assert model.members[0].left_out.shape == (data.n_rows, 3)


def test_a_class_with_one_row():
    X, codes = blobs(n=40, n_classes=3)
    codes = np.append(codes, 3)
    X = np.vstack([X, [[6.0, 6.0]]])
    model = fit_model(spec(), data_of(X, codes))
    assert np.all(np.isfinite(model.log_odds(Inputs(X))))
    assert np.all(np.isfinite(model.loo_log_odds()))


def test_class_numbers_are_needed():
    X, codes = blobs()
    data = data_of(X, codes)
    with pytest.raises(ValueError, match="class numbers"):
        fit_model(spec(JointProcess, OneKernel(KERNEL)), TrainingData(data.X, data.y, scale=data.scale))


@pytest.mark.parametrize("weighted", [False, True])
def test_left_out_means_of_a_sparse_posterior_are_those_of_its_cavities(weighted):
    X, codes = blobs()
    K, y = KERNEL.gram(Inputs(X)), one_against_rest(codes, 3)[:, 0].copy()
    copies = np.random.default_rng(1).integers(1, 4, size=codes.size).astype(float)
    likelihood = Weighted(Trigonometric(), tuple(copies)) if weighted else Trigonometric()
    posterior, _ = Laplace().infer(K, y, likelihood)
    q = leave_one_out(K, posterior, likelihood.copies)
    mean, left_out = left_out_means(K, posterior, likelihood.copies)
    np.testing.assert_allclose(mean, q.mean, atol=1e-10)
    np.testing.assert_allclose(left_out, q.cavity_mean, atol=1e-10)


@pytest.mark.parametrize("n", [60, MANY + 80])
def test_a_judgement_is_the_worth_of_the_left_out_means_and_the_prior_of_the_place(n):
    """Each judging row stands for several; what was tuned is counted once, however many rows judge."""
    X, codes = blobs(n=n)
    data, place = data_of(X, codes), (1, -2)
    rows = judged_rows(data)
    objective = EvidenceObjective(KERNEL, Trigonometric(), Laplace(), Inputs(X[rows]), data.y[rows])
    model = GaussianProcessModel.at_maximum(objective, Maximum.at(objective.theta0, 0.0, None))
    K = (Gaussian(2.0 * np.exp(2.0), 1.5 * np.exp(-1.4)) + Constant(0.5 * np.exp(2.0))).bind(2).gram(Inputs(X[rows]))
    scores = PosteriorMeans(Laplace()).scores(K, data.y[rows], Trigonometric())
    count = n / rows.size
    fit = calibrate_classes(scores.left_out, codes[rows], np.ones(rows.size), determined=3.0 / count)
    expected = count * fit.log_evidence - 0.5 * (2.0 / 5.0) ** 2 - 0.5 * (1.4 / 0.7) ** 2
    assert Judge(model, data, PosteriorMeans(Laplace())).score(place) == pytest.approx(expected, abs=1e-6)
