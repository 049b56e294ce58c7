"""Working-set solver of dual problems; :mod:`bayesvm._core.working_set.reference` states the same in NumPy."""

from bayesvm._core.working_set._working_set import (
    CallbackColumns,
    Columns,
    DenseColumns,
    KernelColumns,
    SharedColumns,
    Solver,
)

__all__ = ["CallbackColumns", "Columns", "DenseColumns", "KernelColumns", "SharedColumns", "Solver"]
