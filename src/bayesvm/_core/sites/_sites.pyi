import enum
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesvm._core.mode import TermKind
from bayesvm.typing import Indices, Matrix, Vector

class LabelKind(enum.Enum):
    TRIGONOMETRIC = ...
    RAISED_COSINE = ...
    LOGISTIC = ...
    PROBIT = ...

def use_lapack(routines: dict[str, Any]) -> None: ...
def inverse_diagonal(L: Matrix) -> Vector: ...
def inverse(L: Matrix) -> Matrix: ...
def lower_solve(L: Matrix, B: Matrix, forward: bool, backward: bool) -> Matrix: ...
def lower_square(A: Matrix) -> Matrix: ...
def response(B_inverse: Matrix, root: Vector, dtau: Vector, pull: Vector) -> tuple[Vector, Vector]: ...
def site_posterior(
    K: Matrix, tau: Vector, nu: Vector
) -> tuple[int, Indices, Vector, Matrix, Matrix, float, Vector, Vector, Vector, Vector]: ...
def tilted(kind: LabelKind, mean: Vector, var: Vector, power: Vector) -> Matrix: ...
def propagate(
    K: Matrix,
    y: Vector,
    kind: LabelKind,
    weights: Vector,
    tau: Vector,
    nu: Vector,
    frozen: NDArray[np.uint8],
    tol: float,
    drop: float,
    max_iter: int,
    settle: float,
) -> tuple[Any, ...] | None: ...
def evidence(
    terms: Sequence[tuple[TermKind, float, float, Matrix | None, bool]],
    y: Vector,
    kind: LabelKind,
    weights: Vector,
    tau: Vector,
    nu: Vector,
    tol: float,
    drop: float,
    max_iter: int,
) -> tuple[tuple[Any, ...], Vector, Vector] | None: ...
