"""pytest-benchmark JSON: `--benchmark-json`, and saved runs with or without `--benchmark-save-data`."""

from perf_culprit.model.run import Benchmark, Environment
from perf_culprit.read.results.parser import (
    SECOND_TIME,
    Parsed,
    components,
    from_samples,
    from_summary,
    full_hash,
    unique,
    utc_time,
)
from perf_culprit.read.results.source import JsonValue, Source, mean_summary
from perf_culprit.read.results.thinning import Thinning

ID = "pytest_benchmark"
DESCRIPTION = "pytest-benchmark JSON (--benchmark-json)"
EXAMPLE = "pytest --benchmark-json=bench.json"


def matches(source: Source, /) -> bool:
    root = source.json_or_none()
    return isinstance(root, dict) and "machine_info" in root and isinstance(root.get("benchmarks"), list)


def parse(source: Source, /) -> Parsed:
    thinning = Thinning(source)
    root = source.each_of("benchmarks", lambda entry: thinning.add(_benchmark(entry), entry.place))
    benchmarks = unique(thinning.benchmarks)
    without = sum(benchmark.summary is not None for benchmark in benchmarks)
    commit = root.find("commit_info")
    return Parsed(
        benchmarks=benchmarks,
        environment=_environment(root),
        commit=None if commit is None else _clean_commit(commit),
        time=utc_time(root.peek("datetime")),
        notes=(
            *thinning.notes(),
            *(f"stored without samples (--benchmark-save-data keeps them): {without}",) * bool(without),
        ),
    )


def _benchmark(entry: JsonValue) -> Benchmark:
    fullname = entry.find("fullname") or entry.at("name")
    stats = entry.at("stats")
    if (data := stats.find("data")) is not None and data.value != []:
        return from_samples(fullname.text(), metric=SECOND_TIME, samples=data.numbers(), place=data.place)
    rounds = stats.find_whole("rounds")
    # The tool writes 0 where one round leaves nothing to estimate a deviation from.
    summary = mean_summary(stats, count=rounds, deviation=None if rounds == 1 else "stddev")
    return from_summary(fullname.text(), metric=SECOND_TIME, summary=summary, place=stats.place)


def _clean_commit(commit: JsonValue) -> str | None:
    # Results of a changed working tree belong to no commit.
    identity, dirty = commit.find("id"), commit.find("dirty")
    return None if identity is None or (dirty is not None and dirty.value is True) else full_hash(identity.value)


def _environment(root: JsonValue) -> Environment:
    machine = root.at("machine_info")
    cpu = machine.find("cpu") or JsonValue({}, machine.file)
    return components(
        cpu=cpu.peek("brand_raw") or cpu.peek("brand"),
        cpu_count=cpu.peek("count"),
        architecture=machine.peek("machine"),
        os=machine.peek("system"),
        os_release=machine.peek("release"),
        host=machine.peek("node"),
        python=machine.peek("python_version"),
    )
