"""A report about a fitted estimator: one HTML file that needs nothing else and takes no code to read."""

from bayesvm.report.document import render, write_report
from bayesvm.report.facts import collect_facts
from bayesvm.report.performance import Performance, measure

__all__ = ["Performance", "collect_facts", "measure", "render", "write_report"]
