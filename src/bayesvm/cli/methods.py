"""The methods that commands know: a name, a class, a task. A machine that is added to the library is one line here."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from bayesvm.cli.exit_codes import UsageError
from bayesvm.lookup import did_you_mean


@dataclasses.dataclass(frozen=True)
class Method:
    """A method of the command line.

    Attributes
    ----------
    name : str
        As it is typed.
    estimator : str
        Class of the library.
    task : str
        "classification" or "regression".
    """

    name: str
    estimator: str
    task: str

    def find(self) -> type | None:
        """Return the class, None if this release does not have it."""
        import bayesvm

        found: type | None = getattr(bayesvm, self.estimator, None)
        return found

    def create(self, **options: Any) -> Any:
        """Return a new estimator; options that its constructor does not have are refused."""
        cls: Any = self.find()
        if cls is None:
            ready = ", ".join(m.name for m in METHODS if m.task == self.task and m.find() is not None)
            raise UsageError(f"method {self.name} is not available in this release; available for {self.task}: {ready}")
        known = cls().get_params()
        unknown = [name for name in options if name not in known]
        if unknown:
            raise UsageError(f"method {self.name} has no option {', '.join(unknown)}")
        return cls(**options)


METHODS = (
    Method("bayesian-svc", "BayesianSVC", "classification"),
    Method("bayesian-svr", "BayesianSVR", "regression"),
    Method("variational-svc", "VariationalSVC", "classification"),
    Method("ls-svc", "BayesianLSSVC", "classification"),
    Method("ls-svr", "BayesianLSSVR", "regression"),
    Method("probabilistic-svc", "ProbabilisticSVC", "classification"),
    Method("rvc", "RelevanceVectorClassifier", "classification"),
    Method("rvr", "RelevanceVectorRegressor", "regression"),
    Method("gpc", "GPClassifier", "classification"),
    Method("gpr", "GPRegressor", "regression"),
)

#: What "auto" stands for, by task.
DEFAULTS = {"classification": "bayesian-svc", "regression": "bayesian-svr"}


def names_of(task: str) -> str:
    """Return the names of the methods for a task, with commas between."""
    return ", ".join(method.name for method in METHODS if method.task == task)


def check_methods(names: Iterable[str], others: Iterable[str] = ()) -> None:
    """Refuse a name that is no method's, nor one of some others, with the nearest that is."""
    known = list(dict.fromkeys(["auto", *(method.name for method in METHODS), *others]))
    for name in names:
        if name not in known:
            near = did_you_mean(name, known)
            raise UsageError(f"no method is called {name!r}{near}; expected one of {', '.join(known)}")


def method_of(name: str, task: str) -> Method:
    """Return the method of a name for a task; "auto" is the usual one."""
    wanted = DEFAULTS[task] if name == "auto" else name
    method = next(method for method in METHODS if method.name == wanted)
    if method.task != task:
        raise UsageError(f"method {name} is for {method.task}, but the task is {task}; use {names_of(task)}")
    return method


__all__ = ["DEFAULTS", "METHODS", "Method", "check_methods", "method_of", "names_of"]
