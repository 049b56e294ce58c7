"""The thesis' regressors have the thesis' kernel and noise, and are exact for any number of rows."""

import pytest

pytest.importorskip("bayesvm.experiments", reason="the experiments are part of the source, not of the wheel")

from bayesvm.experiments.thesis_machines import bsvr, gpr


@pytest.mark.parametrize("maker", [bsvr, gpr])
def test_nothing_is_chosen_or_approximated(maker):
    machine = maker({"starts": 2}, ard=True)
    assert machine.kernel is None
    assert machine.inducing is None
    assert machine.n_starts == 2
    assert machine.ard
    assert maker({}).n_starts == 4


def test_the_noise_is_soft_insensitive():
    assert bsvr({}).likelihood == "soft-insensitive"
