"""The user's commands as they run on a commit: from the command line or the configuration, measured or counted."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from bot.config import Config
from bot.dispatch.diagnosis import Profiling
from bot.errors import UsageError
from bot.measure import Commands, is_missing
from bot.model.count import Count, is_built, quantity_of
from bot.pipeline.also import NO_BUILD, cannot_count

Say = Callable[[str], None]
NOTHING: Final = ":"  # as a shell command


def shell_commands(
    config: Config,
    *,
    run: str | None,
    build: str | None,
    tool: str = "auto",
    timeout: float = 600.0,
    build_timeout: float = 3600.0,
    environment: Sequence[str] = (),
    metric: str | None = None,
    also: Sequence[str] | None = None,
) -> tuple[Commands, str]:
    """The named commands, else those of the configuration, and the format of their results. Timeouts in seconds.

    What only builds, or weighs what a build left (`metric`), needs no command that measures. `also` None: nothing is
    measured besides; empty: what the configuration names.
    """
    chosen = run or config.bisect.run or (NOTHING if is_built(metric) else None)
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
        also=() if also is None else tuple(dict.fromkeys(also or config.also)),
    )
    if commands.build is None and metric == Count.BUILD_TIME:
        raise UsageError(
            NO_BUILD,
            place="--build",
            next_step="give --build 'COMMAND', or set bisect.build in the configuration",
        )
    return commands, tool if tool != "auto" or run else config.bisect.tool


def profiling(config: Config, *, run: str | None, command: str | None, seconds: int | None) -> Profiling:
    """How the culprit is profiled: as asked, else as configured. A configured command belongs to the configured run."""
    return Profiling(
        command=command or (None if run else config.bisect.profile),
        budget_s=config.bisect.profile_seconds if seconds is None else seconds,
    )


def counting_commands(commands: Commands, *, metric: str | None, tool: str, say: Say) -> tuple[Commands, str]:
    """The commands with the quantity that `metric` names and the format of its results, or as they were."""
    quantity = quantity_of(metric)
    if quantity is None:
        return commands, tool
    why = is_missing(quantity)
    if why is not None:
        say(by_time(cannot_count(quantity, why)))
        return commands, tool
    return replace(commands, count=quantity), "auto"


def by_time(why: str) -> str:
    return f"{why}; times are measured instead"
