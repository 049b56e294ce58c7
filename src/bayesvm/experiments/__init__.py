"""The papers' tables and figures, each by one command: ``bayesvm reproduce NAME``.

One small module per table or figure, over a common engine. The package is importable from a checkout and is part of
the source distribution, but not of the wheel: who only fits does not need it, and who checks a table needs the source
at hand. No data comes with it; see :mod:`bayesvm.datasets`.
"""

from bayesvm.experiments.base import Case, Column, Experiment, Published, Source, Table
from bayesvm.experiments.catalogue import EXPERIMENTS, find
from bayesvm.experiments.engine import Options, Outcome, run

__all__ = [
    "EXPERIMENTS",
    "Case",
    "Column",
    "Experiment",
    "Options",
    "Outcome",
    "Published",
    "Source",
    "Table",
    "find",
    "run",
]
