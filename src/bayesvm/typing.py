"""Array aliases: the shape is part of the name."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: One-dimensional float64 array.
Vector = NDArray[np.float64]
#: Two-dimensional float64 array.
Matrix = NDArray[np.float64]
#: Three-dimensional float64 array: small square matrices, one per row.
Blocks = NDArray[np.float64]
#: One-dimensional array of row numbers.
Indices = NDArray[np.intp]

__all__ = ["Blocks", "Indices", "Matrix", "Vector"]
