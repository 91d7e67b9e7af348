"""Every format of results and counters, from the most specific content to the least."""

from types import MappingProxyType
from typing import Final

from perf_culprit.errors import DataError, TooLargeError, UsageError, did_you_mean
from perf_culprit.read.counters import counter_csv, load_tools, perf_stat, prometheus, system_counters
from perf_culprit.read.format_reader import by_id
from perf_culprit.read.results import (
    bencher,
    commit_series,
    cpp_benchmarks,
    github_action_benchmark,
    go_benchmarks,
    google_benchmark,
    javascript_benchmarks,
    jvm_and_dotnet,
    load_generators,
    other_languages,
    own_run,
    printed_tables,
    python_benchmarks,
    rust_benchmarks,
    timers,
    tool_histories,
    valgrind_counts,
    whole_systems,
)
from perf_culprit.read.results.content import shown
from perf_culprit.read.results.not_results import known_other
from perf_culprit.read.results.parsed import ResultReader
from perf_culprit.read.results.source import Source

AUTO: Final = "auto"
# The members that hold the results, in the formats that are JSON objects.
RESULT_LISTS: Final = ("results", "benchmarks", "benches", "Benchmarks", "suites", "files")

COUNTER_READERS: Final = by_id(
    (
        load_tools.K6_SUMMARY,
        load_tools.K6_CSV,
        load_tools.K6_LINES,
        load_tools.JMETER_JTL,
        load_tools.LOCUST_STATS,
        load_tools.LOCUST_HISTORY,
        perf_stat.PERF_STAT_JSON,
        perf_stat.PERF_STAT_CSV,
        system_counters.SADF_JSON,
        system_counters.SADF_CSV,
        system_counters.SADF_LINES,
        system_counters.PERFMON_CSV,
        prometheus.PROMETHEUS_QUERY,
        prometheus.PROMETHEUS_TEXT,
        counter_csv.COUNTER_CSV,
    )
)

# If two match, the earlier one reads the file.
READERS: Final = by_id(
    (
        own_run.OWN_RUN,
        python_benchmarks.PYTEST_BENCHMARK,
        python_benchmarks.CODSPEED,
        google_benchmark.GOOGLE_BENCHMARK,
        google_benchmark.GOOGLE_BENCHMARK_CSV,
        jvm_and_dotnet.JMH,
        jvm_and_dotnet.JMH_CSV,
        jvm_and_dotnet.BENCHMARKDOTNET,
        printed_tables.BENCHMARKDOTNET_CSV,
        other_languages.JULIA,
        python_benchmarks.ASV,
        load_generators.VEGETA_JSON,
        load_generators.MEMTIER_JSON,
        cpp_benchmarks.LNT,
        github_action_benchmark.CUSTOM_CSV,
        printed_tables.PYTEST_COMPARED_CSV,
        whole_systems.LIGHTHOUSE,
        whole_systems.CLICKBENCH,
        commit_series.NYRKIO,
        tool_histories.SANDMARK,
        bencher.BENCHER_PERF,
        timers.HYPERFINE,
        timers.HYPERFINE_CSV,
        javascript_benchmarks.MITATA,
        python_benchmarks.PYPERF,
        javascript_benchmarks.VITEST,
        javascript_benchmarks.BENCHMARKJS_JSON,
        javascript_benchmarks.TINYBENCH,
        cpp_benchmarks.NANOBENCH,
        javascript_benchmarks.DENO,
        other_languages.BENCHMARK_IPS,
        other_languages.REBENCH,
        go_benchmarks.GO_JSON,
        valgrind_counts.GUNGRAUN_JSON,
        rust_benchmarks.CRITERION,
        rust_benchmarks.CRITCMP,
        cpp_benchmarks.CATCH2_XML,
        other_languages.PHPBENCH,
        github_action_benchmark.GAB_DATA_JS,
        # The formats below match nearly any JSON or text of numbers.
        *COUNTER_READERS.values(),
        github_action_benchmark.CUSTOM_BENCHMARK,
        github_action_benchmark.CUSTOM_SMALLER,
        github_action_benchmark.CUSTOM_BIGGER,
        bencher.BENCHER_METRIC_FORMAT,
        go_benchmarks.GO_TEXT,
        google_benchmark.GOOGLE_BENCHMARK_TEXT,
        rust_benchmarks.DIVAN,
        cpp_benchmarks.CATCH2_TEXT,
        rust_benchmarks.BENCHER_TEXT,
        rust_benchmarks.CRITERION_TEXT,
        valgrind_counts.GUNGRAUN,
        valgrind_counts.IAI,
        javascript_benchmarks.BENCHMARKJS_TEXT,
        javascript_benchmarks.MITATA_TEXT,
        javascript_benchmarks.VITEST_TEXT,
        javascript_benchmarks.VITEST_5_TEXT,
        other_languages.BENCHMARK_IPS_TEXT,
        jvm_and_dotnet.JMH_TEXT,
        printed_tables.ASV_TEXT,
        other_languages.JULIA_TEXT,
        other_languages.PHPBENCH_TEXT,
        printed_tables.PHPBENCH_TABLE,
        other_languages.DART,
        other_languages.LUAU_TEXT,
        printed_tables.PYTEST_TEXT,
        printed_tables.BENCHMARKDOTNET_TEXT,
        printed_tables.HYPERFINE_TEXT,
        printed_tables.HYPERFINE_MARKDOWN,
        printed_tables.CONSOLE_TABLE,
        perf_stat.PERF_STAT_TEXT,
        load_generators.WRK,
        load_generators.HEY,
        load_generators.VEGETA,
        load_generators.AB,
        load_generators.REDIS_BENCHMARK,
        load_generators.REDIS_BENCHMARK_CSV,
        load_generators.PGBENCH,
        load_generators.SYSBENCH,
        load_generators.MEMTIER,
        load_generators.GATLING,
        load_generators.JMETER_SUMMARY,
        load_generators.LOCUST_TEXT,
        load_generators.SIEGE,
        python_benchmarks.TIMEIT,
        python_benchmarks.PYPERF_TEXT,
        timers.RUBY_BENCHMARK,
        timers.CONSOLE_TIME,
        timers.LINETIMER,
        timers.JUNIT,
        timers.PYTEST_DURATIONS,
        timers.GNU_TIME,
        timers.SHELL_TIME,
        tool_histories.GIT_PERF,
        commit_series.OTAVA_CSV,
        commit_series.OTAVA_CSV_SMALLER,
        commit_series.OTAVA_CSV_BIGGER,
        timers.NAMED_TIMES,
        timers.NUMBERS,
    )
)
# Tools that repeat their work until a time has passed: the processor time of their whole run depends on the clock.
REPEATING_BY_CLOCK: Final = frozenset(
    reader.id
    for reader in (
        python_benchmarks.PYTEST_BENCHMARK,
        printed_tables.PYTEST_TEXT,
        python_benchmarks.PYPERF,
        python_benchmarks.ASV,
        google_benchmark.GOOGLE_BENCHMARK,
        google_benchmark.GOOGLE_BENCHMARK_CSV,
        google_benchmark.GOOGLE_BENCHMARK_TEXT,
        cpp_benchmarks.NANOBENCH,
        cpp_benchmarks.CATCH2_XML,
        cpp_benchmarks.CATCH2_TEXT,
        go_benchmarks.GO_TEXT,
        go_benchmarks.GO_JSON,
        rust_benchmarks.CRITERION,
        rust_benchmarks.CRITERION_TEXT,
        rust_benchmarks.DIVAN,
        rust_benchmarks.BENCHER_TEXT,
        jvm_and_dotnet.JMH,
        jvm_and_dotnet.JMH_TEXT,
        jvm_and_dotnet.BENCHMARKDOTNET,
        other_languages.JULIA,
        other_languages.BENCHMARK_IPS,
        javascript_benchmarks.MITATA,
        javascript_benchmarks.TINYBENCH,
        javascript_benchmarks.VITEST,
        javascript_benchmarks.DENO,
        timers.HYPERFINE,
    )
)
ALIASES: Final = MappingProxyType(
    {
        alias: tuple(reader for reader in READERS.values() if alias in reader.aliases)
        for reader in READERS.values()
        for alias in reader.aliases
    }
)


def readers_for(tool: str) -> tuple[ResultReader, ...]:
    """Return the readers that `tool` may mean, in order; raise UsageError for an unknown name."""
    if tool == AUTO:
        return tuple(reader for reader in READERS.values() if not reader.is_named_only)
    if tool in READERS:
        return (READERS[tool],)
    if tool in ALIASES:
        return ALIASES[tool]
    question = did_you_mean(tool, [AUTO, *READERS, *ALIASES])
    raise UsageError(
        f"`{shown(tool)}` is not a known tool; {question}".removesuffix("; "),
        place="tool",
        next_step=f"use {AUTO}, or an id of docs/formats.md, which perf-culprit formats NAME finds",
    )


def with_smaller_option(error: TooLargeError, reader: ResultReader) -> TooLargeError:
    """Return the error with a next step that begins with the tool's own option for smaller files."""
    step = f"{reader.smaller}; or {error.next_step}" if reader.smaller else error.next_step
    return TooLargeError(error.message, place=error.place, next_step=step)


def _empty(root: object) -> str:
    """Return the sign that a tool wrote its results but had none; "" if there is no sign."""
    if root in ([], {}):
        return f"holds only `{root}`"
    lists = [name for name in RESULT_LISTS if isinstance(root, dict) and root.get(name) == []]
    return f"its list `{lists[0]}` is empty" if lists else ""


UNKNOWN: Final = "holds results of no known format"


def unknown_format(source: Source) -> DataError:
    """Explain why no reader matches the content: it is not text, broken JSON, or another format."""
    text = source.text_or_empty().lstrip()
    try:
        source.text()
        root = source.json() if text.startswith(("{", "[")) else None
    except DataError as error:
        return error
    if (other := known_other(source, root)) is not None:
        return other
    if empty := _empty(root):
        return source.error(
            f"{empty}: no benchmark was measured",
            "check the output of the benchmark step: a filter may match nothing, or every benchmark failed",
        )
    return source.error(
        UNKNOWN,
        "name the tool that wrote it (--tool), or see docs/formats.md for what can be read; "
        "a CI job's log is read with perf-culprit collect --ci-log",
    )
