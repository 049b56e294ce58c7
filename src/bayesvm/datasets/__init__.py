"""Data sets: drawn from known distributions, or read from files.

The former are in :mod:`~bayesvm.datasets.classes` and :mod:`~bayesvm.datasets.generators`.

Generators are seeded, and return the true function or the true class probability beside the data. Loaders read the
directory that is given to them or named by the environment variable ``BAYESVM_DATA``.
"""

from bayesvm.datasets.classes import (
    bayes_error,
    make_checkerboard,
    make_ringnorm,
    make_ripley,
    make_simulated_1d,
    make_simulated_2d,
    make_twonorm,
    make_waveform,
)
from bayesvm.datasets.files import (
    DataSet,
    MissingDataError,
    data_directory,
    load_delve,
    load_ida,
    load_ida_asc,
    load_ida_mat,
    load_npz,
    load_sklearn,
)
from bayesvm.datasets.generators import embed, make_mackey_glass, make_robot_arm, make_sinc
from bayesvm.datasets.sollich import make_sollich

__all__ = [
    "DataSet",
    "MissingDataError",
    "bayes_error",
    "data_directory",
    "embed",
    "load_delve",
    "load_ida",
    "load_ida_asc",
    "load_ida_mat",
    "load_npz",
    "load_sklearn",
    "make_checkerboard",
    "make_mackey_glass",
    "make_ringnorm",
    "make_ripley",
    "make_robot_arm",
    "make_simulated_1d",
    "make_simulated_2d",
    "make_sinc",
    "make_sollich",
    "make_twonorm",
    "make_waveform",
]
