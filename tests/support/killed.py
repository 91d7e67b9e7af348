"""A child process that dies by kill -9 in the middle of its work with git."""

import itertools
import os
import signal
from collections.abc import Callable
from typing import Any

from perf_culprit.git import command, objects, revisions
from perf_culprit.store import git_branch


def dies_at_git_call(step: int, action: Callable[[], object]) -> bool:
    """Do `action` in a child that is killed before its git call number `step`; False if there were fewer."""
    child = os.fork()
    if child:
        status = os.waitpid(child, 0)[1]
        assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
        return os.WIFSIGNALED(status)
    try:
        git_branch._tips.clear()  # another job has seen nothing yet
        steps = itertools.count(1)
        real = command.run_git

        def dying(*arguments: Any, **options: Any) -> bytes:
            if next(steps) == step:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments, **options)

        for module in (objects, revisions):
            vars(module)["run_git"] = dying
        action()
        os._exit(0)
    finally:
        os._exit(1)
