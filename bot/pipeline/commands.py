"""The user's commands as they run on a commit: from the command line or the configuration, measured or counted."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from bot.config import Config
from bot.dispatch.diagnosis import Profiling
from bot.errors import UsageError
from bot.measure import Commands, ExecutionError, is_missing
from bot.measure.counts import METHODS
from bot.model.count import Count, count_of

Say = Callable[[str], None]


def shell_commands(
    config: Config,
    *,
    run: str | None,
    build: str | None,
    tool: str = "auto",
    timeout: float = 600.0,
    build_timeout: float = 3600.0,
    environment: Sequence[str] = (),
) -> tuple[Commands, str]:
    """The named commands, else those of the configuration, and the format of their results. Timeouts in seconds."""
    chosen = run or config.bisect.run
    if chosen is None:
        raise UsageError(
            "nothing says how to run the benchmark",
            place="--run",
            next_step="give --run 'COMMAND', or set bisect.run in the configuration",
        )
    commands = Commands(
        run=chosen,
        # A configured build belongs to the configured run: a command of one's own may need none.
        build=build or (None if run else config.bisect.build),
        run_timeout_seconds=timeout,
        build_timeout_seconds=build_timeout,
        environment=tuple(environment),
    )
    return commands, tool if tool != "auto" or run else config.bisect.tool


def profiling(config: Config, *, run: str | None, command: str | None, seconds: int | None) -> Profiling:
    """How the culprit is profiled: as asked, else as configured. A configured command belongs to the configured run."""
    return Profiling(
        command=command or (None if run else config.bisect.profile),
        budget_s=config.bisect.profile_seconds if seconds is None else seconds,
    )


def counting_commands(commands: Commands, *, metric: str | None, tool: str, say: Say) -> tuple[Commands, str]:
    """The commands with the count that `metric` names and the format of its results, or as they were."""
    count = count_of(metric)
    if count is None:
        return commands, tool
    why = is_missing(count)
    if why is not None:
        say(cannot_count(count, why))
        return commands, tool
    return replace(commands, count=count), "auto"


def uncountable(count: Count, error: ExecutionError) -> str:
    return f"{METHODS[count].command[0]} cannot run the command ({error.message})"


def cannot_count(count: Count, why: str) -> str:
    return f"{count} cannot be counted: {why}; times are measured instead"
