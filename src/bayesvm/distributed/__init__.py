"""The same machines over blocks of rows, on threads or on a Dask cluster (extra ``distributed``).

Nothing of Dask is imported until a Dask collection, a client or a local cluster is used.
"""

from bayesvm.distributed.storage import load, save
from bayesvm.distributed.svc import BayesianSVC
from bayesvm.distributed.svr import BayesianSVR

__all__ = ["BayesianSVC", "BayesianSVR", "load", "save"]
