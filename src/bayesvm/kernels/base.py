r"""What a kernel is (the contract page of this folder).

A kernel :math:`k(x, z; \theta)` is a covariance function. It is a small frozen object that answers three questions
about data and a few about its parameters:

========================  ============================================================================================
``gram(X, Z=None)``       the matrix :math:`k(x_i, z_j)`; with ``Z=None`` symmetric, :math:`k(x_i, x_j)`
``diag(X)``               the vector :math:`k(x_i, x_i)`
``pullback(X, Q)``        :math:`\partial \langle Q, K(X) \rangle / \partial \theta` for symmetric ``Q``: one number per
                          parameter, without an n x n x p array
``theta``                 logarithms of the free positive parameters
``bounds``, ``names``     their bounds (of the logarithms) and readable names
``with_theta(theta)``     the same kernel with other parameters
``fix()``, ``free()``     the same kernel with parameters that are not learnt, or learnt again
``bind(d, names)``        the same kernel made ready for ``d`` features: one length scale per feature where
                          ``ard=True``, column names turned into positions
``with_ard()``            the same kernel with ``ard=True`` in every part that can have it
``tied()``                the same kernel with one number for all features (the inverse of ``with_ard`` and ``bind``)
``matching(other)``       the same kernel with the values of a kernel of the same form, vectors filled from numbers
``at_scale(scale)``       the same kernel with its free parameters placed for a start at that scale
``with_relevance(l, v)``  with ARD, the same kernel with another relevance of feature l
``relevance(d)``          with ARD, how much each of the ``d`` features counts (:math:`\kappa_l = 1/\ell_l^2`)
========================  ============================================================================================

``X`` and ``Z`` are arrays or :class:`~bayesvm.kernels.inputs.Inputs`; passing the same ``Inputs`` object again reuses
the squared distances. Kernels compose with ``+``, ``*``, ``scalar * kernel`` and ``kernel.on(columns)``; nesting is
kept exactly as written.
"""

from __future__ import annotations

import dataclasses
import numbers
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bayesvm.kernels.inputs import Inputs
from bayesvm.kernels.scale import Scale
from bayesvm.parameters import Parameterized
from bayesvm.typing import Matrix, Vector

if TYPE_CHECKING:
    from bayesvm.kernels.combine import OnColumns, Product, Sum


class Kernel(ABC):
    """A covariance function; see the module's table for the contract."""

    @property
    def always_positive(self) -> bool:
        """False for a kernel that can be indefinite for some parameters or data; estimators then check the Gram."""
        return True

    # -- data --------------------------------------------------------------------------------------------------------
    def gram(self, X: Any, Z: Any = None) -> Matrix:
        """Return the Gram matrix between ``X`` and ``Z`` (``X`` itself if None); always a fresh array."""
        return self._gram(Inputs.of(X), None if Z is None else Inputs.of(Z))

    def diag(self, X: Any) -> Vector:
        """Return the diagonal of ``gram(X)``."""
        return self._diag(Inputs.of(X))

    def pullback(self, X: Any, Q: Matrix) -> Vector:
        r"""Return :math:`\partial \langle Q, K(X) \rangle / \partial \theta` for a symmetric matrix ``Q``."""
        return self._pullback(Inputs.of(X), Q)

    @abstractmethod
    def _gram(self, X: Inputs, Z: Inputs | None) -> Matrix: ...

    @abstractmethod
    def _diag(self, X: Inputs) -> Vector: ...

    @abstractmethod
    def _pullback(self, X: Inputs, Q: Matrix) -> Vector: ...

    # -- parameters --------------------------------------------------------------------------------------------------
    @property
    @abstractmethod
    def theta(self) -> Vector:
        """Logarithms of the free parameters."""

    @property
    @abstractmethod
    def bounds(self) -> Matrix:
        """Bounds of ``theta``, one row (low, high) per entry."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """One readable name per entry of ``theta``."""

    @abstractmethod
    def with_theta(self, theta: Vector) -> Self:
        """Return the same kernel with the free parameters set to ``exp(theta)``."""

    @abstractmethod
    def fix(self, *names: str) -> Self:
        """Return a copy in which the named parameters (all, if none is named) are not learnt."""

    @abstractmethod
    def free(self, *names: str) -> Self:
        """Return a copy in which the named parameters (all, if none is named) are learnt."""

    @abstractmethod
    def bind(self, n_features: int, names: Sequence[str] | None = None) -> Kernel:
        """Return the kernel made ready for data with ``n_features`` columns (called ``names``, if given)."""

    @abstractmethod
    def with_ard(self) -> Kernel:
        """Return the kernel with one parameter per feature in every part that can have it."""

    @abstractmethod
    def tied(self) -> Kernel:
        """Return the kernel with one number for all features in every part: the geometric mean of a vector."""

    @abstractmethod
    def matching(self, other: Kernel) -> Kernel:
        """Return the kernel with the values of ``other``, a kernel of the same form; a vector is filled with a number."""

    @abstractmethod
    def at_scale(self, scale: Scale) -> Kernel:
        """Return the kernel with its free parameters placed for a start at the given scale, within their bounds."""

    @abstractmethod
    def relevance(self, n_features: int) -> Vector | None:
        r"""Return how much each feature counts (:math:`1/\ell_l^2`, or the variance of its weight), summed over the parts.

        None if no part has one parameter per feature.
        """

    @abstractmethod
    def with_relevance(self, feature: int, value: float) -> Kernel:
        """Return the kernel with the relevance of one feature set, in every part with one free parameter per feature."""

    @abstractmethod
    def leaves(self) -> tuple[Kernel, ...]:
        """Return the elementary kernels of which this one is composed, from left to right."""

    def _add_to(self, K: Matrix, X: Inputs, Z: Inputs | None) -> None:
        """Add the Gram matrix to ``K``."""
        K += self._gram(X, Z)

    # -- algebra -----------------------------------------------------------------------------------------------------
    def __add__(self, other: Kernel | float) -> Sum:
        from bayesvm.kernels.combine import Sum

        return Sum(self, _as_kernel(other))

    def __radd__(self, other: float) -> Sum:
        from bayesvm.kernels.combine import Sum

        return Sum(_as_kernel(other), self)

    def __mul__(self, other: Kernel | float) -> Product:
        from bayesvm.kernels.combine import Product

        return Product(self, _as_kernel(other))

    def __rmul__(self, other: float) -> Product:
        from bayesvm.kernels.combine import Product

        return Product(_as_kernel(other), self)

    def on(self, columns: Any) -> OnColumns:
        """Return the kernel restricted to some columns, given by position or by feature name (one or a sequence)."""
        from bayesvm.kernels.combine import OnColumns

        single = isinstance(columns, str | numbers.Integral)
        return OnColumns(self, (columns,) if single else tuple(columns))


def _as_kernel(value: Kernel | float) -> Kernel:
    """Turn a positive number into a constant kernel whose value is not learnt."""
    from bayesvm.kernels.constant import Constant

    if isinstance(value, Kernel):
        return value
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return Constant(float(value)).fix()
    raise TypeError(f"a kernel combines with kernels and positive numbers, found {type(value).__name__}")


@dataclasses.dataclass(frozen=True, repr=False)
class Leaf(Parameterized, Kernel):
    """An elementary kernel: a frozen dataclass with its positive parameters declared (see ``Parameterized``).

    A subclass writes ``_gram``, ``_diag`` and ``_gradients``; it is decorated with
    ``@dataclasses.dataclass(frozen=True, repr=False)`` to keep the readable ``repr`` of this class.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.positive:
            if name != self._vector_field and np.ndim(getattr(self, name)) > 0:
                raise ValueError(
                    f"{type(self).__name__}.{name}: expected one positive number, found {getattr(self, name)!r}"
                )

    @property
    def _vector_field(self) -> str | None:
        """The one field that may hold a value per feature."""
        return None

    @abstractmethod
    def _gradients(self, X: Inputs, Q: Matrix) -> Mapping[str, float | Vector]:
        r"""Return :math:`\partial \langle Q, K(X) \rangle / \partial \log p` of (at least) every free parameter."""

    def _pullback(self, X: Inputs, Q: Matrix) -> Vector:
        learnt = [name for name, _, _ in self._learnt()]
        gradients = self._gradients(X, Q) if learnt else {}
        return np.concatenate([np.empty(0), *(np.atleast_1d(gradients[name]) for name in learnt)])

    def _is_free(self, name: str) -> bool:
        return not (name in self.limits and self.limits[name] is None)

    def leaves(self) -> tuple[Kernel, ...]:
        """Return the kernel itself."""
        return (self,)

    def with_ard(self) -> Kernel:
        """Return the kernel itself: it has no parameter per feature unless a subclass says so."""
        return self

    def tied(self) -> Kernel:
        """Return the kernel itself: it has no parameter per feature unless a subclass says so."""
        return self

    def matching(self, other: Kernel) -> Self:
        """Return the kernel with the values of ``other``, a kernel of the same class."""
        if type(other) is not type(self):
            raise TypeError(f"matching: expected a {type(self).__name__}, found a {type(other).__name__}")
        changes: dict[str, Any] = {}
        for name in self.positive:
            own, new = np.asarray(getattr(self, name)), np.asarray(getattr(other, name))
            changes[name] = float(new) if own.ndim == 0 else tuple(float(v) for v in np.broadcast_to(new, own.shape))
        return dataclasses.replace(self, **changes)

    def relevance(self, n_features: int) -> Vector | None:
        """Return None: it has no parameter per feature unless a subclass says so."""
        return None

    def with_relevance(self, feature: int, value: float) -> Kernel:
        """Return the kernel itself: it has no parameter per feature unless a subclass says so."""
        return self

    def _placed(self, scale: Scale) -> Mapping[str, float]:
        """Return the values that fields take at the given scale; fields left out keep theirs."""
        return {}

    def at_scale(self, scale: Scale) -> Self:
        """Return the kernel with its free parameters placed for a start at the given scale, within their bounds."""
        placed = self._placed(scale)
        changes: dict[str, Any] = {}
        for name, values, (low, high) in self._learnt():
            if name in placed:
                value = float(np.clip(placed[name], low, high))
                changes[name] = value if np.ndim(getattr(self, name)) == 0 else (value,) * values.size
        return dataclasses.replace(self, **changes)

    def bind(self, n_features: int, names: Sequence[str] | None = None) -> Kernel:
        """Return the kernel itself: nothing in it depends on the number of features unless a subclass says so."""
        return self

    def __repr__(self) -> str:
        shown = [
            f"{f.name}={getattr(self, f.name)!r}"
            for f in sorted(dataclasses.fields(self), key=lambda f: bool(f.kw_only))
            if f.repr and not (f.kw_only and getattr(self, f.name) == f.default)
        ]
        text = f"{type(self).__name__}({', '.join(shown)})"
        fixed = [name for name in self.positive if not self._is_free(name)]
        bounded = [f"{name}={bounds!r}" for name, bounds in self.limits.items() if bounds is not None]
        if bounded:
            text += f".bounded({', '.join(bounded)})"
        if fixed:
            text += ".fix()" if len(fixed) == len(self.positive) else f".fix({', '.join(map(repr, fixed))})"
        return text


def check_integer(name: str, value: object) -> int:
    """Return ``value`` as a positive integer, or say what is wrong with it."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or int(value) < 1:
        raise ValueError(f"{name}: expected a positive integer, found {value!r}")
    return int(value)


def frobenius(A: Matrix, B: Matrix) -> float:
    """Return the sum of the products of the entries, without a temporary matrix."""
    return float(np.einsum("ij,ij->", A, B))


__all__ = ["Kernel", "Leaf"]
