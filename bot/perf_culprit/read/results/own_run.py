"""Our own run files (run v1), as `collect --json` writes them."""

from dataclasses import replace

from msgspec import structs

from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.run import Benchmark, CounterTable, Metric, Run, in_utc
from perf_culprit.model.run_file import decode_run, refuse_doubled
from perf_culprit.read.results.parsed import (
    ResultReader,
    check_samples,
    check_summary,
    checked_metric,
    checked_name,
    full_hash,
)
from perf_culprit.read.results.source import Source

FORMAT = "perf-culprit-run"


# The start of the files that we write. One strict decoder suffices for them, which halves a large run's reading time.
OWN_START = b'{"format":"perf-culprit-run",'


def is_own(source: Source) -> bool:
    return source.data.startswith(OWN_START)


def _is_own_run(source: Source) -> bool:
    if is_own(source):
        return True
    root = source.json_or_none()
    return isinstance(root, dict) and root.get("format") == FORMAT


def _read_own_run(source: Source) -> Run:
    data = source.content(max_bytes=FILE_LIMITS.large_file_bytes if is_own(source) else None)
    if not data.startswith(OWN_START):
        # Our JSON reader comes first: it rejects duplicate names and accepts byte order marks.
        source.json()
        data = source.text().encode("utf-8", "surrogatepass")
    run = decode_run(data, place=source.place)
    refuse_doubled(run.benchmarks, place=source.place)
    # A suite has few metrics and many benchmarks.
    metrics = {benchmark.metric: index for index, benchmark in enumerate(run.benchmarks)}
    checked = {metric: checked_metric(metric, place=_place(source, index)) for metric, index in metrics.items()}
    benchmarks = tuple(
        _checked(benchmark, checked[benchmark.metric], _place(source, index))
        for index, benchmark in enumerate(run.benchmarks)
    )
    return structs.replace(
        run,
        benchmarks=benchmarks,
        counters=tuple(_checked_table(table, f"{source.place}: counters[{i}]") for i, table in enumerate(run.counters)),
        commit=full_hash(run.commit),
        time=None if run.time is None else in_utc(run.time),
    )


def _place(source: Source, index: int) -> str:
    return f"{source.place}: benchmarks[{index}]"


def _checked(benchmark: Benchmark, metric: Metric, place: str) -> Benchmark:
    """Apply the checks of all other formats, because the codec checks only types."""
    name = checked_name(benchmark.name, place=place)
    if benchmark.summary is not None:
        check_summary(benchmark.summary, metric=metric, place=place)
    else:
        check_samples(benchmark.samples, metric=metric, place=place)
    # Nearly all are unchanged, so no copy is made: a comparison reads hundreds of thousands of benchmarks.
    if name == benchmark.name and metric == benchmark.metric:
        return benchmark
    return structs.replace(benchmark.with_metric(metric), name=name)


def _checked_table(table: CounterTable, place: str) -> CounterTable:
    metrics = tuple(checked_metric(metric, place=place) for metric in table.metrics)
    return replace(table, name=checked_name(table.name, place=place), metrics=metrics)


OWN_RUN = ResultReader(
    id="perf_culprit",
    description="run file of perf-culprit (collect --json)",
    example="perf-culprit collect --json run.json FILE",
    matches=_is_own_run,
    read=_read_own_run,
)
