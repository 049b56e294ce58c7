r"""What a kernel is (the contract page of this folder).

A kernel :math:`k(x, z; \theta)` is a covariance function. It is a small frozen object. Its core answers three questions
about data and a few about its parameters:

===========================  ===========================================================================================
``gram(X, Z=None)``          the matrix :math:`k(x_i, z_j)`; with ``Z=None`` symmetric, :math:`k(x_i, x_j)`
``diag(X)``                  the vector :math:`k(x_i, x_i)`
``pullback(X, Q)``           :math:`\partial \langle Q, K(X) \rangle / \partial \theta` for symmetric ``Q``: one number
                             per parameter, without an n x n x p array
``cross_pullback(X, Z, Q)``  the same of :math:`\langle Q, K(X, Z) \rangle`, for any ``Q``; this one, and the next,
                             follow from ``pullback`` and are written anew where that is faster
``diag_pullback(X, q)``      the same of :math:`\langle q, \operatorname{diag} K(X) \rangle`
``theta``                    logarithms of the free positive parameters
``bounds``, ``names``        their bounds (of the logarithms) and readable names
``with_theta(theta)``        the same kernel with other parameters
``fix()``, ``free()``        the same kernel with parameters that are not learnt, or learnt again
``bind(d, names)``           the same kernel made ready for ``d`` features: one length scale per feature where
                             ``ard=True``, column names turned into positions
``relevance(d)``             with ARD, how much each of the ``d`` features counts (:math:`\kappa_l = 1/\ell_l^2`)
``with_relevance(l, v)``     with ARD, the same kernel with another relevance of feature l
===========================  ===========================================================================================

What follows from the core is computed for all kernels alike by the functions of :mod:`bayesvm.kernels.tree`, which
kernels have as methods too: ``leaves``, ``with_ard``, ``tied``, ``matching`` and ``at_scale``.

``X`` and ``Z`` are arrays or :class:`~bayesvm.kernels.inputs.Inputs`; passing the same ``Inputs`` object again reuses
the squared distances. Kernels compose with ``+``, ``*``, ``scalar * kernel`` and ``kernel.on(columns)``; nesting is
kept exactly as written. ``print(kernel)`` shows few digits, and the names of the features where they are known;
``repr(kernel)`` evaluates to an equal kernel.

A new kernel of the distance derives from :class:`~bayesvm.kernels.Stationary`, one of the inner product from
:class:`~bayesvm.kernels.DotProduct`, and writes two functions. Any other elementary kernel derives from
:class:`~bayesvm.kernels.leaf.Leaf`; a kernel made of kernels derives from :class:`Kernel` and lists in ``parts`` the
fields that hold them.
"""

from __future__ import annotations

import dataclasses
import numbers
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from bayesvm.kernels import tree
from bayesvm.kernels.inputs import Inputs
from bayesvm.kernels.scale import Scale
from bayesvm.parameters import split_theta
from bayesvm.typing import Matrix, Vector

if TYPE_CHECKING:
    from bayesvm.kernels.combine import OnColumns, Product, Sum


#: Rows of the Gram matrices by which a diagonal is pulled back.
SMALL = 32


@dataclasses.dataclass(frozen=True, repr=False)
class Kernel(ABC):
    """A covariance function; see the module's table for the contract.

    The parameters of a kernel made of kernels are those of its ``children``, one after the other. A leaf has none, and
    takes its parameters from :class:`~bayesvm.parameters.Parameterized`.
    """

    #: Fields that hold kernels, in the order of theta.
    parts: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for child in self.children:
            if not isinstance(child, Kernel):
                raise TypeError(f"{type(self).__name__}: expected a kernel, found {type(child).__name__}")

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

    def cross_pullback(self, X: Any, Z: Any, Q: Matrix) -> Vector:
        r"""Return :math:`\partial \langle Q, K(X, Z) \rangle / \partial \theta` for a matrix ``Q`` of that shape."""
        return self._cross_pullback(Inputs.of(X), Inputs.of(Z), Q)

    def diag_pullback(self, X: Any, q: Vector) -> Vector:
        r"""Return :math:`\partial \langle q, \operatorname{diag} K(X) \rangle / \partial \theta`."""
        return self._diag_pullback(Inputs.of(X), q)

    @abstractmethod
    def _gram(self, X: Inputs, Z: Inputs | None) -> Matrix: ...

    @abstractmethod
    def _diag(self, X: Inputs) -> Vector: ...

    @abstractmethod
    def _pullback(self, X: Inputs, Q: Matrix) -> Vector: ...

    def _cross_pullback(self, X: Inputs, Z: Inputs, Q: Matrix) -> Vector:
        """Return the derivative from that of the Gram matrix of both sets of rows, in which it is a corner."""
        total, step = np.zeros(self.theta.size), max(len(Z), SMALL)
        for start in range(0, len(X), step):
            part = Q[start : start + step]
            corner = np.zeros((sum(part.shape), sum(part.shape)))
            corner[: len(part), len(part) :] = 0.5 * part
            corner[len(part) :, : len(part)] = 0.5 * part.T
            rows = np.arange(start, start + len(part))
            total += self._pullback(X.take(rows).stacked(Z), corner)
        return total

    def _diag_pullback(self, X: Inputs, q: Vector) -> Vector:
        """Return the derivative from that of the Gram matrices of a few rows at a time."""
        total = np.zeros(self.theta.size)
        for start in range(0, len(X), SMALL):
            part = q[start : start + SMALL]
            total += self._pullback(X.take(np.arange(start, start + part.size)), np.diag(part))
        return total

    @property
    def always_positive(self) -> bool:
        """Whether all Gram matrices are positive semidefinite; if not, estimators check the one they use.

        True of sums and products if it is true of their children, Thesis section 3.2.1.3.
        """
        return all(child.always_positive for child in self.children)

    # -- parts -------------------------------------------------------------------------------------------------------
    @property
    def children(self) -> tuple[Kernel, ...]:
        """The kernels of which this one is made, in the order of ``theta``."""
        return tuple(getattr(self, part) for part in self.parts)

    def with_children(self, children: Sequence[Kernel]) -> Self:
        """Return the same composition of other kernels."""
        changes: dict[str, Any] = dict(zip(self.parts, children))
        return dataclasses.replace(self, **changes)

    # -- parameters --------------------------------------------------------------------------------------------------
    @property
    def theta(self) -> Vector:
        """Logarithms of the free parameters."""
        return np.concatenate([np.empty(0), *(child.theta for child in self.children)])

    @property
    def n_free(self) -> int:
        """How many entries ``theta`` has."""
        return self.theta.size

    @property
    def bounds(self) -> Matrix:
        """Bounds of ``theta``, one row (low, high) per entry."""
        return np.concatenate([np.empty((0, 2)), *(child.bounds for child in self.children)])

    @property
    def names(self) -> tuple[str, ...]:
        """One readable name per entry of ``theta``.

        Of several kernels the leaf's class in lower case, a number from the second of its class on, a dot and the
        parameter, as in ``gaussian.lengthscale[age]`` and ``gaussian2.variance``.
        """
        if len(self.children) < 2:
            return tuple(name for child in self.children for name in child.names)
        return tuple(f"{label}.{name}" for label, leaf in tree.labelled(self) for name in leaf.names)

    def with_theta(self, theta: Vector) -> Self:
        """Return the same kernel with the free parameters set to ``exp(theta)``."""
        parts = split_theta(type(self).__name__, theta, [child.n_free for child in self.children])
        return self.with_children([child.with_theta(part) for child, part in zip(self.children, parts)])

    def fix(self, *names: str) -> Kernel:
        """Return a copy in which the named parameters (``"gaussian.variance"``; all, if none) are not learnt."""
        return tree.change_named(self, names, lambda kernel, own: kernel.fix(*own))

    def free(self, *names: str) -> Kernel:
        """Return a copy in which the named parameters (``"gaussian.variance"``; all, if none) are learnt."""
        return tree.change_named(self, names, lambda kernel, own: kernel.free(*own))

    def bind(self, n_features: int, names: Sequence[str] | None = None) -> Kernel:
        """Return the kernel made ready for data with ``n_features`` columns (called ``names``, if given)."""
        return self.with_children([child.bind(n_features, names) for child in self.children])

    def relevance(self, n_features: int) -> Vector | None:
        r"""Return how much each feature counts (:math:`1/\ell_l^2`, or the variance of its weight), summed over parts.

        None if no part has one parameter per feature.
        """
        parts = [part for child in self.children if (part := child.relevance(n_features)) is not None]
        return np.sum(parts, axis=0) if parts else None

    def with_relevance(self, feature: int, value: float) -> Kernel:
        """Return the kernel with the relevance of one feature set, in every part with a free value per feature."""
        return self.with_children([child.with_relevance(feature, value) for child in self.children])

    # -- derived -----------------------------------------------------------------------------------------------------
    leaves = tree.leaves
    with_ard = tree.with_ard
    tied = tree.tied
    matching = tree.matching
    at_scale = tree.at_scale

    def _start(self, scale: Scale) -> dict[str, float]:
        """Return the values of fields at the start of a search; other fields keep theirs."""
        return {"variance": scale.variance, "lengthscale": scale.lengthscale}

    # -- text --------------------------------------------------------------------------------------------------------
    def __repr__(self) -> str:
        from bayesvm.kernels.text import written

        return written(self, exact=True)

    def __str__(self) -> str:
        from bayesvm.kernels.text import written

        return written(self, exact=False)

    # -- algebra -----------------------------------------------------------------------------------------------------
    def __add__(self, other: Kernel | float) -> Sum:
        from bayesvm.kernels.combine import Sum, operand

        return Sum(self, operand(other))

    def __radd__(self, other: float) -> Sum:
        from bayesvm.kernels.combine import Sum, operand

        return Sum(operand(other), self)

    def __mul__(self, other: Kernel | float) -> Product:
        from bayesvm.kernels.combine import Product, operand

        return Product(self, operand(other))

    def __rmul__(self, other: float) -> Product:
        from bayesvm.kernels.combine import Product, operand

        return Product(operand(other), self)

    def on(self, columns: Any) -> OnColumns:
        """Return the kernel restricted to some columns, given by position or by feature name (one or a sequence)."""
        from bayesvm.kernels.combine import OnColumns

        single = isinstance(columns, str | numbers.Integral)
        return OnColumns(self, (columns,) if single else tuple(columns))


__all__ = ["Kernel"]
