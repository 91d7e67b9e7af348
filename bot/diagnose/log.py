"""Log files to one whole part: a producer of blocks, workers that analyse them, parts merged in the files' order."""

import gc
import signal
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
from types import FrameType
from typing import Final, TypeAlias

from bot.children import process_pool
from bot.diagnose.blocks import BLOCK_BYTES, Lines, Stretch, blocks
from bot.diagnose.part import Part, analyse, finish, merge
from bot.diagnose.pattern import LinePattern, presets_that_read
from bot.diagnose.settings import ReadingSettings
from bot.errors import ConfigError, DataError, InfrastructureError

# A block takes a fraction of a second; the rest is for busy machines.
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
    """The files as one log. A given `executor` (of a cluster, say) shares their folder and is left open.

    Raises: DataError for a file that cannot be read; ConfigError where the pattern takes for ever; DataError where
    nothing can be used.
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
    if executor is not None:
        part = _shared(every, analysed, executor=executor, ahead=2 * workers)
    elif is_whole and can_be_limited():
        part = reduce(merge, map(analysed, head))
    else:
        part = _on_processes(every, analysed, workers=workers)
    part = finish(part)
    if not any(service.calls for service in part.services.values()):
        raise _nothing_usable(names, head[0], part)
    return ReadLog(part=part, truncated_files=tuple(dict.fromkeys(truncated)))


def analyse_block(block: Stretch | Lines, *, pattern: LinePattern, settings: ReadingSettings, limit_s: float) -> Part:
    """What a worker runs."""
    with time_limit(limit_s, pattern=pattern.name):
        return analyse(block.read(), pattern=pattern, settings=settings)


def _first_blocks(produced: Iterator[Stretch | Lines], most_bytes: int) -> tuple[list[Stretch | Lines], bool]:
    """Blocks of together `most_bytes` and the one after them, and whether these are all: then no process pays off."""
    head: list[Stretch | Lines] = []
    size = 0
    for block in produced:
        head.append(block)
        size += block.size
        if size > most_bytes:
            return head, False
    return head, True


def _on_processes(every: Iterator[Stretch | Lines], analysed: Analysis, *, workers: int) -> Part:
    # Spawned, not forked: safe whatever threads the caller has. Their rows are many and hold no cycles, so collecting
    # garbage would only cost time.
    with process_pool(workers, context=get_context("spawn"), initializer=gc.disable) as pool:
        try:
            return _shared(every, analysed, executor=pool, ahead=2 * workers)
        except BrokenProcessPool:
            raise InfrastructureError(
                "a worker process ended without a result",
                next_step="try --workers 1; where that helps, the machine has too little memory for more",
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)


def _shared(every: Iterator[Stretch | Lines], analysed: Analysis, *, executor: Executor, ahead: int) -> Part:
    whole = Part()
    pending: deque[Future[Part]] = deque()
    for block in every:
        pending.append(executor.submit(analysed, block))
        if len(pending) >= ahead:
            whole = merge(whole, pending.popleft().result())
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
    """Whether this thread gets alarms: only a process's main thread does."""
    return threading.current_thread() is threading.main_thread()


@contextmanager
def time_limit(seconds: float, *, pattern: str) -> Iterator[None]:
    """A ConfigError after `seconds` of the body: a pattern can be made to run for ever on one line.

    CPython's matcher looks at alarms while it searches.
    Without effect in threads, which get no alarms: who brings an executor of threads trusts the pattern.
    """
    if not can_be_limited():
        yield
        return

    def late(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise ConfigError(
            f"took more than {seconds:g} s for one block of lines",
            place=pattern,
            next_step="take nested or neighbouring repeats out of the pattern, such as (a+)+ or .*.*; "
            r"possessive repeats (\S++) give up at once",
        )

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
