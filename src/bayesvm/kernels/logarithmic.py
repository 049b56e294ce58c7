"""A kernel of the logarithms of some columns, evaluated on the inputs as they were given."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from bayesvm.kernels.base import Kernel
from bayesvm.kernels.combine import Transformed
from bayesvm.kernels.inputs import Inputs


@dataclasses.dataclass(frozen=True, repr=False)
class Logarithmic(Transformed):
    r"""A kernel of columns on a logarithmic scale.

    .. math:: k(x, z) = k_1\bigl(t(x), t(z)\bigr), \qquad
              t(x)_l = \operatorname{sign}(u_l) \log(1 + |u_l|), \quad u_l = (x_l - o_l)/c_l

    Frequencies, counts, sizes and amounts vary over orders of magnitude: a few large values would decide all distances
    if they were not brought together. The map is linear within about :math:`c_l` of :math:`o_l` and logarithmic beyond.
    Its parameters are those of the inner kernel, with the same names.

    Parameters
    ----------
    kernel : Kernel
        The inner kernel :math:`k_1`.
    origin : tuple of float
        :math:`o`, one number per feature.
    unit : tuple of float
        :math:`c`, one number per feature; zero: the feature stays as it is.
    """

    origin: tuple[float, ...]
    unit: tuple[float, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        origin, unit = np.asarray(self.origin, dtype=float), np.asarray(self.unit, dtype=float)
        if origin.ndim != 1 or origin.shape != unit.shape:
            raise ValueError(
                f"Logarithmic: expected origin and unit with one number per feature, found shapes {origin.shape} "
                f"and {unit.shape}"
            )
        if not (np.all(np.isfinite(origin)) and np.all(np.isfinite(unit)) and np.all(unit >= 0.0)):
            raise ValueError("Logarithmic: expected finite origins and finite units that are not negative")
        object.__setattr__(self, "origin", tuple(float(v) for v in origin))
        object.__setattr__(self, "unit", tuple(float(v) for v in unit))

    def bind(self, n_features: int, names: Sequence[str] | None = None) -> Kernel:
        """Return the kernel with its inner kernel made ready for ``n_features`` columns."""
        self._expect(n_features)
        return super().bind(n_features, names)

    def _expect(self, n_features: int) -> None:
        if n_features != len(self.origin):
            raise ValueError(f"Logarithmic: expected {len(self.origin)} features, found {n_features}")

    def _transformed(self, X: Inputs) -> Inputs:
        self._expect(X.n_features)
        return X.logarithms(self.origin, self.unit)


__all__ = ["Logarithmic"]
