"""A new kernel takes a few lines, and then has everything that the library's kernels have."""

import io
import tokenize

import numpy as np
import pytest
from kernel_instances import points

from bayesvm import BayesianSVC
from bayesvm import kernels as bk
from bayesvm.testing.kernels import check_kernel

STATIONARY = '''
from dataclasses import dataclass

from bayesvm.kernels import Stationary


@dataclass(frozen=True, repr=False)
class Cauchy(Stationary):
    """Cauchy kernel, k = v / (1 + r^2)."""

    def _profile(self, r2):
        return 1.0 / (1.0 + r2)

    def _slope(self, r2, k):
        return -k * k
'''

DOT_PRODUCT = '''
from dataclasses import dataclass

import numpy as np

from bayesvm.kernels import DotProduct


@dataclass(frozen=True, repr=False)
class Exponential(DotProduct):
    """Exponential of the inner product, k = v exp(a x^T z)."""

    positive = {"variance": (1e-6, 1e6), "scale": (1e-3, 1e1)}
    variance: float = 1.0
    scale: float = 0.1

    def _profile(self, s):
        return self.variance * np.exp(self.scale * s)

    def _profile_gradients(self, s, Q):
        A = Q * self._profile(s)
        return {"variance": A.sum(), "scale": self.scale * (A * s).sum()}
'''

EXAMPLES = {"Cauchy": STATIONARY, "Exponential": DOT_PRODUCT}


def made(name):
    namespace = {"__name__": __name__}
    exec(EXAMPLES[name], namespace)
    cls = namespace[name]
    globals()[name] = cls  # where pickle looks for it
    return cls


def code_lines(source):
    """Lines with code: without blank lines, comments and docstrings."""
    ignored = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    before = [None, *tokens[:-1]]
    counted = [
        token
        for token, previous in zip(tokens, before)
        if token.type not in ignored
        and not (token.type == tokenize.STRING and previous is not None and previous.type == tokenize.INDENT)
    ]
    return len({line for token in counted for line in range(token.start[0], token.end[0] + 1)})


def test_lines_are_counted_without_docstrings():
    assert code_lines('def f():\n    """Text."""\n\n    # comment\n    x = (\n        1\n    )\n    return x\n') == 5


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_new_kernel_takes_fifteen_lines(name):
    assert code_lines(EXAMPLES[name]) <= 15


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_new_kernel_keeps_the_contract(name):
    kernel = made(name)()
    check_kernel(kernel, points())
    check_kernel((2.0 * kernel).on([0, 2]) + bk.Constant(), points())
    assert str(kernel).startswith(f"{name}(variance=1, ")
    assert eval(repr(kernel), {name: type(kernel)}) == kernel


def test_a_new_stationary_kernel_has_one_length_scale_per_feature():
    kernel = made("Cauchy")(2.0, [0.5, 1.0, 3.0])
    check_kernel(kernel, points())
    X = points()
    np.testing.assert_allclose(kernel.gram(X), bk.RationalQuadratic(2.0, np.array([0.5, 1, 3]) / 2**0.5, 1.0).gram(X))
    np.testing.assert_allclose(kernel.relevance(3), [4.0, 1.0, 1 / 9])


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_new_kernel_is_learnt_in_one_line(name):
    X = points(40, 2)
    y = X[:, 0] + X[:, 1] > 0
    machine = BayesianSVC(kernel=made(name)() + bk.Constant(), n_starts=1).fit(X, y)
    assert machine.score(X, y) > 0.9
