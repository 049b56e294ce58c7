"""Kernels of ``sklearn.gaussian_process.kernels`` behind the contract of this folder."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.parameters import split_theta
from bayesvm.typing import Matrix, Vector

#: What an object must have to be taken for a scikit-learn kernel.
NEEDED = ("theta", "bounds", "hyperparameters", "clone_with_theta", "diag", "__call__")


def from_sklearn(kernel: Any) -> SklearnKernel:
    """Return a scikit-learn Gaussian process kernel as a kernel of this library.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        Any kernel object, composite ones included; recognised by its methods, scikit-learn is not imported.

    Returns
    -------
    Kernel
        It can be added to, multiplied with and restricted to columns like every other. Hyperparameters that
        scikit-learn holds ``"fixed"`` are not learnt.

    Notes
    -----
    Dense inputs only. ``pullback`` asks scikit-learn for its gradient, which is an array of n x n x p numbers for the n
    rows it is given: the one place in this library where such an array exists. ``WhiteKernel`` keeps its meaning: it
    adds to the diagonal of ``gram(X)`` and to ``diag(X)``, and is zero in ``gram(X, Z)`` even where rows coincide.
    Nothing is known about positive definiteness, hence ``always_positive`` is False, nor about the meaning of the
    parameters: ``with_ard``, ``tied``, ``at_scale`` and ``with_relevance`` leave the kernel as it is.
    """
    missing = [name for name in NEEDED if not hasattr(kernel, name)]
    if missing or isinstance(kernel, type):
        raise TypeError(
            f"from_sklearn: expected a kernel object of sklearn.gaussian_process.kernels, found {kernel!r}"
            + (f" without {', '.join(missing)}" if missing else "")
        )
    return SklearnKernel(kernel)


@dataclasses.dataclass(frozen=True, repr=False)
class SklearnKernel(Kernel):
    """A scikit-learn kernel; made by :func:`from_sklearn`.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
        The kernel; never changed. Composites of scikit-learn are not opened.
    fixed : tuple of str
        Hyperparameters, by scikit-learn's names, that are not learnt although scikit-learn would.
    """

    always_positive = False

    kernel: Any = dataclasses.field(hash=False)
    fixed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self._check_names(self.fixed)

    # -- data --------------------------------------------------------------------------------------------------------
    def _gram(self, X: Inputs, Z: Inputs | None) -> Matrix:
        return np.array(self.kernel(X.dense(), None if Z is None else Z.dense()), dtype=float)

    def _diag(self, X: Inputs) -> Vector:
        return np.array(self.kernel.diag(X.dense()), dtype=float)

    def _pullback(self, X: Inputs, Q: Matrix) -> Vector:
        free = self._free_entries()
        if not free.any():
            return np.empty(0)
        _, gradient = self.kernel(X.dense(), eval_gradient=True)
        return np.asarray(np.einsum("ij,ijp->p", Q, gradient)[free])

    # -- parameters --------------------------------------------------------------------------------------------------
    def _hyperparameters(self) -> list[tuple[str, int]]:
        """Names and sizes of what scikit-learn would learn, in the order of its ``theta``."""
        return [(str(h.name), int(h.n_elements)) for h in self.kernel.hyperparameters if not h.fixed]

    def _check_names(self, names: Sequence[str]) -> None:
        known = [name for name, _ in self._hyperparameters()]
        for name in names:
            if name not in known:
                raise ValueError(f"{self!r} has no parameter {name!r}; its parameters are {', '.join(known) or 'none'}")

    def _free_entries(self) -> NDArray[np.bool_]:
        return np.array([n not in self.fixed for n, size in self._hyperparameters() for _ in range(size)], dtype=bool)

    @property
    def theta(self) -> Vector:
        """Logarithms of the free parameters."""
        return np.asarray(self.kernel.theta, dtype=float)[self._free_entries()]

    @property
    def bounds(self) -> Matrix:
        """Bounds of ``theta``, one row (low, high) per entry."""
        return np.asarray(self.kernel.bounds, dtype=float).reshape(-1, 2)[self._free_entries()]

    @property
    def names(self) -> tuple[str, ...]:
        """scikit-learn's names, one per entry of ``theta``; entries of a vector carry their position in brackets."""
        return tuple(
            name if size == 1 else f"{name}[{i}]"
            for name, size in self._hyperparameters()
            if name not in self.fixed
            for i in range(size)
        )

    def with_theta(self, theta: Vector) -> Self:
        """Return the same kernel with the free parameters set to ``exp(theta)``."""
        free = self._free_entries()
        full = np.array(self.kernel.theta, dtype=float)
        (full[free],) = split_theta(type(self).__name__, theta, [int(free.sum())])
        return dataclasses.replace(self, kernel=self.kernel.clone_with_theta(full))

    def fix(self, *names: str) -> Self:
        """Return a copy in which the named parameters (all, if none is named) are not learnt."""
        self._check_names(names)
        new = names or tuple(name for name, _ in self._hyperparameters())
        return dataclasses.replace(self, fixed=tuple(dict.fromkeys((*self.fixed, *new))))

    def free(self, *names: str) -> Self:
        """Return a copy in which the named parameters (all, if none is named) are learnt."""
        self._check_names(names)
        return dataclasses.replace(self, fixed=tuple(n for n in self.fixed if names and n not in names))


__all__ = ["SklearnKernel", "from_sklearn"]
