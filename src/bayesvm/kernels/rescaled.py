"""A kernel of standardised inputs, evaluated on the inputs as they were given."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from bayesvm.kernels.base import Kernel
from bayesvm.kernels.combine import Transformed
from bayesvm.kernels.inputs import Inputs


@dataclasses.dataclass(frozen=True, repr=False)
class Rescaled(Transformed):
    r"""A kernel of shifted and scaled inputs.

    .. math:: k(x, z) = k_1\bigl((x - m)/s, (z - m)/s\bigr)

    Its parameters are those of the inner kernel, with the same names: length scales are in units of :math:`s`.

    Parameters
    ----------
    kernel : Kernel
        The inner kernel :math:`k_1`.
    shift : tuple of float
        :math:`m`, one number per feature; zeros for sparse inputs.
    scale : tuple of float
        :math:`s`, one positive number per feature.
    """

    shift: tuple[float, ...]
    scale: tuple[float, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        shift, scale = np.asarray(self.shift, dtype=float), np.asarray(self.scale, dtype=float)
        if shift.ndim != 1 or shift.shape != scale.shape:
            raise ValueError(
                f"Rescaled: expected shift and scale with one number per feature, found shapes {shift.shape} "
                f"and {scale.shape}"
            )
        if not (np.all(np.isfinite(shift)) and np.all(np.isfinite(scale)) and np.all(scale > 0.0)):
            raise ValueError("Rescaled: expected finite shifts and positive finite scales")
        object.__setattr__(self, "shift", tuple(float(v) for v in shift))
        object.__setattr__(self, "scale", tuple(float(v) for v in scale))

    def bind(self, n_features: int, names: Sequence[str] | None = None) -> Kernel:
        """Return the kernel with its inner kernel made ready for ``n_features`` columns."""
        self._expect(n_features)
        return super().bind(n_features, names)

    def _expect(self, n_features: int) -> None:
        if n_features != len(self.shift):
            raise ValueError(f"Rescaled: expected {len(self.shift)} features, found {n_features}")

    def _transformed(self, X: Inputs) -> Inputs:
        self._expect(X.n_features)
        return X.rescaled(self.shift, self.scale)


__all__ = ["Rescaled"]
