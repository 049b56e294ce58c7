"""How a public name or argument is taken away: it warns first, and says what to use instead.

The rules (how long it warns, what may change) are in ``docs/compatibility.md``; a test refuses a release that still
has what it promised to remove.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T", bound=Callable[..., Any])


def deprecated(*, since: str, removed_in: str, instead: str) -> Callable[[T], T]:
    """Mark a function, a method or a class as one that will be removed.

    Every call warns with a ``FutureWarning`` (which Python shows by default) at the line of the caller. A class warns
    when an instance of it is made; instances of its subclasses that call its ``__init__`` warn as well. A property is
    marked by decorating the function beneath ``@property``.

    Parameters
    ----------
    since : str
        The release that warned first.
    removed_in : str
        The release that will not have it any more.
    instead : str
        What to use, such as ``"BayesianSVC.predict"``.
    """

    def mark(target: T) -> T:
        message = (
            f"{target.__qualname__} is deprecated since {since} and will be removed in {removed_in}; use {instead}"
        )
        if isinstance(target, type):
            target.__init__ = _warning(target.__init__, message)  # type: ignore[misc]
            _note(target, since, message)
            return target
        return _note(_warning(target, message), since, message)

    return mark


def renamed_argument(old: str, new: str, *, since: str, removed_in: str) -> Callable[[T], T]:
    """Accept a keyword argument by its old name, with a ``FutureWarning``, and pass it on by its new one.

    Parameters
    ----------
    old, new : str
        The names; the function itself knows the new one only.
    since, removed_in : str
        The release that warned first, and the one that will not take the old name any more.

    Raises
    ------
    TypeError
        At a call that gives both.
    """

    def mark(function: T) -> T:
        if new not in inspect.signature(function).parameters:
            raise TypeError(f"{function.__qualname__} has no argument {new!r}")
        message = (
            f"{function.__qualname__}: the argument {old!r} is deprecated since {since} and will be removed in"
            f" {removed_in}; use {new!r}"
        )

        @functools.wraps(function)
        def renaming(*args: Any, **kwargs: Any) -> Any:
            if old in kwargs:
                if new in kwargs:
                    raise TypeError(f"{function.__qualname__}: {old!r} is the old name of {new!r}; give one of them")
                warnings.warn(message, FutureWarning, stacklevel=2)
                kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return renaming  # type: ignore[return-value]

    return mark


def _warning(function: T, message: str) -> T:
    @functools.wraps(function)
    def warning(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(message, FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    return warning  # type: ignore[return-value]


def _note(target: T, since: str, message: str) -> T:
    """Append a note to the docstring, in the form that numpydoc and Sphinx know."""
    target.__doc__ = f"{inspect.cleandoc(target.__doc__ or '')}\n\n.. deprecated:: {since}\n    {message}\n".lstrip()
    return target


__all__ = ["deprecated", "renamed_argument"]
