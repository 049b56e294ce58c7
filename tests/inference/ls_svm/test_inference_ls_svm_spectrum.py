"""Eigenpairs of the centred Gram matrix: singular, indefinite, and from features."""

import numpy as np
import pytest
from ls_svm_problems import random_problem

from bayesvm.exceptions import NotPositiveDefiniteError
from bayesvm.hyper.ls_svm import JointObjective, LevelsObjective
from bayesvm.inference.ls_svm import Design, FeatureSums, complete_spectrum, feature_spectrum
from bayesvm.inference.ls_svm.spectrum import CONSTANT, NEGATIVE, NEGLIGIBLE, Spectrum, beyond_rounding
from bayesvm.kernels import Gaussian, Inputs, Linear


@pytest.mark.parametrize("case", ["duplicated rows", "linear", "constant"])
def test_singular_gram_is_no_special_case(case):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 2))
    if case == "duplicated rows":
        X[20:] = X[:20]
    kernel = {"linear": Linear(), "constant": Gaussian(lengthscale=1e9)}.get(case, Gaussian())
    y = X[:, :1] + 0.5 * rng.normal(size=(40, 1))
    objective = LevelsObjective(kernel, Inputs(X), y, Design(40))
    result = objective.evaluate(objective.theta0)
    assert np.isfinite(result.value)
    assert np.all(np.isfinite(result.gradient))
    smooth = [objective.evaluate(objective.theta0 + t).value for t in np.linspace(-0.1, 0.1, 21)]
    assert np.max(np.abs(np.diff(smooth, 2))) < 0.1
    joint = JointObjective(objective).evaluate(np.append(objective.theta0, 0.0))
    assert np.isfinite(joint.value)


def test_indefinite_gram_is_refused():
    K = np.diag([1.0, 1.0, -1.0, 1.0])
    with pytest.raises(NotPositiveDefiniteError, match="eigenvalues reach from"):
        complete_spectrum(K, np.ones((4, 1)), Design(4))


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_negative_eigenvalues_are_rounding_if_they_are_small_beside_the_largest(scale):
    for share, refused in ((0.5, False), (2.0, True)):
        K = scale * np.diag([1.0, 0.3, 1e-3, -share * NEGATIVE])
        if refused:
            with pytest.raises(NotPositiveDefiniteError):
                complete_spectrum(K, np.ones((4, 1)), Design(4, False))
        else:
            assert complete_spectrum(K, np.ones((4, 1)), Design(4, False)).values[-1] == 0.0


@pytest.mark.parametrize("whole", [1e-3, 1.0, 1e3])
def test_a_trace_is_rounding_beside_that_before_centring(whole):
    assert beyond_rounding(0.5 * CONSTANT * whole, whole) == 0.0
    assert beyond_rounding(2.0 * CONSTANT * whole, whole) == 2.0 * CONSTANT * whole


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_features_without_weight_in_the_gram_matrix_are_left_out(scale):
    squares = scale * np.array([1.0, 0.3, 1e-3, 2.0 * NEGLIGIBLE, 0.5 * NEGLIGIBLE])
    sums = FeatureSums(np.diag(squares), np.zeros(5), np.zeros((5, 1)), np.zeros(1), 1.0)
    found, coordinates = feature_spectrum(sums, Design(30, False))
    np.testing.assert_allclose(found.values, squares[:4], rtol=1e-12)
    assert coordinates.shape == (5, 4)
    assert found.rest == 1.0


def test_constant_features_have_no_spectrum():
    phi = np.full((30, 2), 0.7)
    sums = FeatureSums(phi.T @ phi, phi.mean(axis=0), np.zeros((2, 1)), np.zeros(1), 1.0)
    assert feature_spectrum(sums, Design(30))[0].values.size == 0


def test_what_was_not_computed_is_bounded():
    def spectrum(trace, values, **more):
        values = np.array(values)
        return Spectrum(values, np.zeros((values.size, 1)), 0.0, trace, 10.0, 5, Design(6), **more)

    assert spectrum(10.0, [3.0, 1.0]).left_out == 6.0
    assert spectrum(10.0, [3.0, 1.0]).largest_left_out == 1.0
    assert spectrum(10.0, [3.0, 1.0], residual=0.25).largest_left_out == 1.25
    assert spectrum(4.5, [3.0, 1.0]).largest_left_out == 0.5
    assert spectrum(3.9, [3.0, 1.0]).left_out == 0.0
    assert spectrum(2.0, [2.0]).largest_left_out == 0.0
    assert spectrum(2.0, []).largest_left_out == 2.0


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_features_have_the_spectrum_of_their_gram_matrix(bias, weighted):
    rng = np.random.default_rng(4)
    Phi, y = rng.normal(size=(30, 5)), rng.normal(size=(30, 2))
    v = rng.uniform(0.5, 2.0, size=30) if weighted else np.ones(30)
    design = Design(30, bias, v if weighted else None)
    mean, y_mean = np.average(Phi, axis=0, weights=v), np.average(y, axis=0, weights=v)
    sums = FeatureSums(Phi.T @ (v[:, None] * Phi), mean, Phi.T @ (v[:, None] * y), y_mean, float(v @ np.sum(y**2, 1)))
    found, coordinates = feature_spectrum(sums, design)
    expected = complete_spectrum(Phi @ Phi.T, y, design)
    np.testing.assert_allclose(found.values, expected.values[:5], rtol=1e-9)
    np.testing.assert_allclose(found.power, expected.power[:5], rtol=1e-7)
    assert found.rest == pytest.approx(np.sum(expected.power[5:]), rel=1e-9)
    assert found.trace == pytest.approx(expected.trace)
    np.testing.assert_allclose(coordinates.T @ coordinates, np.diag(found.values), atol=1e-9)
    with pytest.raises(ValueError, match="has no eigenvectors over the rows"):
        _ = found.basis


def test_eigenpairs_and_targets_of_the_centred_matrix():
    _, K, y = random_problem(6, n=25, outputs=2)
    v = np.random.default_rng(0).uniform(0.5, 2.0, size=25)
    spectrum = complete_spectrum(K, y, Design(25, True, v))
    s = np.sqrt(v)
    P = np.eye(25) - np.outer(s, s) / v.sum()
    G = P @ (s[:, None] * K * s) @ P
    np.testing.assert_allclose(G @ spectrum.basis, spectrum.basis * spectrum.values, atol=1e-10)
    np.testing.assert_allclose(s @ spectrum.basis, 0.0, atol=1e-10)
    np.testing.assert_allclose(spectrum.targets, spectrum.basis.T @ (s[:, None] * y), atol=1e-10)
    assert spectrum.trace == pytest.approx(np.trace(G))
    assert spectrum.largest_left_out == 0.0
