"""`deno bench --json`: nanoseconds per call, without samples and without their spread."""

from collections.abc import Iterator

from perf_culprit.model.run import Benchmark
from perf_culprit.read.results.console import qualified
from perf_culprit.read.results.parser import NANOSECOND_TIME, Parsed, components, from_summary, gathered
from perf_culprit.read.results.source import JsonValue, Source, mean_summary

ID = "deno"
DESCRIPTION = "deno bench --json"
EXAMPLE = "deno bench --json > bench.json"


def matches(source: Source, /) -> bool:
    root = source.json_or_none()
    return isinstance(root, dict) and isinstance(root.get("benches"), list) and "runtime" in root


def parse(source: Source, /) -> Parsed:
    root = source.root()
    benches = list(root.at("benches").elements())
    results = [(_key(bench), result) for bench in benches for result in bench.at("results").elements()]
    names = qualified((key for key, _ in results), separator=" > ")
    measured = [(key, ok) for key, result in results if (ok := result.find("ok")) is not None]
    failed = len(results) - len(measured)
    return Parsed(
        benchmarks=gathered((_benchmark(names[key], ok), ok.place) for key, ok in measured),
        environment=components(cpu=root.peek("cpu"), **dict(_target(root.peek("runtime")))),
        notes=(f"left out because they failed: {failed}",) * bool(failed),
    )


def _key(bench: JsonValue) -> tuple[str, str]:
    """The group, or else the file's name, tells benchmarks of one name apart."""
    origin = bench.peek("origin")
    group = bench.find("group")
    file = origin.rpartition("/")[2] if isinstance(origin, str) else ""
    return (file if group is None else group.text()), bench.at("name").text()


def _benchmark(name: str, ok: JsonValue) -> Benchmark:
    summary = mean_summary(ok, "avg", count=ok.find_whole("n"))
    return from_summary(name, metric=NANOSECOND_TIME, summary=summary, place=ok.place)


def _target(runtime: object) -> Iterator[tuple[str, str]]:
    """`Deno/2.9.6 x86_64-unknown-linux-gnu` names the build's architecture and system."""
    target = str(runtime or "").partition(" ")[2].split("-")
    if len(target) > 2:
        yield "architecture", target[0]
        yield "os", target[2]
