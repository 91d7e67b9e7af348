"""Runs as in paired measurements: every sample is a separate execution, two of each side in a round."""

from msgspec.structs import replace

from perf_culprit.model.run import Run
from perf_culprit.read.results.merge import in_order


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
