"""Comparing models and kernels on the same data."""

from bayesvm.comparison.judge import compare
from bayesvm.comparison.table import Comparison, Row

__all__ = ["Comparison", "Row", "compare"]
