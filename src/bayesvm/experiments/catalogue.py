"""All experiments, and how to find one by its name."""

from __future__ import annotations

from collections.abc import Sequence

from bayesvm.experiments import (
    chu2003_figure1,
    chu2003_figure4,
    chu2003_figure5,
    chu2003_table1,
    chu2003_table2,
    chu2003_table3,
    chu2003_table4,
    chu2003_table5,
    seeger1999_table1,
    sollich1999,
    thesis_benchmarks,
    thesis_laser,
    thesis_losses,
    thesis_processes,
    thesis_robot,
    thesis_sinc,
    thesis_table_h1,
    vangestel2002,
)
from bayesvm.experiments.base import Experiment

EXPERIMENTS: tuple[Experiment, ...] = (
    chu2003_table1.EXPERIMENT,
    chu2003_table2.EXPERIMENT,
    chu2003_table3.EXPERIMENT,
    chu2003_table4.EXPERIMENT,
    chu2003_table5.EXPERIMENT,
    chu2003_figure1.EXPERIMENT,
    chu2003_figure4.EXPERIMENT,
    chu2003_figure5.EXPERIMENT,
    thesis_losses.FIGURES2,
    thesis_processes.FIGURES_PRIOR,
    thesis_processes.FIGURES_POSTERIOR,
    thesis_sinc.TABLE43,
    thesis_robot.EXPERIMENT,
    thesis_benchmarks.EXPERIMENT,
    thesis_sinc.FIGURE41,
    thesis_sinc.FIGURE42,
    thesis_laser.EXPERIMENT,
    thesis_losses.FIGURES_A,
    thesis_table_h1.EXPERIMENT,
    seeger1999_table1.EXPERIMENT,
    vangestel2002.TABLE1,
    vangestel2002.SECTION7,
    sollich1999.FIGURE1,
    sollich1999.FIGURE2,
)


def find(names: Sequence[str] = ()) -> list[Experiment]:
    """Return the experiments of these names, in the order of the catalogue; all if there is none.

    A name is that of an experiment, one of its other names, or the beginning of names up to a hyphen, such as
    ``thesis``.

    Raises
    ------
    ValueError
        If there is no such experiment.
    """
    chosen = set()
    for name in names:
        hits = {e.name for e in EXPERIMENTS if name in (e.name, *e.also) or e.name.startswith(f"{name}-")}
        if not hits:
            raise ValueError(f"no experiment {name!r}; there are {', '.join(e.name for e in EXPERIMENTS)}")
        chosen |= hits
    return [e for e in EXPERIMENTS if not names or e.name in chosen]


__all__ = ["EXPERIMENTS", "find"]
