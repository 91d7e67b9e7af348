"""measure -> collect: what is measured besides a benchmark's own numbers, by executions or builds of its own."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from bot.collect import join_executions
from bot.dispatch.machine import Say
from bot.measure import ExecutionError, Workplace, interleaved, is_missing, not_taken
from bot.measure.counts import METHODS
from bot.model.count import Count, is_exact
from bot.model.run import Run

EXACT_ROUNDS: Final = 1  # two executions of a commit show whether the command always does the same
NO_BUILD: Final = "there is no build command to time"


def with_quantities(workplace: Workplace, runs: Sequence[Run], *, rounds: int, say: Say) -> list[Run]:
    """The runs, one per commit, with what the commands ask for besides; with a note where it cannot be measured."""
    filled = list(runs)
    for quantity in workplace.commands.apart:
        filled = _with(workplace, filled, quantity, rounds=EXACT_ROUNDS if is_exact(quantity) else rounds, say=say)
    return filled


def _with(workplace: Workplace, runs: Sequence[Run], quantity: str, *, rounds: int, say: Say) -> list[Run]:
    is_built = quantity != Count.BUILD_TIME or workplace.commands.build
    fault = is_missing(quantity) if is_built else NO_BUILD
    note = cannot_count(quantity, fault) if fault else None
    taken: list[list[tuple[int, Run]]] = [[] for _ in runs]
    for number, place in interleaved(range(len(runs)), rounds=rounds) if note is None else ():
        commit = runs[place].commit or ""
        say(f"{quantity}, {number} of {rounds}: {commit[:12]}")
        try:
            taken[place].append((number, Run(benchmarks=(workplace.take(commit, quantity),))))
        except ExecutionError as error:
            note = uncountable(quantity, error)
            break
    if note is not None:
        say(note)
        return [replace(run, notes=(*run.notes, note)) for run in runs]
    joined = (
        join_executions([(quantity, run) for _, run in of_run], rounds=[number for number, _ in of_run])
        for of_run in taken
    )
    return [
        replace(run, benchmarks=(*run.benchmarks, *more.benchmarks)) for run, more in zip(runs, joined, strict=True)
    ]


def uncountable(quantity: str, error: ExecutionError) -> str:
    if quantity not in METHODS:
        return not_taken(quantity, error)
    return cannot_count(quantity, f"{METHODS[quantity].command[0]} cannot run the command ({error.message})")


def cannot_count(quantity: str, why: str) -> str:
    return f"{quantity} cannot be counted: {why}"
