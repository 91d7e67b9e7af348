"""The action's entry: `python -m bot.action`. The only place where the action prints errors and exits."""

import gc
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from bot.action.owner import become_owner
from bot.action.token import INPUT as TOKEN
from bot.action.token import own_token
from bot.closed import close_process
from bot.errors import EXIT_INFRASTRUCTURE, BotError


def main(environ: Mapping[str, str] = os.environ) -> int:
    """One run of the action; its exit code (docs/exit-codes.md)."""
    become_owner(Path(os.environ.get("GITHUB_WORKSPACE", ".")))
    from bot.action.log import Log
    from bot.publish.log import LogLevel

    log = Log()
    try:
        from bot.action.inputs import read_inputs
        from bot.action.job import Job
        from bot.action.modes import run_mode
        from bot.pipeline.context import read_context

        context = read_context(environ, elsewhere="use the command line instead: perf-culprit --help")
        return run_mode(Job(context=context, inputs=read_inputs(environ), log=log))
    except BotError as error:
        log.tell(LogLevel.ERROR, str(error))
        return error.exit_code
    except Exception as error:
        if os.environ.get("PERF_CULPRIT_DEBUG"):
            raise
        log.tell(LogLevel.ERROR, f"unexpected {type(error).__name__}: {error}; this is a bug, please report it")
        return EXIT_INFRASTRUCTURE


if __name__ == "__main__":
    # One job per process, whose objects live to its end: collecting them is in vain.
    gc.disable()
    token = own_token()
    close_process()
    sys.exit(main(os.environ | {TOKEN: token}))
