"""Several results of one side as executions: each is a group of samples with its round."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from bot.codec.fields import same_fields
from bot.collect.merge import Read, merge
from bot.collect.parser import Parsed
from bot.model.run import Benchmark, Run

# Of A B B A, which is how executions of two sides are best interleaved.
PER_ROUND = 2


def join_executions(
    executions: Sequence[tuple[str, Run]],
    *,
    rounds: Sequence[int] | None = None,
    suite: str | None = None,
    commit: str | None = None,
    time: datetime | None = None,
    job: str | None = None,
) -> Run:
    """One run of `executions`, each with its place, in their order.

    Processes inside one execution become one group: they share its time and so its noise. `rounds` (one per execution)
    are taken from the order where they are not given: as many executions of either side make a round as A B B A has. A
    result that knows its own rounds keeps them, after those before it.
    """
    if len(executions) == 1 and rounds is None:
        ((place, run),) = executions
        only = Read(place=place, parsed=same_fields(Parsed, run))
        return merge([only], suite=suite, commit=commit, time=time, job=job)
    numbers = rounds or in_order(len(executions))
    reads, first = [], 0
    for (place, run), number in zip(executions, numbers, strict=True):
        benchmarks = tuple(_as_execution(benchmark, number, first=first) for benchmark in run.benchmarks)
        if any(benchmark.rounds for benchmark in run.benchmarks):
            first = max(round_ for benchmark in benchmarks for round_ in benchmark.rounds)
        reads.append(Read(place=place, parsed=same_fields(Parsed, run, benchmarks=benchmarks)))
    return merge(reads, suite=suite, commit=commit, time=time, job=job)


def in_order(count: int) -> tuple[int, ...]:
    """The rounds of `count` executions of one side; an odd one out belongs to the last round."""
    last = max(count // PER_ROUND, 1)
    return tuple(min(position // PER_ROUND + 1, last) for position in range(count))


def _as_execution(benchmark: Benchmark, number: int, *, first: int) -> Benchmark:
    if benchmark.rounds:
        return replace(benchmark, rounds=tuple(first + before for before in benchmark.rounds))
    group_sizes = () if benchmark.summary is not None else (len(benchmark.samples),)
    return replace(benchmark, group_sizes=group_sizes, rounds=(number,))
