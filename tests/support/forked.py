"""Jobs of the action in separate processes that start at once: forks of one that has imported everything."""

import os
import sys
from collections.abc import Mapping
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Final

from perf_culprit.action.__main__ import main
from perf_culprit.git.command import _command_layer
from tests.support.installed import installed

CONTEXT: Final = get_context("forkserver")
CONTEXT.set_forkserver_preload(
    [__name__, "perf_culprit.action.job", "perf_culprit.action.modes", "perf_culprit.github.github_host"]
)
# Before the forks.
_command_layer()
installed()


def start_action(environment: Mapping[str, str], *, cwd: Path, log: Path) -> ForkServerProcess:
    """Run `python -m perf_culprit.action` as a fork; its output goes to `log`."""
    process = CONTEXT.Process(target=_act, args=(dict(environment), cwd, log))
    process.start()
    return process


def _act(environment: dict[str, str], cwd: Path, log: Path) -> None:
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    with log.open("wb") as stream:
        for standard in (1, 2):
            os.dup2(stream.fileno(), standard)
    sys.exit(main())
