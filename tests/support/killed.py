"""A child process that dies by kill -9 in the middle of its work with git or a database."""

import itertools
import os
import signal
from collections.abc import Callable
from typing import Any

from perf_culprit.git import command, objects, revisions
from perf_culprit.store import git_branch


def dies_at_git_call(step: int, action: Callable[[], object], *, after: bool = False, at_end: bool = False) -> bool:
    """Do `action` in a child that is killed before its git call number `step`, or `after` it; False if it had fewer.

    `at_end`: the last step is after all work, before the result is reported.
    """

    def prepared(die: Callable[..., None]) -> None:
        git_branch._tips.clear()  # a new job has no cached state
        real = command.run_git

        def dying(*arguments: Any, **options: Any) -> bytes:
            if not after:
                die()
            output = real(*arguments, **options)
            if after:
                die()
            return output

        for module in (objects, revisions):
            vars(module)["run_git"] = dying

    return _dies(step, action, prepared, at_end=at_end)


def dies_at_statement(step: int, action: Callable[[], object], *, after: bool = False) -> bool:
    """Do the same with a database: each statement is a step, and the moment before its commit is one, too."""
    from sqlalchemy import Engine, event

    def prepared(die: Callable[..., None]) -> None:
        event.listen(Engine, "after_cursor_execute" if after else "before_cursor_execute", die)
        event.listen(Engine, "commit", die)

    return _dies(step, action, prepared, at_end=True)


def _dies(
    step: int, action: Callable[[], object], prepare: Callable[[Callable[..., None]], None], *, at_end: bool
) -> bool:
    child = os.fork()
    if child:
        status = os.waitpid(child, 0)[1]
        assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
        return os.WIFSIGNALED(status)
    try:
        steps = itertools.count(1)

        def die(*_: Any) -> None:
            if next(steps) == step:
                os.kill(os.getpid(), signal.SIGKILL)

        prepare(die)
        action()
        if at_end:
            die()
        os._exit(0)
    finally:
        os._exit(1)
