"""The papers' tables and figures, each by one command: ``bayesvm reproduce NAME``.

One small module per table or figure, over a common engine. The package lies inside the library, not beside it, so that the command also
works where the library is installed without its source tree. No data comes with it; see :mod:`bayesvm.datasets`.
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
