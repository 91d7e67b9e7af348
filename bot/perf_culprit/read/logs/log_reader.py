"""Analysis of log files into one whole part, by processes of this machine or a Dask cluster."""

import gc
import os
import signal
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, reduce
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from types import FrameType
from typing import Any, Final, ParamSpec, TypeAlias, TypeVar

from perf_culprit.errors import ConfigError, DataError, InfrastructureError, UsageError
from perf_culprit.python_child import process_pool
from perf_culprit.read.logs.log_chunks import BLOCK_BYTES, STDIN_NAME, Lines, Stretch, blocks, pieces
from perf_culprit.read.logs.log_partial import Part, analyse, finish, merge
from perf_culprit.read.logs.log_pattern import LinePattern
from perf_culprit.read.logs.log_rows import presets_that_read
from perf_culprit.read.logs.reading_settings import ReadingSettings

CONNECT_LIMIT_S: Final = 15.0
SCHEMES: Final = ("tcp://", "tls://")
# If a worker is lost, only its blocks are analysed again, not the whole log.
RETRIES: Final = 2
# Dask warns about tasks above 10 MiB, and unpacked lines are part of their task.
CLUSTER_BLOCK_BYTES: Final = 8 << 20
SHARED: Final = "put the logs on a file system that all workers see under the same path"
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Cluster:
    """`workers`: the number of threads on all machines. Each thread analyses one block at a time."""

    executor: Executor
    workers: int


@contextmanager
def open_cluster(address: str, names: Sequence[str]) -> Iterator[Cluster]:
    """Connect to the scheduler at `address` and check that all its workers see the log files `names` as we do.

    Only connect to a trusted scheduler: its answers are unpickled here, and our functions run there.

    Raises: UsageError without the package or for an unsupported address; InfrastructureError if no scheduler answers
    or a worker cannot do its part.
    """
    if not address.startswith(SCHEMES):
        raise UsageError(
            f"{address!r} is not an address of a scheduler", place="--cluster", next_step="give tcp://HOST:PORT"
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
            yield Cluster(executor=_NamedFailures(executor), workers=sum(client.nthreads().values()))
        except (KilledWorker, CommClosedError):
            raise InfrastructureError(
                "workers, or the connection to them, were lost",
                place="--cluster",
                next_step="see the workers' own logs; where they ran out of memory, give each fewer threads",
            ) from None
        finally:
            executor.shutdown(wait=False)


def _check_workers(client: Any, names: Sequence[str]) -> None:
    """Raise InfrastructureError unless every worker can run this program and sees each plain file at its length."""
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
                size_there = answer.get(name)
                state = "does not see it" if size_there is None else f"sees {size_there} bytes instead of {size}"
                raise InfrastructureError(f"the worker {worker} {state}", place=name, next_step=SHARED)


def _cannot_run(cause: str) -> InfrastructureError:
    return InfrastructureError(
        f"a worker cannot run perf-culprit: {cause[:300]}",
        place="--cluster",
        next_step="install the same version of perf-culprit and of its extra `cluster` on every worker",
    )


def sizes(paths: Sequence[str]) -> dict[str, int | None]:
    """Return the size of each file, None if it is missing. Every worker runs this function."""
    return {path: os.stat(path).st_size if os.path.isfile(path) else None for path in paths}  # noqa: PTH113, PTH116 - the paths came as text and go back as text


class _NamedFailures(Executor):
    """The cluster's executor. Its failures name the machine and the next step."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        return self._executor.submit(_with_named_failure, fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Do nothing: the cluster belongs to its owner and stays up."""


def _with_named_failure(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    try:
        return function(*args, **kwargs)
    except OSError as error:
        raise InfrastructureError(
            f"the worker on {socket.gethostname()} cannot read it: {error.strerror or error}",
            place=str(error.filename),
            next_step=SHARED,
        ) from None


# A block takes a second or two.
BLOCK_TIME_LIMIT_S: Final = 30.0
_HEAD_LINES: Final = 50
Analysis: TypeAlias = Callable[[Stretch | Lines], Part]


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadLog:
    part: Part
    truncated_files: tuple[str, ...]


def read_log(
    names: Sequence[str],
    *,
    pattern: LinePattern,
    settings: ReadingSettings,
    workers: int = 2,
    executor: Executor | None = None,
    block_bytes: int = BLOCK_BYTES,
    time_limit_s: float = BLOCK_TIME_LIMIT_S,
) -> ReadLog:
    """Read the files as one log. A given `executor`, such as a cluster's, must see their folder and is left open.

    Raises: DataError for a file that cannot be read or if no line is usable; ConfigError if the pattern exceeds the
    time limit.
    """
    truncated: list[str] = []
    produced = chain.from_iterable(blocks(name, truncated=truncated.append, block_bytes=block_bytes) for name in names)
    head, is_whole = _first_blocks(produced, block_bytes)
    if not head:
        raise DataError(
            "holds no line", place=", ".join(names), next_step="check that the logger was on during the load test"
        )
    every = chain(head, produced)
    analysed = partial(analyse_block, pattern=pattern, settings=settings, limit_s=time_limit_s)
    # This process is one of the workers if it can limit the pattern's time.
    others = workers - can_be_limited()
    if executor is not None:
        part = _read_in_workers(every, analysed, executor=executor, ahead=2 * workers)
    elif can_be_limited() and (is_whole or not others):
        part = reduce(merge, map(analysed, every))
    else:
        part = _on_processes(every, analysed, others=others)
    part = finish(part)
    if not any(service.calls for service in part.services.values()):
        raise _nothing_usable(names, head[0], part)
    return ReadLog(part=part, truncated_files=tuple(dict.fromkeys(truncated)))


def analyse_block(block: Stretch | Lines, *, pattern: LinePattern, settings: ReadingSettings, limit_s: float) -> Part:
    """Analyse one block within the time limit; each worker runs this function."""
    with time_limit(limit_s, pattern=pattern.name):
        return reduce(merge, (analyse(piece, pattern=pattern, settings=settings) for piece in pieces(block.read())))


def _first_blocks(produced: Iterator[Stretch | Lines], most_bytes: int) -> tuple[list[Stretch | Lines], bool]:
    """Take blocks until their total exceeds `most_bytes`. Also return whether these are all: no process pays off."""
    head: list[Stretch | Lines] = []
    size = 0
    for block in produced:
        head.append(block)
        size += block.size
        if size > most_bytes:
            return head, False
    return head, True


def _on_processes(every: Iterator[Stretch | Lines], analysed: Analysis, *, others: int) -> Part:
    # Spawning is safe whatever threads the caller has; forking is not.
    with process_pool(others, context=get_context("spawn"), initializer=gc.disable) as pool:
        try:
            return _read_in_workers(every, analysed, executor=pool, ahead=2 * others, helps=can_be_limited())
        except BrokenProcessPool:
            raise InfrastructureError(
                "a worker process ended without a result",
                next_step="try --workers 1; where that helps, the machine has too little memory for more",
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)


def _read_in_workers(
    every: Iterator[Stretch | Lines], analysed: Analysis, *, executor: Executor, ahead: int, helps: bool = False
) -> Part:
    """`ahead`: the number of blocks that the executor has at a time. `helps`: this process analyses blocks too."""
    whole = Part()
    pending: deque[Future[Part]] = deque()
    for block in every:
        # Parts are merged in order; the number of those that wait is limited.
        while pending and (pending[0].done() or len(pending) >= (2 * ahead if helps else ahead)):
            whole = merge(whole, pending.popleft().result())
        if helps and sum(not future.done() for future in pending) >= ahead:
            own: Future[Part] = Future()
            own.set_result(analysed(block))
            pending.append(own)
        else:
            pending.append(executor.submit(analysed, block))
    while pending:
        whole = merge(whole, pending.popleft().result())
    return whole


def _nothing_usable(names: Sequence[str], first: Stretch | Lines, part: Part) -> DataError:
    lines = first.read()[: 1 << 20].splitlines()[:_HEAD_LINES]
    reading = presets_that_read(lines)
    example = f", such as {part.examples[0].text[:120]!r}" if part.examples else ""
    return DataError(
        f"none of {part.lines:,} lines is a method execution{example}",
        place=", ".join(names),
        next_step=f"use --pattern {reading[0]}, which reads it"
        if reading
        else "write a pattern file for its lines (docs/diagnosis.md)",
    )


def can_be_limited() -> bool:
    """Return whether this thread receives alarms: only a process's main thread does."""
    return threading.current_thread() is threading.main_thread()


@contextmanager
def time_limit(seconds: float, *, pattern: str) -> Iterator[None]:
    """Raise ConfigError after `seconds` of processor time: a pattern can run forever on one line.

    CPython's matcher handles alarms while it searches.
    This has no effect in other threads, which receive no alarms: with an executor of threads the pattern is trusted.
    """
    if not can_be_limited():
        yield
        return

    def late(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise ConfigError(
            f"took more than {seconds:g} s of processor time for one block of lines",
            place=pattern,
            next_step="take nested or neighbouring repeats out of the pattern, such as (a+)+ or .*.*; "
            r"possessive repeats (\S++) give up at once",
        )

    before = signal.signal(signal.SIGVTALRM, late)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
