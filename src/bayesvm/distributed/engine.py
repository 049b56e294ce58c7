"""Where tasks run: in threads of this process, or on the workers of a Dask cluster.

Both engines take a function with arguments, some of which may be *handles* of earlier tasks (also inside lists), and
return a handle. Data stay where they were computed until they are gathered.
"""

from __future__ import annotations

import contextlib
import sys
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import joblib

from bayesvm.linalg.blas_threads import one_blas_thread

#: How many results one summing task takes.
FAN_IN = 16
#: Environment of workers: features of a block are taken from memory that the process keeps. Dask's own setting returns
#: it to the system after every use, and getting it back costs as much time as the work.
ENVIRONMENT = {"MALLOC_TRIM_THRESHOLD_": 1 << 28, "MALLOC_MMAP_THRESHOLD_": 1 << 25}


def in_tree(add: Callable[[Sequence[Any]], Any], parts: Sequence[Any]) -> Any:
    """Return the sum of parts, added up in a fixed order, ``FAN_IN`` at a time."""
    while len(parts) > 1:
        parts = [add(parts[i : i + FAN_IN]) for i in range(0, len(parts), FAN_IN)]
    return parts[0]


class Engine(ABC):
    """Runs tasks and keeps their results."""

    @abstractmethod
    def submit(self, function: Callable[..., Any], *args: Any, name: str, home: int | None = None) -> Any:
        """Start a task as soon as the handles among its arguments are there; return its handle.

        Tasks with the same ``home`` run on the same worker as long as it lives; consecutive homes are on different
        workers.
        """

    @abstractmethod
    def gather(self, handles: Sequence[Any]) -> list[Any]:
        """Return the results of tasks, in order; an exception in a task is raised here."""

    @abstractmethod
    def report(self, event: dict[str, Any]) -> None:
        """Tell the scheduler, where there is one, about an evaluation."""

    def put(self, value: Any, name: str) -> Any:
        """Return a handle of a value that is here."""
        return self.submit(_same, value, name=name)

    def tree(self, add: Callable[[Sequence[Any]], Any], handles: Sequence[Any], name: str) -> Any:
        """Return the handle of the sum of results; see :func:`in_tree`."""
        return in_tree(lambda group: self.submit(add, group, name=name), handles)


class Threads(Engine):
    """Threads of this process.

    Parameters
    ----------
    n_jobs : int or None
        How many, as in joblib.
    """

    def __init__(self, n_jobs: int | None = None) -> None:
        self._pool: ThreadPoolExecutor | None = ThreadPoolExecutor(joblib.effective_n_jobs(n_jobs))

    def submit(self, function: Callable[..., Any], *args: Any, name: str, home: int | None = None) -> Future[Any]:
        """Start a task; tasks begin in the order of submission, so that one that waits for another never blocks it.

        Once the engine is closed, a task runs before this method returns.
        """
        if self._pool is not None:
            return self._pool.submit(_called, function, args)
        done: Future[Any] = Future()
        done.set_result(_called(function, args))
        return done

    def gather(self, handles: Sequence[Any]) -> list[Any]:
        """Return the results."""
        return [handle.result() for handle in handles]

    def report(self, event: dict[str, Any]) -> None:
        """Do nothing: there is no scheduler."""

    def close(self) -> None:
        """Let the threads end, each with the task it is at; who was interrupted does not wait for them."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None


class Cluster(Engine):
    """The workers of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client
        Connected to the scheduler.
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        self._workers = sorted(client.nthreads())

    def submit(self, function: Callable[..., Any], *args: Any, name: str, home: int | None = None) -> Any:
        """Start a task; its name is what Dask's dashboard shows."""
        where = {}
        if home is not None and self._workers:
            where = {"workers": [self._workers[home % len(self._workers)]], "allow_other_workers": True}
        return self.client.submit(function, *args, key=f"bayesvm-{name}-{uuid.uuid4().hex}", pure=False, **where)

    def gather(self, handles: Sequence[Any]) -> list[Any]:
        """Return the results."""
        return list(self.client.gather(list(handles)))

    def report(self, event: dict[str, Any]) -> None:
        """Log the event with the scheduler, under the topic ``bayesvm``."""
        self.client.log_event("bayesvm", event)


@contextlib.contextmanager
def open_engine(client: Any, n_jobs: int | None) -> Iterator[Engine]:
    """Yield the engine for the argument ``client`` of the estimators, and close what was started for it.

    Parameters
    ----------
    client : distributed.Client, int or None
        A client; a number of workers for a cluster on this computer; or None: the current client if there is one,
        otherwise threads.
    n_jobs : int or None
        Number of threads.
    """
    if client is None:
        client = current_client()
    with contextlib.ExitStack() as stack:
        if client is None:
            engine: Engine = stack.enter_context(contextlib.closing(Threads(n_jobs)))
            stack.enter_context(one_blas_thread(joblib.effective_n_jobs(n_jobs) > 1))
        else:
            engine = Cluster(stack.enter_context(local_cluster(client)) if isinstance(client, int) else client)
        stack.enter_context(joblib.parallel_config(backend="sequential"))  # the engine alone works in parallel
        yield engine


def current_client() -> Any:
    """Return the client that this process uses by default, None if there is none (or no Dask)."""
    if "distributed.client" not in sys.modules:
        return None
    from distributed import default_client

    try:
        return default_client()
    except ValueError:
        return None


@contextlib.contextmanager
def local_cluster(n_workers: int) -> Iterator[Any]:
    """Yield the client of a cluster on this computer, workers of one thread each, over the loopback only."""
    try:
        import dask

        from distributed import Client, LocalCluster
    except ImportError:
        raise ImportError("client=<number of workers> needs Dask: pip install 'bayesvm[distributed]'") from None
    variables = {f"distributed.nanny.pre-spawn-environ.{name}": value for name, value in ENVIRONMENT.items()}
    with (
        dask.config.set(variables),
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def _same(value: Any) -> Any:
    return value


def _called(function: Callable[..., Any], args: Sequence[Any]) -> Any:
    return function(*(_resolved(arg) for arg in args))


def _resolved(value: Any) -> Any:
    if isinstance(value, Future):
        return value.result()
    if type(value) in (list, tuple):
        return type(value)(_resolved(item) for item in value)
    return value


__all__ = ["ENVIRONMENT", "Cluster", "Engine", "Threads", "current_client", "in_tree", "local_cluster", "open_engine"]
