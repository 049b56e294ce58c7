"""Kernels written as text, and what else a user may pass as a kernel."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process import kernels as skk

from bayesvm.kernels import (
    MLP,
    Constant,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern32,
    OrnsteinUhlenbeck,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    as_kernel,
    from_sklearn,
)
from bayesvm.kernels.expression import NAMES, KernelSyntaxError, parse_kernel


@pytest.mark.parametrize(
    ("text", "kernel"),
    [
        ("gaussian", Gaussian()),
        ("gaussian(ard) * linear + constant", Gaussian(ard=True) * Linear() + Constant()),
        ("gaussian * (linear + constant)", Gaussian() * (Linear() + Constant())),
        ("linear + gaussian * constant", Linear() + Gaussian() * Constant()),
        ("Gaussian(variance=2.5, lengthscale=.5)", Gaussian(2.5, 0.5)),
        ("polynomial(degree=2, offset=1e-1)", Polynomial(2, offset=0.1)),
        ("ornstein-uhlenbeck + matern32", OrnsteinUhlenbeck() + Matern32()),
        ("ornstein_uhlenbeck", OrnsteinUhlenbeck()),
        ("laplacian(power=0.5, ard)", Laplacian(power=0.5, ard=True)),
        ("2 * gaussian", 2.0 * Gaussian()),
        ("rbf + linear", Gaussian() + Linear()),
        ("poly(degree=2) * sigmoid", Polynomial(2) * MLP()),
        ("gaussian(lengthscale=[1, 2.5]).on(age, dose)", Gaussian(lengthscale=(1.0, 2.5)).on(["age", "dose"])),
        ("precomputed(diagonal=1)", Precomputed(diagonal=1.0)),
        ("RationalQuadratic(alpha=2)", RationalQuadratic(alpha=2.0)),
        ("gaussian.on(1, 3) + linear.on(age, 'body mass')", Gaussian().on([0, 2]) + Linear().on(["age", "body mass"])),
        ("(gaussian + linear).on(2)", (Gaussian() + Linear()).on([1])),
    ],
)
def test_what_is_written_is_what_is_meant(text, kernel):
    assert parse_kernel(text) == kernel


def test_every_name_is_a_kernel():
    for name in NAMES:
        assert isinstance(parse_kernel(name), Kernel)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a kernel, a number or '\\(' at the end"),
        (
            "gauss",
            "no kernel is called 'gauss' at position 1 of 'gauss'; the kernels are gaussian, .*; did you mean 'gau",
        ),
        ("2 * rfb", "no kernel is called 'rfb' at position 5 .*; did you mean 'rbf'"),
        ("quantum", "no kernel is called 'quantum' at position 1 .*precomputed$"),
        (
            "gaussian(lenghtscale=1)",
            "expected one of variance, lengthscale, ard, each once, .*; did you mean 'lengthscale'",
        ),
        ("gaussian(lengthscale=[1 2])", "expected '\\]' at position 25"),
        ("gaussian(lengthscale=[])", "expected a positive number at position 23"),
        ("gaussian(variance=[1, 2])", "Gaussian.variance: expected one positive number"),
        ("gaussian +", "at the end"),
        ("gaussian linear", "position 10"),
        ("gaussian(ard", "expected ','"),
        ("gaussian(width=1)", "expected one of variance, lengthscale, ard"),
        ("gaussian(ard, ard)", "each once"),
        ("gaussian(variance=-1)", "expected a positive number"),
        ("gaussian(variance=0)", "positive"),
        ("polynomial(degree=0)", "positive integer"),
        ("3", "found the number 3"),
        ("3 + gaussian", "cannot be added"),
        ("gaussian.on()", "expected a column"),
        ("gaussian.on(0)", "from 1"),
        ("gaussian.__class__", "expected 'on"),
        ("__import__('os')", "no kernel is called"),
        ("gaussian; linear", "unexpected character at position 9"),
        ("(" * 50 + "gaussian" + ")" * 50, "brackets"),
        ("gaussian" + " + gaussian" * 500, "at most 2000"),
    ],
)
def test_mistakes_are_shown_where_they_are(text, message):
    with pytest.raises(KernelSyntaxError, match=message):
        parse_kernel(text)


def test_as_kernel():
    kernel = Gaussian() + Constant()
    assert as_kernel(kernel) is kernel
    assert as_kernel("gaussian + constant") == kernel
    theirs = skk.RBF() + skk.WhiteKernel()
    assert as_kernel(theirs) == from_sklearn(theirs)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (3, "kernel: expected a bayesvm kernel, a scikit-learn .*, found 3$"),
        (None, "kernel: expected .*, found None$"),
        (Gaussian, r"kernel: expected .*, found <class .*Gaussian'>; write Gaussian\(\)$"),
        (skk.RBF, "kernel: expected .*, found <class .*RBF'>$"),
        ("auto", "kernel: no kernel is called 'auto'"),
        ("", "kernel: expected a kernel"),
    ],
)
def test_as_kernel_refuses_other_things(value, message):
    with pytest.raises(ValueError, match=message):
        as_kernel(value)


words = st.sampled_from(
    [*list(NAMES)[:4], "(", ")", "+", "*", ".on", "ard", "=", "[", "]", ",", "1", "2.5", "'a'", "x", " ", "@", "1e999"]
)


@given(st.lists(words, max_size=12).map("".join) | st.text(max_size=30))
@settings(max_examples=200, deadline=None)
def test_any_text_is_a_kernel_or_a_mistake(text):
    try:
        assert isinstance(parse_kernel(text), Kernel)
    except KernelSyntaxError as error:
        assert "kernel" in str(error)  # noqa: PT017
