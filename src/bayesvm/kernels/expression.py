"""Kernels written as text: ``gaussian(ard) * linear + constant``.

::

    sum      =  product { "+" product }
    product  =  factor { "*" factor }
    factor   =  number | kernel [ ".on(" columns ")" ] | "(" sum ")" [ ".on(" columns ")" ]
    kernel   =  name [ "(" [ argument { "," argument } ] ")" ]
    argument =  "ard" | parameter "=" ( number | "[" number { "," number } "]" )
    columns  =  column { "," column }          a number from 1, or a name (in quotes if it is not a plain word)

A number times a kernel scales it; a list of numbers is one per feature. Names of kernels may be written with ``-`` or
``_``, in capitals or not. Nothing is evaluated: names are looked up in a table of the library's kernels.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from bayesvm.kernels.base import Kernel
from bayesvm.kernels.constant import Constant
from bayesvm.kernels.dot import MLP, Linear, NeuralNetwork, Polynomial
from bayesvm.kernels.feature_product import BSpline, Dirichlet
from bayesvm.kernels.gaussian import Gaussian
from bayesvm.kernels.laplacian import Laplacian
from bayesvm.kernels.leaf import Leaf
from bayesvm.kernels.precomputed import Precomputed
from bayesvm.kernels.sklearn_adapter import from_sklearn
from bayesvm.kernels.stationary import Matern32, Matern52, OrnsteinUhlenbeck, RationalQuadratic
from bayesvm.lookup import did_you_mean

#: Longest text and deepest nesting of brackets.
LONGEST, DEEPEST = 2000, 40

TOKEN = re.compile(
    r"""\s*(?:(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*(?:-[A-Za-z][A-Za-z0-9_]*)*)|(?P<text>'[^']*'|"[^"]*")|(?P<sign>[-+*().,=[\]]))""",
    re.VERBOSE,
)

#: Classes by the names that may be written, and by those of scikit-learn's ``SVC``.
KERNELS = (Gaussian, Linear, Polynomial, OrnsteinUhlenbeck, Matern32, Matern52, RationalQuadratic, Laplacian, BSpline)
NAMES: dict[str, type[Leaf]] = {
    re.sub(r"(?<=[a-z])(?=[A-Z])", "-", cls.__name__).lower(): cls
    for cls in (*KERNELS, Dirichlet, MLP, NeuralNetwork, Constant, Precomputed)
}
ALIASES: dict[str, type[Leaf]] = {"rbf": Gaussian, "poly": Polynomial, "sigmoid": MLP}


class KernelSyntaxError(ValueError):
    """Text that is no kernel; the message shows the place."""


def as_kernel(value: Any) -> Kernel:
    """Return what a user may pass as ``kernel`` as a kernel of this library.

    Parameters
    ----------
    value : Kernel, scikit-learn kernel or str
        A kernel; a kernel object of ``sklearn.gaussian_process.kernels``; or an expression such as ``"rbf"``,
        ``"matern52"`` or ``"gaussian(ard) * linear.on(age) + constant"`` (:mod:`bayesvm.kernels.expression` has the
        grammar; in an expression columns count from 1).

    Raises
    ------
    ValueError
        If it is none of these; the message says what was expected, and where a text is wrong.
    """
    if isinstance(value, Kernel):
        return value
    if isinstance(value, str):
        return parse_kernel(value)
    if hasattr(value, "clone_with_theta") and not isinstance(value, type):
        return from_sklearn(value)
    missing = f"; write {value.__name__}()" if isinstance(value, type) and issubclass(value, Kernel) else ""
    raise ValueError(
        "kernel: expected a bayesvm kernel, a scikit-learn Gaussian process kernel or text such as "
        f"'gaussian + constant', found {value!r}{missing}"
    )


def parse_kernel(text: str) -> Kernel:
    """Return the kernel that is written in a text, or raise a :class:`KernelSyntaxError` that shows the place."""
    if len(text) > LONGEST:
        raise KernelSyntaxError(f"kernel: expected at most {LONGEST} characters, found {len(text)}")
    parser = _Parser(text)
    result = parser.sum()
    if parser.place < len(parser.tokens):
        raise parser.fail("expected '+', '*' or the end")
    if not isinstance(result, Kernel):
        raise KernelSyntaxError(f"kernel: expected a kernel such as gaussian + constant, found the number {result:g}")
    return result


class _Parser:
    """One pass from left to right; ``place`` is the next token."""

    def __init__(self, text: str) -> None:
        self.text, self.place, self.depth = text, 0, 0
        self.tokens: list[re.Match[str]] = []
        at, end = 0, len(text.rstrip())
        while at < end:
            token = TOKEN.match(text, at)
            if token is None:
                raise self.fail("unexpected character", at=end - len(text[at:end].lstrip()))
            self.tokens.append(token)
            at = token.end()

    def fail(self, problem: str, advice: str = "", *, at: int | None = None) -> KernelSyntaxError:
        """Return the error at a position of the text, the next token if none is given."""
        if at is None and self.place < len(self.tokens):
            at = self.tokens[self.place].start(str(self.tokens[self.place].lastgroup))
        place = "the end" if at is None else f"position {at + 1}"
        return KernelSyntaxError(f"kernel: {problem} at {place} of {self.text!r}{advice}")

    def take(self, *wanted: str) -> str:
        """Take the next token if it is of one of the wanted kinds, or a wanted sign; return it, empty if it is not."""
        token = self.tokens[self.place] if self.place < len(self.tokens) else None
        if token is None or not (token.lastgroup in wanted or token["sign"] in wanted):
            return ""
        self.place += 1
        return token[str(token.lastgroup)]

    def need(self, sign: str) -> None:
        if not self.take(sign):
            raise self.fail(f"expected {sign!r}")

    def sum(self) -> Any:
        value = self.product()
        while self.take("+"):
            place = self.place
            other = self.product()
            if not (isinstance(value, Kernel) and isinstance(other, Kernel)):
                self.place = place
                raise self.fail("a number cannot be added (write constant for a constant)")
            value = value + other
        return value

    def product(self) -> Any:
        value = self.factor()
        while self.take("*"):
            other = self.factor()
            try:
                value = value * other
            except ValueError as error:
                raise self.fail(str(error)) from None
        return value

    def factor(self) -> Any:
        if number := self.take("number"):
            return float(number)
        if self.take("("):
            self.depth += 1
            if self.depth > DEEPEST:
                raise self.fail(f"more than {DEEPEST} brackets inside one another")
            value = self.sum()
            self.need(")")
            self.depth -= 1
        else:
            value = self.kernel()
        return self.columns(value) if self.take(".") else value

    def kernel(self) -> Kernel:
        name = self.take("name")
        if not name:
            raise self.fail("expected a kernel, a number or '('")
        known = {re.sub("-", "", key): cls for key, cls in {**NAMES, **ALIASES}.items()}
        cls = known.get(re.sub("[-_]", "", name).lower())
        if cls is None:
            self.place -= 1
            advice = f"; the kernels are {', '.join(NAMES)}{did_you_mean(name, [*NAMES, *ALIASES], '; {}')}"
            raise self.fail(f"no kernel is called {name!r}", advice)
        arguments: dict[str, Any] = {}
        if self.take("("):
            while not self.take(")"):
                if arguments:
                    self.need(",")
                self.argument(cls, arguments)
        try:
            return cls(**arguments)
        except (ValueError, TypeError) as error:
            raise self.fail(str(error)) from None

    def argument(self, cls: type[Leaf], arguments: dict[str, Any]) -> None:
        options = ("degree", "order", "power", "diagonal", "ard")
        known = [*cls.positive, *(f.name for f in dataclasses.fields(cls) if f.name in options)]
        name = self.take("name")
        if name not in known or name in arguments:
            self.place -= bool(name)
            advice = "" if name in known else did_you_mean(name, known, "; {}")
            raise self.fail(f"expected one of {', '.join(known)}, each once,", advice)
        if name == "ard":
            arguments[name] = True
            return
        self.need("=")
        if self.take("["):
            arguments[name] = [self.number()]
            while self.take(","):
                arguments[name].append(self.number())
            self.need("]")
        else:
            value = self.number()
            whole = name in ("degree", "order") and value.is_integer() and value < 1000
            arguments[name] = int(value) if whole else value

    def number(self) -> float:
        if number := self.take("number"):
            return float(number)
        raise self.fail("expected a positive number")

    def columns(self, value: Any) -> Kernel:
        if self.take("name") != "on" or not isinstance(value, Kernel):
            raise self.fail("expected 'on(columns)' after a kernel")
        self.need("(")
        columns = [self.column()]
        while self.take(","):
            columns.append(self.column())
        self.need(")")
        try:
            return value.on(columns)
        except ValueError as error:
            raise self.fail(str(error)) from None

    def column(self) -> int | str:
        if number := self.take("number"):
            if number.isdigit() and int(number) > 0:
                return int(number) - 1
            self.place -= 1
            raise self.fail("expected the number of a column, from 1,")
        if word := self.take("name", "text"):
            return word[1:-1] if word[0] in "'\"" else word
        raise self.fail("expected a column: its number from 1 or its name")


__all__ = ["NAMES", "KernelSyntaxError", "as_kernel", "parse_kernel"]
