"""Kernels written as text: ``gaussian(ard) * linear + constant``.

::

    sum      =  product { "+" product }
    product  =  factor { "*" factor }
    factor   =  number | kernel [ ".on(" columns ")" ] | "(" sum ")" [ ".on(" columns ")" ]
    kernel   =  name [ "(" [ argument { "," argument } ] ")" ]
    argument =  "ard" | parameter "=" number
    columns  =  column { "," column }          a number from 1, or a name (in quotes if it is not a plain word)

A number times a kernel scales it. Nothing is evaluated: names are looked up in a table of the library's kernels.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from bayesvm import kernels
from bayesvm.kernels import Kernel

#: Longest text and deepest nesting of brackets.
LONGEST, DEEPEST = 2000, 40

TOKEN = re.compile(
    r"""\s*(?:(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*(?:-[A-Za-z][A-Za-z0-9_]*)*)|(?P<text>'[^']*'|"[^"]*")|(?P<sign>[-+*().,=]))""",
    re.VERBOSE,
)

KERNELS = (
    "Gaussian",
    "Linear",
    "Polynomial",
    "OrnsteinUhlenbeck",
    "Matern32",
    "Matern52",
    "RationalQuadratic",
    "BSpline",
    "Dirichlet",
    "MLP",
    "NeuralNetwork",
    "Constant",
)
#: Classes by the names that may be written.
NAMES = {re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower(): getattr(kernels, name) for name in KERNELS}


class KernelSyntaxError(ValueError):
    """Text that is no kernel; the message shows the place."""


@dataclasses.dataclass(frozen=True)
class Token:
    """A word of the text, its kind, and where it begins."""

    kind: str
    text: str
    at: int


def parse_kernel(text: str) -> Kernel:
    """Return the kernel that is written in the text.

    Parameters
    ----------
    text : str
        See the module for the grammar.

    Raises
    ------
    KernelSyntaxError
        If the text does not follow the grammar, or a kernel or parameter is unknown.
    """
    if len(text) > LONGEST:
        raise KernelSyntaxError(f"kernel: expected at most {LONGEST} characters, found {len(text)}")
    parser = _Parser(text, _tokens(text))
    result = parser.sum()
    parser.end()
    if not isinstance(result, Kernel):
        raise KernelSyntaxError(f"kernel: expected a kernel such as gaussian + constant, found the number {result:g}")
    return result


def _tokens(text: str) -> list[Token]:
    tokens, at = [], 0
    while text[at:].strip():
        match = TOKEN.match(text, at)
        if match is None:
            raise KernelSyntaxError(_shown(text, at + len(text[at:]) - len(text[at:].lstrip()), "unexpected character"))
        kind = str(match.lastgroup)
        tokens.append(Token(kind, match[kind], match.start(kind)))
        at = match.end()
    return tokens


def _shown(text: str, at: int, problem: str) -> str:
    place = f"position {at + 1}" if at < len(text) else "the end"
    return f"kernel: {problem} at {place} of {text!r}"


class _Parser:
    """One pass from left to right; ``place`` is the next token."""

    def __init__(self, text: str, tokens: list[Token]) -> None:
        self.text, self.tokens, self.place, self.depth = text, tokens, 0, 0

    def fail(self, problem: str) -> KernelSyntaxError:
        at = self.tokens[self.place].at if self.place < len(self.tokens) else len(self.text)
        return KernelSyntaxError(_shown(self.text, at, problem))

    def next(self, *kinds: str, text: str | None = None) -> Token | None:
        """Take the next token if it is of one of the kinds (and is the given text)."""
        if self.place >= len(self.tokens):
            return None
        token = self.tokens[self.place]
        if token.kind not in kinds or (text is not None and token.text != text):
            return None
        self.place += 1
        return token

    def sign(self, text: str) -> bool:
        return self.next("sign", text=text) is not None

    def need(self, text: str) -> None:
        if not self.sign(text):
            raise self.fail(f"expected {text!r}")

    def end(self) -> None:
        if self.place < len(self.tokens):
            raise self.fail("expected '+', '*' or the end")

    def sum(self) -> Any:
        value = self.product()
        while self.sign("+"):
            place = self.place
            other = self.product()
            if not (isinstance(value, Kernel) and isinstance(other, Kernel)):
                self.place = place
                raise self.fail("a number cannot be added (write constant for a constant)")
            value = value + other
        return value

    def product(self) -> Any:
        value = self.factor()
        while self.sign("*"):
            other = self.factor()
            try:
                value = value * other
            except ValueError as error:
                raise self.fail(str(error)) from None
        return value

    def factor(self) -> Any:
        number = self.next("number")
        if number is not None:
            return float(number.text)
        if self.sign("("):
            self.depth += 1
            if self.depth > DEEPEST:
                raise self.fail(f"more than {DEEPEST} brackets inside one another")
            value = self.sum()
            self.need(")")
            self.depth -= 1
        else:
            value = self.kernel()
        return self.columns(value) if self.sign(".") else value

    def kernel(self) -> Kernel:
        token = self.next("name")
        if token is None:
            raise self.fail("expected a kernel, a number or '('")
        cls = NAMES.get(token.text.lower().replace("_", "-"))
        if cls is None:
            self.place -= 1
            raise self.fail(f"no kernel is called {token.text!r}; the kernels are {', '.join(NAMES)};")
        arguments: dict[str, Any] = {}
        if self.sign("("):
            while not self.sign(")"):
                if arguments:
                    self.need(",")
                self.argument(cls, arguments)
        try:
            kernel: Kernel = cls(**arguments)
        except (ValueError, TypeError) as error:
            raise self.fail(str(error)) from None
        return kernel

    def argument(self, cls: Any, arguments: dict[str, Any]) -> None:
        known = [*cls.positive, *(f.name for f in dataclasses.fields(cls) if f.name in ("degree", "order", "ard"))]
        token = self.next("name")
        if token is None or token.text not in known or token.text in arguments:
            self.place -= token is not None
            raise self.fail(f"expected one of {', '.join(known)}, each once,")
        if token.text == "ard":
            arguments["ard"] = True
            return
        self.need("=")
        number = self.next("number")
        if number is None:
            raise self.fail("expected a positive number")
        value = float(number.text)
        whole = token.text in ("degree", "order")
        arguments[token.text] = int(value) if whole and value.is_integer() and value < 1000 else value

    def columns(self, value: Any) -> Kernel:
        if self.next("name", text="on") is None or not isinstance(value, Kernel):
            raise self.fail("expected 'on(columns)' after a kernel")
        self.need("(")
        columns: list[int | str] = []
        while not columns or self.sign(","):
            token = self.next("number", "name", "text")
            if token is None:
                raise self.fail("expected a column: its number from 1 or its name")
            columns.append(self.column(token))
        self.need(")")
        try:
            return value.on(columns)
        except ValueError as error:
            raise self.fail(str(error)) from None

    def column(self, token: Token) -> int | str:
        if token.kind != "number":
            return token.text[1:-1] if token.kind == "text" else token.text
        if not token.text.isdigit() or int(token.text) < 1:
            self.place -= 1
            raise self.fail("expected the number of a column, from 1,")
        return int(token.text) - 1


__all__ = ["NAMES", "KernelSyntaxError", "parse_kernel"]
