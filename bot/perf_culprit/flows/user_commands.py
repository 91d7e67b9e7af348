"""The user's commands on a commit: from the command line or the configuration, measured or counted."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from msgspec import structs

from perf_culprit.commands.declared import MeasuringCommand
from perf_culprit.commands.measure_requests import Bisect
from perf_culprit.config.settings import Config
from perf_culprit.errors import UsageError
from perf_culprit.machine.culprit_diagnosis import Profiling
from perf_culprit.measure.quantities_of_commands import METHODS, why_uncountable
from perf_culprit.measure.runner import Commands, ExecutionError
from perf_culprit.measure.workplace import Workplace, not_taken
from perf_culprit.measure.worktree_executor import interleaved
from perf_culprit.model.count import COMMAND_BENCHMARK, Count, is_built, is_exact_quantity, quantity_of
from perf_culprit.model.reason import Reason, SearchReason, because
from perf_culprit.model.run import MetricKey, Run
from perf_culprit.progress import Say
from perf_culprit.read.results.merge import join_executions
from perf_culprit.say.reason_text import sentence

_NO_COMMAND: Final = ":"  # as a shell command


def shell_commands(config: Config, options: MeasuringCommand) -> tuple[Commands, str]:
    """Return the requested commands, else those of the configuration, and the format of their results.

    A `metric` of the build or of its output needs no command that measures.
    """
    run, also = options.run, options.also
    chosen = run or config.bisect.run or (_NO_COMMAND if is_built(options.metric) else None)
    if chosen is None:
        raise UsageError(
            "nothing says how to run the benchmark",
            place="--run",
            next_step="give --run 'COMMAND', or set bisect.run in the configuration",
        )
    commands = Commands(
        run=chosen,
        # A configured build belongs to the configured run; another run command may need none.
        build=options.build or (None if run else config.bisect.build),
        run_timeout_seconds=options.timeout,
        build_timeout_seconds=options.build_timeout,
        environment=options.environment,
        also=() if also is None else tuple(dict.fromkeys(also or config.also)),
    )
    if commands.build is None and options.metric == Count.BUILD_TIME:
        raise UsageError(
            NO_BUILD, place="--build", next_step="give --build 'COMMAND', or set bisect.build in the configuration"
        )
    return commands, options.tool if options.tool != "auto" or run else config.bisect.tool


def profiling(config: Config, options: Bisect) -> Profiling:
    """Profiling of the culprit, as requested or configured. A configured command belongs to the configured run."""
    return Profiling(
        command=options.profile or (None if options.run else config.bisect.profile),
        budget_s=config.bisect.profile_seconds if options.profile_seconds is None else options.profile_seconds,
    )


def counting_commands(commands: Commands, *, metric: str | None, tool: str, say: Say) -> tuple[Commands, str]:
    """Return the commands with the quantity of `metric` and its result format; unchanged if it cannot be counted."""
    quantity = quantity_of(metric)
    if quantity is None:
        return commands, tool
    why = why_uncountable(quantity)
    if why is not None:
        say(sentence(by_time(cannot_count(quantity, why))))
        return commands, tool
    return replace(commands, count=quantity), "auto"


def by_time(why: str) -> Reason:
    return because(SearchReason.NOT_COUNTED, why=why)


EXACT_ROUNDS: Final = 1  # two executions of a commit show whether the command always does the same
NO_BUILD: Final = "there is no build command to time"


def with_quantities(workplace: Workplace, runs: Sequence[Run], *, rounds: int, say: Say) -> list[Run]:
    """Add the other requested quantities to the runs, one per commit, or a note if one cannot be measured."""
    filled = list(runs)
    for quantity in workplace.commands.apart:
        # A resumed run may already have it.
        if all(MetricKey(COMMAND_BENCHMARK, quantity) in run.keys for run in runs):
            continue
        filled = _with(
            workplace, filled, quantity, rounds=EXACT_ROUNDS if is_exact_quantity(quantity) else rounds, say=say
        )
    return filled


def _with(workplace: Workplace, runs: Sequence[Run], quantity: str, *, rounds: int, say: Say) -> list[Run]:
    is_built = quantity != Count.BUILD_TIME or workplace.commands.build
    fault = why_uncountable(quantity) if is_built else NO_BUILD
    note = cannot_count(quantity, fault) if fault else None
    by_commit: list[list[tuple[int, Run]]] = [[] for _ in runs]
    for number, place in interleaved(range(len(runs)), rounds=rounds) if note is None else ():
        commit = runs[place].commit or ""
        say(f"{quantity}, {number} of {rounds}: {commit[:12]}")
        try:
            by_commit[place].append((number, Run(benchmarks=(workplace.take(commit, quantity),))))
        except ExecutionError as error:
            note = uncountable(quantity, error)
            break
    if note is not None:
        say(note)
        return [structs.replace(run, notes=(*run.notes, note)) for run in runs]
    joined = (
        join_executions([(quantity, run) for _, run in of_run], rounds=[number for number, _ in of_run])
        for of_run in by_commit
    )
    return [
        structs.replace(run, benchmarks=(*run.benchmarks, *more.benchmarks))
        for run, more in zip(runs, joined, strict=True)
    ]


def uncountable(quantity: str, error: ExecutionError) -> str:
    if quantity not in METHODS:
        return not_taken(quantity, error)
    return cannot_count(quantity, f"{METHODS[quantity].command[0]} cannot run the command ({error.message})")


def cannot_count(quantity: str, why: str) -> str:
    return f"{quantity} cannot be counted: {why}"
