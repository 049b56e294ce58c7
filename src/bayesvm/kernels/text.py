"""Kernels as text: ``repr`` is exact and evaluates to an equal kernel, ``print`` has few digits and names features.

Of a :class:`~bayesvm.kernels.Rescaled` kernel ``print`` shows the inner kernel, as ``standardized(...)``: shifts and
scales are those of the data, and nothing that was learnt. So with :class:`~bayesvm.kernels.Logarithmic`,
``logarithmic(...)``.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

from bayesvm.kernels.base import Kernel
from bayesvm.kernels.combine import OnColumns, Pair, Product, Sum
from bayesvm.kernels.constant import Constant
from bayesvm.kernels.leaf import Leaf
from bayesvm.kernels.logarithmic import Logarithmic
from bayesvm.kernels.rescaled import Rescaled
from bayesvm.kernels.sklearn_adapter import SklearnKernel

#: Entries of a vector that are printed; of a longer one the first, and how many there are.
SHOWN = 6


@functools.singledispatch
def written(kernel: Kernel, exact: bool) -> str:
    """Return a kernel as text, exact for ``repr`` or brief for ``print``."""
    return _call(kernel, lambda name: repr(getattr(kernel, name)) if exact else _brief(getattr(kernel, name)))


@written.register
def _(kernel: Leaf, exact: bool) -> str:
    if not exact:
        labels = getattr(kernel, "features", None)
        marks = {name: "" if kernel._is_free(name) else " fixed" for name in kernel.positive}
        return _call(kernel, lambda name: _brief(getattr(kernel, name), labels) + marks.get(name, ""))
    text = _call(kernel, lambda name: repr(getattr(kernel, name)))
    bounded = [f"{name}={bounds!r}" for name, bounds in kernel.limits.items() if bounds is not None]
    fixed = [repr(name) for name in kernel.positive if not kernel._is_free(name)]
    if bounded:
        text += f".bounded({', '.join(bounded)})"
    if fixed:
        text += f".fix({', '.join(fixed) if len(fixed) < len(kernel.positive) else ''})"
    return text


@written.register
def _(kernel: Sum, exact: bool) -> str:
    return f"{_operand(kernel.left, exact)} + {_operand(kernel.right, exact, Sum)}"


@written.register
def _(kernel: Product, exact: bool) -> str:
    return f"{_operand(kernel.left, exact, Sum)} * {_operand(kernel.right, exact, Pair)}"


@written.register
def _(kernel: OnColumns, exact: bool) -> str:
    columns: Sequence[object] = [repr(c) for c in kernel.columns] if exact else kernel.features or kernel.columns
    listed = ", ".join(map(str, columns))
    return f"{_bracketed(kernel.kernel, exact, Pair)}.on({f'[{listed}]' if exact and len(columns) > 1 else listed})"


@written.register
def _(kernel: Rescaled, exact: bool) -> str:
    if not exact:
        return f"standardized({written(kernel.kernel, exact)})"
    return _call(kernel, lambda name: repr(getattr(kernel, name)))


@written.register
def _(kernel: Logarithmic, exact: bool) -> str:
    if not exact:
        return f"logarithmic({written(kernel.kernel, exact)})"
    return _call(kernel, lambda name: repr(getattr(kernel, name)))


@written.register
def _(kernel: SklearnKernel, exact: bool) -> str:
    fixed = f".fix({', '.join(map(repr, kernel.fixed))})" if kernel.fixed else ""
    return f"from_sklearn({kernel.kernel!r}){fixed}"


def _call(kernel: Kernel, show: Callable[[str], str]) -> str:
    """Return the call that makes the kernel, without keywords that have their default or are implied by a vector."""
    names = _argument_names(kernel)
    arguments = [show(name) if name in kernel.parts else f"{name}={show(name)}" for name in names]
    return f"{type(kernel).__name__}({', '.join(arguments)})"


def _argument_names(kernel: Kernel) -> list[str]:
    """Return the arguments to write: the positional ones, then the keywords that are neither default nor implied."""
    implied = {"ard"} if any(isinstance(getattr(kernel, f.name), tuple) for f in dataclasses.fields(kernel)) else set()
    fields = [f for f in dataclasses.fields(kernel) if f.repr and f.name not in implied]
    positional = [f.name for f in fields if not f.kw_only]
    return positional + [f.name for f in fields if f.kw_only and getattr(kernel, f.name) != f.default]


def _operand(kernel: Kernel, exact: bool, *weaker: type) -> str:
    """Return the text of a term or factor; of a constant that is not learnt ``print`` shows the number."""
    if not exact and isinstance(kernel, Constant) and kernel.theta.size == 0:
        return _brief(kernel.variance)
    return _bracketed(kernel, exact, *weaker)


def _bracketed(kernel: Kernel, exact: bool, *weaker: type) -> str:
    """Return the text of a kernel, in brackets if its operation binds less than what is around it."""
    text = written(kernel, exact)
    return f"({text})" if isinstance(kernel, weaker) else text


def _brief(value: Any, labels: Sequence[str] | None = None) -> str:
    """Return a number with three digits, or a vector of them, each entry after its label."""
    if not isinstance(value, tuple):
        return f"{value:.3g}" if isinstance(value, float) else str(value)
    entries = [_brief(v) if labels is None else f"{labels[i]} {_brief(v)}" for i, v in enumerate(value[:SHOWN])]
    return f"[{', '.join(entries + [f'... {len(value)} values'] * (len(value) > SHOWN))}]"


__all__ = ["written"]
