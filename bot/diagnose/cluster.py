"""Workers on other machines: a Dask cluster as the executor that `read_log` takes."""

import os
import socket
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar

from bot.diagnose.blocks import STDIN_NAME
from bot.errors import InfrastructureError, UsageError

CONNECT_LIMIT_S: Final = 15.0
SCHEMES: Final = ("tcp://", "tls://")
# A worker that is lost costs its blocks once more, not the whole log.
RETRIES: Final = 2
# Dask warns of more than 10 MiB in one task; unpacked lines travel in their task.
CLUSTER_BLOCK_BYTES: Final = 8 << 20
SHARED: Final = "put the logs on a file system that all workers see under the same path"
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Cluster:
    """`workers`: threads of all machines, each analysing one block at a time."""

    executor: Executor
    workers: int


@contextmanager
def open_cluster(address: str, names: Sequence[str]) -> Iterator[Cluster]:
    """The cluster whose scheduler listens at `address`, once all its workers see the log files `names` as we do.

    Only connect to a scheduler that you trust: what it answers is unpickled here, and what we send runs there.

    Raises: UsageError without the package, or for an address of another kind; InfrastructureError where nothing
    answers, or a worker cannot do its part.
    """
    if not address.startswith(SCHEMES):
        raise UsageError(
            f"{address!r} is no address of a scheduler", place="--cluster", next_step="give tcp://HOST:PORT"
        )
    try:
        from distributed import Client, KilledWorker
        from distributed.comm.core import CommClosedError
    except ImportError:
        step = "pip install 'perf-culprit[cluster]', here and on the workers"
        raise UsageError("a cluster needs a package that is not installed", place="--cluster", next_step=step) from None
    try:
        client: Any = Client(  # type: ignore[no-untyped-call] # the package publishes few types
            address, timeout=CONNECT_LIMIT_S, set_as_default=False
        )
    except (OSError, ValueError):
        step = "check that `dask scheduler` runs there, and that this machine may connect to it"
        raise InfrastructureError(f"no scheduler answers at {address}", place="--cluster", next_step=step) from None
    with client:
        _check_workers(client, names)
        executor = client.get_executor(pure=False, retries=RETRIES)
        try:
            yield Cluster(executor=_Told(executor), workers=sum(client.nthreads().values()))
        except (KilledWorker, CommClosedError):
            raise InfrastructureError(
                "workers, or the connection to them, were lost",
                place="--cluster",
                next_step="see the workers' own logs; where they ran out of memory, give each fewer threads",
            ) from None
        finally:
            executor.shutdown(wait=False)


def _check_workers(client: Any, names: Sequence[str]) -> None:
    """Whether every worker can run this program and sees each plain file with its length."""
    expected = sizes([str(Path(name).absolute()) for name in names if name != STDIN_NAME])
    try:
        answers = client.run(sizes, [*expected], on_error="return")
    except Exception as error:  # noqa: BLE001 - whatever a worker without this program raises, it cannot help
        raise _cannot_run(str(error)) from None
    if not answers:
        raise InfrastructureError("has no workers", place="--cluster", next_step="start `dask worker` on some machines")
    for worker, answer in answers.items():
        if not isinstance(answer, dict):
            raise _cannot_run(f"{worker}: {answer}")
        for name, size in expected.items():
            if answer.get(name) != size:
                seen = answer.get(name)
                state = "does not see it" if seen is None else f"sees {seen} bytes instead of {size}"
                raise InfrastructureError(f"the worker {worker} {state}", place=name, next_step=SHARED)


def _cannot_run(cause: str) -> InfrastructureError:
    return InfrastructureError(
        f"a worker cannot run perf-culprit: {cause[:300]}",
        place="--cluster",
        next_step="install the same version of perf-culprit and of its extra `cluster` on every worker",
    )


def sizes(paths: Sequence[str]) -> dict[str, int | None]:
    """What a worker is asked: the size of each file, None where it is not there."""
    return {path: os.stat(path).st_size if os.path.isfile(path) else None for path in paths}  # noqa: PTH113, PTH116 - the paths came as text and go back as text


class _Told(Executor):
    """The cluster's executor, whose failures say on which machine and what to do."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        return self._executor.submit(_told, fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """The cluster is its owner's: it stays up."""


def _told(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    try:
        return function(*args, **kwargs)
    except OSError as error:
        raise InfrastructureError(
            f"the worker on {socket.gethostname()} cannot read it: {error.strerror or error}",
            place=str(error.filename),
            next_step=SHARED,
        ) from None
