"""Loops over Gram matrices; :mod:`bayesvm._core.gram.reference` states the same in NumPy."""

from bayesvm._core.gram._gram import gaussian_from_inner, gaussian_of_distances, rows_times, scaled_block

__all__ = ["gaussian_from_inner", "gaussian_of_distances", "rows_times", "scaled_block"]
