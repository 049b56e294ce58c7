"""One small cluster for all tests of a file, over the loopback only; it ends with them, for it is never quite idle."""

import pytest

from bayesvm.distributed.engine import local_cluster


@pytest.fixture(scope="module")
def client():
    """Two workers of one thread each, in processes of their own."""
    pytest.importorskip("dask", reason="dask and distributed are not installed")
    with local_cluster(2) as own:
        yield own
