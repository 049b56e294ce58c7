"""One small cluster for all tests of the folder, over the loopback only."""

import pytest

from bayesvm.distributed.engine import local_cluster


@pytest.fixture(scope="session")
def client():
    """Two workers of one thread each, in processes of their own."""
    pytest.importorskip("dask", reason="dask and distributed are not installed")
    with local_cluster(2) as own:
        yield own
