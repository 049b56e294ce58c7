"""Native code (C++17, nanobind) and its plain NumPy reference (:mod:`bayesvm._core.reference`)."""

from bayesvm._core._native import gaussian_from_inner, gaussian_of_distances, rows_times, scaled_block

__all__ = ["gaussian_from_inner", "gaussian_of_distances", "rows_times", "scaled_block"]
