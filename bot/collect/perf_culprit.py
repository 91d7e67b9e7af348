"""Our own run files (run v1): what `collect --json` wrote."""

from dataclasses import replace
from datetime import UTC

from bot.collect.parser import Parsed, from_samples, from_summary, full_hash, unique
from bot.collect.source import Source
from bot.model.run import Benchmark

ID = "perf_culprit"
DESCRIPTION = "run file of perf-culprit (collect --json)"
DOCS = "perf_culprit"

FORMAT = "perf-culprit-run"


# What we write ourselves starts so. Then one strict decoder is enough, and a large run is read in half the time.
OWN_START = b'{"format":"perf-culprit-run",'


def matches(source: Source, /) -> bool:
    if source.data.startswith(OWN_START):
        return True
    root = source.json_or_none()
    return isinstance(root, dict) and root.get("format") == FORMAT


def parse(source: Source, /) -> Parsed:
    from bot.codec.run import decode_run

    data = source.content()
    if not data.startswith(OWN_START):
        # Our reader of JSON first: it refuses names that stand twice, and knows byte order marks.
        source.json()
        data = source.text().encode("utf-8", "surrogatepass")
    run = decode_run(data, place=source.place)
    places = [f"{source.place}: benchmarks[{i}]" for i in range(len(run.benchmarks))]
    time = run.time
    return Parsed(
        benchmarks=unique((_checked(b, place), place) for b, place in zip(run.benchmarks, places, strict=True)),
        counters=run.counters,
        environment=run.environment,
        commit=full_hash(run.commit),
        time=None if time is None else time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC),
        suite=run.suite,
        job=run.job,
        regressions=run.regressions,
        looks=run.looks,
        notes=run.notes,
    )


def _checked(benchmark: Benchmark, place: str) -> Benchmark:
    """What any other format has to pass; the codec checks types only."""
    if benchmark.summary is not None:
        checked = from_summary(benchmark.name, metric=benchmark.metric, summary=benchmark.summary, place=place)
    else:
        checked = from_samples(
            benchmark.name,
            metric=benchmark.metric,
            samples=benchmark.samples,
            place=place,
            group_sizes=benchmark.group_sizes,
        )
    return checked if benchmark.category is None else replace(checked, category=benchmark.category)
