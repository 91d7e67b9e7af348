"""Files of plain numbers are named after themselves: where `base.txt` and `head.txt` are compared, both are one."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from bot.collect.numbers import VALUE
from bot.model.run import Benchmark, Run

NAME = "numbers"


def named_alike(baseline: Sequence[Run], target: Run) -> tuple[tuple[Run, ...], Run]:
    """Both sides with all their files' numbers under one name, if the sides hold nothing else and share no name."""
    names = {benchmark.name for run in baseline for benchmark in run.benchmarks}
    everything = chain(target.benchmarks, *(run.benchmarks for run in baseline))
    plain = all(benchmark.metric == VALUE for benchmark in everything)
    if not plain or any(benchmark.name in names for benchmark in target.benchmarks):
        return tuple(baseline), target
    return tuple(map(_as_one, baseline)), _as_one(target)


def _as_one(run: Run) -> Run:
    if not run.benchmarks:
        return run
    parts = run.benchmarks
    one = Benchmark(
        name=NAME,
        metric=VALUE,
        samples=tuple(chain.from_iterable(part.samples for part in parts)),
        group_sizes=tuple(chain.from_iterable(part.group_sizes or (len(part.samples),) for part in parts)),
        rounds=tuple(chain.from_iterable(part.rounds for part in parts)) if all(part.rounds for part in parts) else (),
    )
    return replace(run, benchmarks=(one,))
