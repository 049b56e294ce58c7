"""Kernels of ``sklearn.gaussian_process.kernels`` behind the contract of this folder."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bayesvm.kernels.base import Kernel
from bayesvm.kernels.inputs import Inputs
from bayesvm.kernels.scale import Scale
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
    Nothing is known about positive definiteness, hence ``always_positive`` is False.
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
        The kernel; never changed.
    fixed : tuple of str
        Hyperparameters, by scikit-learn's names, that are not learnt although scikit-learn would.
    """

    kernel: Any = dataclasses.field(hash=False)
    fixed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self._check_names(self.fixed)

    @property
    def always_positive(self) -> bool:
        """False: nothing is known about the kernel."""
        return False

    # -- data ----------------------------------------------------------------------------------------------------------
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

    # -- parameters ----------------------------------------------------------------------------------------------------
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

    def with_ard(self) -> Kernel:
        """Return the kernel itself: scikit-learn fixes the number of length scales at construction."""
        return self

    def tied(self) -> Kernel:
        """Return the kernel itself: scikit-learn fixes the number of length scales at construction."""
        return self

    def matching(self, other: Kernel) -> Kernel:
        """Return ``other``: it has the same form, and there are no vectors to fill."""
        return other

    def at_scale(self, scale: Scale) -> Kernel:
        """Return the kernel itself: its parameters have no meaning that is known here."""
        return self

    def with_relevance(self, feature: int, value: float) -> Kernel:
        """Return the kernel itself: its parameters have no meaning that is known here."""
        return self

    def relevance(self, n_features: int) -> Vector | None:
        """Return None: its parameters have no meaning that is known here."""
        return None

    def with_theta(self, theta: Vector) -> Self:
        """Return the same kernel with the free parameters set to ``exp(theta)``."""
        free = self._free_entries()
        theta = np.asarray(theta, dtype=float)
        if theta.shape != (int(free.sum()),):
            raise ValueError(f"with_theta: expected {int(free.sum())} values, found shape {theta.shape}")
        full = np.array(self.kernel.theta, dtype=float)
        full[free] = theta
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

    def bind(self, n_features: int, names: Sequence[str] | None = None) -> Self:
        """Return the kernel itself: scikit-learn's kernels are given their length scales one by one."""
        return self

    def leaves(self) -> tuple[Kernel, ...]:
        """Return the kernel itself: scikit-learn's composites are not opened."""
        return (self,)

    def __repr__(self) -> str:
        text = f"from_sklearn({self.kernel!r})"
        return text + (f".fix({', '.join(map(repr, self.fixed))})" if self.fixed else "")


__all__ = ["SklearnKernel", "from_sklearn"]
