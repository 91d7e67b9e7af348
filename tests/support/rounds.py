"""Runs as paired measurements give them: every sample an execution of its own, two of each side in a round."""

from dataclasses import replace

from bot.collect.executions import in_order
from bot.model.run import Run


def in_rounds(run: Run) -> Run:
    return replace(
        run,
        benchmarks=tuple(
            replace(
                benchmark,
                group_sizes=(1,) * len(benchmark.samples),
                rounds=in_order(len(benchmark.samples)),
            )
            for benchmark in run.benchmarks
        ),
    )
