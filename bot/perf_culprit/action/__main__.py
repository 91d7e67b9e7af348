"""The action's entry: `python -m perf_culprit.action`. The only place where the action prints errors and exits."""

import gc
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from perf_culprit.action.runner_token import become_owner, own_secrets
from perf_culprit.errors import EXIT_INFRASTRUCTURE, BotError, of_full_disk
from perf_culprit.one_blas_thread import use_one_blas_thread
from perf_culprit.undumpable import close_process


def main(environ: Mapping[str, str] = os.environ) -> int:
    """Run the action and return its exit code (docs/exit-codes.md)."""
    become_owner(Path(os.environ.get("GITHUB_WORKSPACE", ".")))
    from perf_culprit.action.job import RunnerLog
    from perf_culprit.github.runner_files import LogLevel

    log = RunnerLog()
    try:
        from perf_culprit.action.inputs import read_inputs
        from perf_culprit.action.job import ActionJob
        from perf_culprit.action.modes import run_mode
        from perf_culprit.github.job_context import read_context

        context = read_context(environ, elsewhere="use the command line instead: perf-culprit --help")
        inputs = read_inputs(environ)
        log.mask(inputs.notify_url)
        return run_mode(ActionJob(context=context, inputs=inputs, log=log))
    except BotError as error:
        log.tell(LogLevel.ERROR, str(error))
        return error.exit_code
    except Exception as error:
        if os.environ.get("PERF_CULPRIT_DEBUG"):
            raise
        unexpected = f"unexpected {type(error).__name__}: {error}; this is a bug, please report it"
        log.tell(LogLevel.ERROR, str(of_full_disk(error) or unexpected))
        return EXIT_INFRASTRUCTURE


if __name__ == "__main__":
    # One job per process, whose objects live to its end: collecting garbage is useless.
    gc.disable()
    use_one_blas_thread()
    secrets = own_secrets()
    close_process()
    sys.exit(main(os.environ | secrets))
