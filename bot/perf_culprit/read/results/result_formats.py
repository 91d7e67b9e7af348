"""Every format by its id, from the most specific content to the least, and the names that other tools use for them."""

from types import MappingProxyType
from typing import Final

from perf_culprit.errors import DataError, TooLargeError, UsageError, did_you_mean
from perf_culprit.read.counters.counter_formats import COUNTER_READERS
from perf_culprit.read.results import (
    asv,
    bencher_metric_format,
    bencher_perf,
    benchmark_ips,
    benchmarkdotnet,
    catch2_text,
    catch2_xml,
    critcmp,
    criterion,
    custom_benchmark,
    deno,
    divan,
    gab_data_js,
    go_json,
    go_text,
    google_benchmark,
    google_benchmark_csv,
    google_benchmark_text,
    gungraun_json,
    hyperfine,
    hyperfine_csv,
    jmh,
    julia,
    mitata,
    nanobench,
    nyrkio,
    otava_csv,
    own_run,
    perfherder,
    phpbench,
    plain_numbers,
    pyperf,
    pytest_benchmark,
    rebench,
    skia_perf,
    tinybench,
    vitest,
)
from perf_culprit.read.results.content import shown
from perf_culprit.read.results.line_formats import LINE_FORMATS
from perf_culprit.read.results.parser import HistoryParser, Parser, TreeParser
from perf_culprit.read.results.source import Source
from perf_culprit.read.results.xml_tree import has_root

AUTO: Final = "auto"
# The members that hold the results, in the formats that are JSON objects.
CATCH2_MARKS: Final = frozenset({"metadata", "test-run"})
JUNIT_ROOTS: Final = ("<testsuites", "<testsuite ")
RESULT_LISTS: Final = ("results", "benchmarks", "benches", "Benchmarks", "suites", "files")

# Where two match, the earlier one reads the file.
PARSERS: Final[dict[str, Parser]] = {
    "perf_culprit": own_run,
    "pytest_benchmark": pytest_benchmark,
    "google_benchmark": google_benchmark,
    "google_benchmark_csv": google_benchmark_csv,
    "jmh": jmh,
    "benchmarkdotnet": benchmarkdotnet,
    "julia": julia,
    "asv": asv,
    "perfherder": perfherder,
    "skia_perf": skia_perf,
    "nyrkio": nyrkio,
    "bencher_perf": bencher_perf,
    "hyperfine": hyperfine,
    "hyperfine_csv": hyperfine_csv,
    "mitata": mitata,
    "pyperf": pyperf,
    "vitest": vitest,
    "tinybench": tinybench,
    "nanobench": nanobench,
    "deno": deno,
    "benchmark_ips": benchmark_ips,
    "rebench": rebench,
    "go_json": go_json,
    "gungraun_json": gungraun_json,
    "criterion": criterion,
    "critcmp": critcmp,
    "catch2_xml": catch2_xml,
    "phpbench": phpbench,
    "gab_data_js": gab_data_js,
    # Before the formats that nearly any JSON or text of numbers may be.
    **COUNTER_READERS,
    "custom_benchmark": custom_benchmark.EITHER,
    "custom_smaller_is_better": custom_benchmark.SMALLER,
    "custom_bigger_is_better": custom_benchmark.BIGGER,
    "bencher_metric_format": bencher_metric_format,
    "go_text": go_text,
    "google_benchmark_text": google_benchmark_text,
    "divan": divan,
    "catch2_text": catch2_text,
    **{entry.ID: entry for entry in LINE_FORMATS},
    "otava_csv": otava_csv.EITHER,
    "otava_csv_smaller": otava_csv.SMALLER,
    "otava_csv_bigger": otava_csv.BIGGER,
    "numbers": plain_numbers,
}
HISTORY_PARSERS: Final[dict[str, HistoryParser]] = {
    "nyrkio": nyrkio,
    "bencher_perf": bencher_perf,
    "gab_data_js": gab_data_js,
    "otava_csv": otava_csv.EITHER,
    "otava_csv_smaller": otava_csv.SMALLER,
    "otava_csv_bigger": otava_csv.BIGGER,
}
TREE_PARSERS: Final[dict[str, TreeParser]] = {"criterion": criterion}

# Tools that print their results: one log may hold those of several.
CONSOLE_PARSERS: Final = frozenset(
    {
        "go_text",
        "go_json",
        "perf_stat_json",
        "divan",
        "catch2_text",
        *("google_benchmark_text", "google_benchmark_csv"),
        *(entry.ID for entry in LINE_FORMATS),
    }
)

# Only a name tells which way is good (custom_benchmark, otava_csv), or that a log's times are results.
NAMED_ONLY: Final = frozenset(
    {*("custom_smaller_is_better", "custom_bigger_is_better", "otava_csv_smaller", "otava_csv_bigger"), "console_time"}
)

# The `tool` names of github-action-benchmark, so that its users change nothing.
ALIASES: Final = MappingProxyType(
    {
        "pytest": ("pytest_benchmark",),
        "googlecpp": ("google_benchmark", "google_benchmark_csv", "google_benchmark_text"),
        "customSmallerIsBetter": ("custom_smaller_is_better",),
        "customBiggerIsBetter": ("custom_bigger_is_better",),
        "nyrkioJson": ("nyrkio",),
        "benchmarkjs": ("benchmarkjs_text",),
        "benchmarkluau": ("luau_text",),
        "cargo": ("criterion", "criterion_text", "bencher_text"),
        "catch2": ("catch2_xml", "catch2_text"),
        "go": ("go_text", "go_json"),
    }
)

# The tool's own option that makes its files smaller, for the message about a file beyond a limit.
SMALLER: Final = MappingProxyType(
    {
        "pytest_benchmark": "lower --benchmark-max-time (1 s by default)",
        "pyperf": "lower --processes or --values",
        "jmh": "lower -f (forks) or -i (iterations)",
        "google_benchmark": "lower --benchmark_repetitions, or select benchmarks with --benchmark_filter",
        "google_benchmark_csv": "lower --benchmark_repetitions",
        "google_benchmark_text": "lower --benchmark_repetitions",
        "hyperfine": "lower --runs or --max-runs",
        "benchmarkdotnet": "use --exporters briefjson, or lower --iterationCount",
        "asv": "leave out --record-samples",
        "go_text": "lower -count",
        "go_json": "lower -count",
        "criterion": "lower --sample-size",
        "catch2_xml": "lower --benchmark-samples",
        "catch2_text": "lower --benchmark-samples",
        "divan": "lower --sample-count",
        "phpbench": "lower --iterations",
        "jmeter_jtl": "run a shorter test, or write one sampler only (Simple Data Writer)",
    }
)


def parsers_for(tool: str) -> tuple[Parser, ...]:
    """The parsers that `tool` may mean, in order; a UsageError for a name that nobody knows."""
    if tool == AUTO:
        return tuple(parser for name, parser in PARSERS.items() if name not in NAMED_ONLY)
    names = ALIASES.get(tool, (tool,))
    if any(name not in PARSERS for name in names):
        choices = [AUTO, *PARSERS, *ALIASES]
        raise UsageError(
            f"`{shown(tool)}` is no known tool; {did_you_mean(tool, choices)}".removesuffix("; "),
            place="tool",
            next_step=f"use {AUTO} or one of: {', '.join(choices[1:])}",
        )
    return tuple(PARSERS[name] for name in names)


def text_parsers(source: Source, parsers: tuple[Parser, ...]) -> tuple[Parser, ...]:
    """All parsers of console output that know the content: a log may hold the output of several tools."""
    return tuple(parser for parser in parsers if parser.ID in CONSOLE_PARSERS and parser.matches(source))


def find_parser(source: Source, parsers: tuple[Parser, ...]) -> Parser | None:
    """The first parser that knows the content."""
    return next((parser for parser in parsers if parser.matches(source)), None)


def with_smaller_option(error: TooLargeError, tool: str) -> TooLargeError:
    """The same refusal, whose next step begins with the option of the tool."""
    step = f"{SMALLER[tool]}; or {error.next_step}" if tool in SMALLER else error.next_step
    return TooLargeError(error.message, place=error.place, next_step=step)


def _empty(root: object) -> str:
    """What shows that a tool wrote its results and had none; "" where nothing does."""
    if root in ([], {}):
        return f"holds only `{root}`"
    lists = [name for name in RESULT_LISTS if isinstance(root, dict) and root.get(name) == []]
    return f"its list `{lists[0]}` is empty" if lists else ""


def unknown_format(source: Source) -> DataError:
    """Why no parser knows the content: not text at all, broken JSON, or simply another format."""
    text = source.text_or_empty().lstrip()
    try:
        source.text()
        root = source.json() if text.startswith(("{", "[")) else None
    except DataError as error:
        return error
    if isinstance(root, dict) and root.keys() >= CATCH2_MARKS:
        return source.error(
            "is Catch2's JSON, in which Catch2 (up to 3.7) writes no benchmarks",
            "run it with -r xml; its JUnit reporter leaves them out too",
        )
    if has_root(source, JUNIT_ROOTS):
        return source.error(
            "is JUnit's XML, which says which tests passed and holds no benchmarks",
            "let the tool write its own format: -r xml of Catch2, --benchmark-json of pytest-benchmark",
        )
    if empty := _empty(root):
        return source.error(
            f"{empty}: no benchmark was measured",
            "check the output of the benchmark step: a filter may match nothing, or every benchmark failed",
        )
    return source.error(
        "holds results of no known format", "name the tool that wrote it, or see docs/formats.md for what can be read"
    )
