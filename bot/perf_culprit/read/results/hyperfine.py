"""hyperfine `--export-json`: wall-clock seconds per command."""

from collections import Counter

from perf_culprit.model.run import Benchmark
from perf_culprit.read.results.parser import SECOND_TIME, Parsed, from_samples, from_summary, unique
from perf_culprit.read.results.source import JsonValue, Source, are_objects, mean_summary

ID = "hyperfine"
DESCRIPTION = "hyperfine JSON (--export-json)"
EXAMPLE = "hyperfine --export-json bench.json COMMAND"


def matches(source: Source, /) -> bool:
    results = source.member("results")
    return are_objects(results, "command") and all(result.keys() & {"times", "mean"} for result in results)


def parse(source: Source, /) -> Parsed:
    return read(list(source.root().at("results").elements()))


def read(results: list[JsonValue]) -> Parsed:
    """What the results say; hyperfine's table holds the same ones, without their times."""
    commands = [result.at("command").text() for result in results]
    counts = Counter(commands)
    benchmarks = unique(
        # A parameter need not be part of the command (-L with a script's environment).
        (_benchmark(_with_parameters(result, name) if counts[name] > 1 else name, result), result.place)
        for name, result in zip(commands, results, strict=True)
    )
    failed = [result for result in results if any(code.value != 0 for code in result.elements_of("exit_codes"))]
    return Parsed(
        benchmarks=benchmarks,
        notes=(f"commands that ended with a non-zero exit code in some of their runs: {len(failed)}",) * bool(failed),
    )


def _with_parameters(result: JsonValue, name: str) -> str:
    parameters = result.listed("parameters")
    return f"{name} ({parameters})" if parameters else name


def _benchmark(name: str, result: JsonValue) -> Benchmark:
    if (times := result.find("times")) is not None and times.value != []:
        return from_samples(name, metric=SECOND_TIME, samples=times.numbers(), place=times.place)
    summary = mean_summary(result, deviation="stddev")
    return from_summary(name, metric=SECOND_TIME, summary=summary, place=result.place)
