"""The same machines for rows that are in files or on a Dask cluster (extra ``distributed``).

Nothing of Dask is imported until a Dask collection, a client or a local cluster is used.
"""

from bayesvm.distributed.storage import load, save
from bayesvm.distributed.svc import DistributedSVC
from bayesvm.distributed.svr import DistributedSVR

__all__ = ["DistributedSVC", "DistributedSVR", "load", "save"]
