"""Class probabilities against Bayes' rule."""

import numpy as np
from ls_svm_problems import features

from bayesvm.inference.ls_svm import (
    Design,
    Moderator,
    complete_spectrum,
    level2,
    row_predictor,
    softmax_log_odds,
    solve_direct,
)


def test_moderated_odds_are_bayes_rule_of_two_gaussians():
    Phi, Phi_s, y = features(2)
    n = len(Phi)
    K, K_s, k_ss = Phi @ Phi.T, Phi_s @ Phi.T, np.sum(Phi_s**2, axis=1)
    spectrum = complete_spectrum(K, y[:, None], Design(n))
    found = level2(spectrum)
    first = solve_direct(K, y[:, None], Design(n), found.gamma)
    groups = np.column_stack([y < 0.0, y > 0.0]).astype(float)
    predictor = row_predictor(K.__matmul__, spectrum, first, found, groups)
    positive = np.array([[0.0], [1.0]])
    moderator = Moderator.of(first.latent, groups, np.ones(n), positive, found.gamma_eff)
    mean, spreads = predictor.mean(K_s), predictor.spreads(K_s, k_ss, moderator.mixtures)
    odds = moderator.log_odds(mean, spreads)[:, 0]

    z = K @ first.alpha[:, 0]
    plus = y > 0.0
    error = z - np.where(plus, z[plus].mean(), z[~plus].mean())
    noise = np.sum(error**2) / (n - found.gamma_eff)
    z_s = K_s @ first.alpha[:, 0]

    def density(centre, var):
        return np.exp(-0.5 * (z_s - centre) ** 2 / (noise + var)) / np.sqrt(noise + var)

    expected = plus.mean() * density(z[plus].mean(), spreads[:, 0])
    expected /= (1.0 - plus.mean()) * density(z[~plus].mean(), spreads[:, 1])
    np.testing.assert_allclose(odds, np.log(expected), atol=1e-9)
    var = predictor.var(K_s, k_ss)
    np.testing.assert_allclose(softmax_log_odds(mean, var)[:, 0], mean[:, 0] / np.sqrt(1.0 + np.pi * var / 8.0))


def test_densities_and_mixtures_of_three_weighted_classes():
    rng = np.random.default_rng(0)
    number, counts, latent = np.arange(30) % 3, rng.uniform(0.5, 2.0, size=30), rng.normal(size=(30, 3))
    groups, positive = np.eye(3)[number], np.eye(3)
    found = Moderator.of(latent, groups, counts, positive, 4.0)
    sizes = np.bincount(number, counts)
    for j in range(3):
        own, z = number == j, latent[:, j]
        inside, outside = (np.average(z[rows], weights=counts[rows]) for rows in (own, ~own))
        np.testing.assert_allclose([found.inside[j], found.outside[j]], [inside, outside])
        noise = counts @ (z - np.where(own, inside, outside)) ** 2 / (counts.sum() - 4.0)
        np.testing.assert_allclose(found.noise[j], noise)
        np.testing.assert_allclose(found.log_odds_prior[j], np.log(sizes[j] / (sizes.sum() - sizes[j])))
        np.testing.assert_allclose(found.mixtures[:, j], np.eye(3)[j])
        rest = np.where(np.arange(3) == j, 0.0, sizes)
        np.testing.assert_allclose(found.mixtures[:, 3 + j], rest / rest.sum())
