"""How Python processes of ours are started: the folder that they work in, such as a stranger's checkout, has no say.

Python puts that folder first in `sys.path` for `-m` and `-c`. Not `-I`, which would ignore the user's site-packages and
PYTHONPATH as well: this package may be installed there.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing.context import BaseContext


SAFE_PATH: Final = "PYTHONSAFEPATH"


def python(*arguments: str) -> list[str]:
    """Return the command of such a process."""
    return [sys.executable, "-P", *arguments]


@contextmanager
def process_pool(
    workers: int, *, context: "BaseContext | None" = None, initializer: Callable[[], object] | None = None
) -> "Iterator[ProcessPoolExecutor]":
    """Open a pool whose processes end with this one, even if it is killed.

    The commands of its processes are not ours to write: their -P is a variable as long as the pool lives.
    """
    from concurrent.futures import ProcessPoolExecutor

    before = os.environ.get(SAFE_PATH)
    os.environ[SAFE_PATH] = "1"
    try:
        with ProcessPoolExecutor(workers, mp_context=context, initializer=_begin, initargs=(initializer,)) as pool:
            yield pool
    finally:
        del os.environ[SAFE_PATH]
        if before is not None:
            os.environ[SAFE_PATH] = before


def _begin(initializer: Callable[[], object] | None) -> None:
    """Begin a process of a pool: without its parent nobody gives it work or wants its results."""
    Thread(target=_end_with_parent, daemon=True).start()
    if initializer is not None:
        initializer()


def _end_with_parent() -> None:
    from multiprocessing import connection, parent_process

    if (parent := parent_process()) is not None:
        connection.wait([parent.sentinel])
        os._exit(1)  # nobody reads it
