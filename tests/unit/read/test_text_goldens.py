"""All text, XML and tree formats at once: told apart by content, harmless when broken, fast on hostile text."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeVar

import pytest

from perf_culprit.errors import DataError
from perf_culprit.model.run_file import decode_run, encode_run
from perf_culprit.read.results.collect import Reading, collect_sources
from perf_culprit.read.results.result_formats import READERS, readers_for
from perf_culprit.read.results.source import Source
from tests.support.goldens import golden
from tests.support.turns import in_turn

OTAVA = b"time,commit,latency_ms\n2024-01-01,aaaa,1.5\n2024-01-02,bbbb,1.25\n"


DATA_JS = (
    b'window.BENCHMARK_DATA = {"entries": {"S": [{"commit": {"id": "x"}, "date": 1, "tool": "go",'
    b' "benches": [{"name": "f", "value": 1, "unit": "ns/op"}]}]}}'
)


CUSTOM_CSV = (
    b"test_name,metric_name,unit,value,direction\n"
    b"parse,mean,ms,1.5,lower_is_better\nparse,throughput,MB/s,1400,higher_is_better\nparse,month,,4,\n"
)
SIEGE_4 = (
    b"Transactions:\t\t          40 hits\nResponse time:\t\t        0.25 secs\n"
    b"Transaction rate:\t      666.67 trans/sec\nFailed transactions:\t           2\n"
)
PHPBENCH_TABLE = """\
+-----------+---------+--------+------+-----+-----------+---------+--------+
| benchmark | subject | set    | revs | its | mem_peak  | mode    | rstdev |
+-----------+---------+--------+------+-----+-----------+---------+--------+
| Words     | count   | 10,000 | 1    | 3   | 719.888kb | 2.150s  | ±0.00% |
| Words     | sort    |        | 1000 | 5   | 1.933mb   | 2.727μs | ±0.69% |
+-----------+---------+--------+------+-----+-----------+---------+--------+
""".encode()


SANDMARK = f"sandmark/20260105_003000/{'1' * 40}/5.3.0+trunk+sequential_1.orun.summary.bench"
FILES = (
    ("bencher_text", golden("criterion/bencher_0.5.txt")),
    ("bencher_text", golden("criterion/bencher_0.8.txt")),
    ("asv_text", golden("asv/console.txt")),
    ("benchmark_ips_text", golden("benchmark_ips/ips.txt")),
    ("benchmarkjs_text", golden("benchmarkjs/suite.txt")),
    ("dart", b"Template(RunTime): 0.1568472448997197 us.\n"),
    ("iai", golden("iai/iai.txt")),
    ("luau_text", golden("luau/bench.txt")),
    ("gnu_time", golden("gnu_time/verbose.txt")),
    ("benchmarkdotnet_csv", golden("benchmarkdotnet/report.csv")),
    ("benchmarkdotnet_text", golden("benchmarkdotnet/report.txt")),
    ("nyrkio", golden("nyrkio/lines.ndjson")),
    ("git_perf", f"{'1' * 40}\n0\x1crun\x1c1700000000.0\x1c12.5\x1cos=linux\n\n".encode()),
    ("sandmark", golden(SANDMARK)),
    ("mitata_text", golden("mitata/groups-0.1.txt")),
    ("mitata_text", golden("mitata/groups.txt")),
    ("vitest_text", golden("vitest/bench-4.txt")),
    ("jmh_csv", golden("jmh/german.scsv")),
    ("jmh_csv", golden("jmh/modes.csv")),
    ("jmh_text", golden("jmh/console.txt")),
    ("jmh_text", golden("jmh/profiled.txt")),
    ("rebench", golden("rebench/rebench.data")),
    ("ruby_benchmark", golden("ruby_benchmark/bmbm.txt")),
    ("shell_time", golden("shell_time/bash.txt")),
    ("catch2_text", golden("catch2/v2.txt")),
    ("catch2_xml", golden("catch2/v2.xml")),
    ("catch2_text", golden("catch2/v3.txt")),
    ("catch2_xml", golden("catch2/v3.xml")),
    ("critcmp", golden("critcmp/export.json")),
    ("criterion", golden("criterion/tree/sums/xor/100/new/sample.json")),
    ("criterion", golden("criterion/tree/sums/xor/100/new/estimates.json")),
    ("criterion_text", golden("criterion/native_0.5.txt")),
    ("criterion_text", golden("criterion/native_0.8_with_progress.txt")),
    ("divan", golden("divan/table.txt")),
    ("gab_data_js", DATA_JS),
    ("gab_data_js", golden("github_action_benchmark/columns.js")),
    ("go_json", golden("go/events.jsonl")),
    ("go_text", golden("go/duplicate_names.txt")),
    ("go_text", golden("go/single.txt")),
    ("google_benchmark_csv", golden("google_benchmark/repetitions.csv")),
    ("google_benchmark_text", golden("google_benchmark/repetitions.txt")),
    ("gungraun", golden("gungraun/gungraun.txt")),
    ("gungraun", golden("gungraun/iai_callgrind.txt")),
    ("hyperfine_csv", golden("hyperfine/parameters.csv")),
    ("hyperfine_csv", golden("hyperfine/two.csv")),
    ("otava_csv", OTAVA),
    ("ab", golden("load/ab.txt")),
    ("console_table", golden("tinybench/table.txt")),
    ("hey", golden("load/hey.txt")),
    ("hyperfine_markdown", golden("hyperfine/hyperfine.md")),
    ("hyperfine_text", golden("hyperfine/hyperfine.txt")),
    ("perf_stat_text", golden("load/perf_stat.txt")),
    ("pgbench", golden("load/pgbench.txt")),
    ("pytest_benchmark_text", golden("pytest_benchmark/table.txt")),
    ("redis_benchmark", golden("load/redis.txt")),
    ("redis_benchmark", golden("load/redis_quiet.txt")),
    ("redis_benchmark_csv", golden("load/redis.csv")),
    ("sysbench", golden("load/sysbench.txt")),
    ("sysbench", golden("load/sysbench_headings.txt")),
    ("sysbench", golden("load/sysbench_memory.txt")),
    ("vegeta", golden("load/vegeta.txt")),
    ("wrk", golden("load/wrk.txt")),
    ("gatling", golden("load/gatling.txt")),
    ("jmeter_summary", golden("load/jmeter.txt")),
    ("julia_text", golden("julia/group.txt")),
    ("julia_text", golden("julia/trial.txt")),
    ("locust_text", golden("load/locust.txt")),
    ("memtier", golden("load/memtier.txt")),
    ("phpbench_text", golden("phpbench/run.txt")),
    ("vitest_5_text", golden("vitest/bench-5.txt")),
    ("vitest_text", golden("vitest/bench-4-colour.txt")),
    ("siege", golden("load/siege.txt")),
    ("siege", SIEGE_4),
    ("timeit", golden("timeit/timeit.txt")),
    ("pyperf_text", golden("pyperf/timeit.txt")),
    ("pytest_benchmark_csv", golden("pytest_benchmark/compared.csv")),
    ("linetimer", golden("linetimer/linetimer.txt")),
    ("named_times", b"parse: 118.49 ms\nwrite to disk: 3 us\n"),
    ("custom_csv", CUSTOM_CSV),
    ("phpbench_table", PHPBENCH_TABLE),
)


TOOLS = tuple(dict.fromkeys(name for name, _ in FILES))


MEBIBYTE = 1 << 20


SIZE = 2 * MEBIBYTE


LIMIT_SECONDS = 5.0


T = TypeVar("T")


HEADER = "benchmark name          samples       iterations    estimated\n------------------------------------\n"


# Beginnings of patterns that never come to an end. Each is repeated up to SIZE.
HOSTILE = {
    "git_perf": (f"{'1' * 40}\n", f"{'1' * 40}\n0\x1ca\x1c1\x1c2\n", "0\x1ca\x1c1\x1c2\n", "1\x1c", "\x1c"),
    "sandmark": ('{"name":', '{"name":"a","command":"b"}\n', "{\n", "[" * 99),
    "asv_text": (
        "[50.00%] ··· ",
        "[50.00%] ··· a  1",
        "[50.00%] ··· a" + " " * 50,
        " ··· ",
        "[50.00%] ··· a ok\n" + "=== " * 900 + "\n",
        "[50.00%] ··· a ok\n=== ===\n a\n=== ===\n" + " 1   1\n" * 900,
    ),
    "gatling": (
        "---- Global Information",
        "> mean response time 1 (OK=",
        "> mean response time | 1 | ",
        "> request count" + " |" * 900,
        "> response time 50th percentile " + "1" * 900,
    ),
    "jmeter_summary": ("summary =", "summary = 1 in 1 = 1/s Avg: ", "summary = " + "1" * 900, "summary =" + " " * 900),
    "julia_text": (
        "BenchmarkTools.",
        ' "a" => 1-element BenchmarkTools.BenchmarkGroup:\n  "b" => Trial(1 ns)\n',
        " a => ",
        "\t" * 90 + "BenchmarkTools.a => Trial(1 n\n",
        " Time (mean ± \N{GREEK SMALL LETTER SIGMA}): 1 ns ± ",
    ),
    "locust_text": (
        "# reqs\nGET ",
        "GET a 1 1(1%) | 1 1 1 1 | 1 ",
        "GET " + "1 " * 900,
        "GET a" + " " * 900,
        "1 GET a: ",
    ),
    "memtier": (
        "p50 Latency     p99 Latency   p99.9 Latency\n",
        "Sets 1 1 1 ",
        "Sets " + "--- " * 900,
        "Sets" + " " * 900,
    ),
    "phpbench_text": (
        " - Mo",
        "  a...",
        "  a....R1 I1 - Mo1",
        "  a # b" + "." * 900,
        "\\A" * 900,
        "  a" + "." * 99 + "ERROR",
    ),
    "vitest_5_text": (
        " RUN  v5.",
        " ✓ a\n   a 1 1 1 1 1 1 1 1 ±1% 1\n",
        " ✓ |bench| a (",
        " ✓ a" + " " * 900,
        "   a" + " 1" * 400,
    ),
    "benchmark_ips_text": ("a ", "a 1 (±1%) i/s - ", " i/s - 1 ", "a" + " " * 300, " "),
    "dart": ("a(RunTime", "(RunTime): ", "a(RunTime): 1 us", "a ", "flutter (", "a(RunTime): 1 us |"),
    "iai": ("  L1 Accesses: ", "  L1 Accesses: 1 (", "a" * 900 + "\n", "  A" + " " * 40),
    "ruby_benchmark": (
        " user     system      total        real\n",
        "Rehearsal -\n",
        "a 1 1 1 ( ",
        "a" + " " * 300,
        "1 " * 50,
    ),
    "gnu_time": ('Command being timed: "', "User time (seconds): ", "\t", "Command being timed:"),
    "luau_text": ("SUCCESS: ", "SUCCESS: a" + " " * 900, "SUCCESS: " + "a " * 30, "SUCCESS: a : 1ms +/- 1% on "),
    "benchmarkdotnet_csv": ("Method,Job,a,", "Method,Job,a,Mean,\n", "Method,Job," + "a" * 9000, '"', "1,"),
    "benchmarkdotnet_text": ("| Method | Mean |\n", "| Method | Mean |\n| a | 1.0 ns |\n", "| ", "| a" * 99 + " |\n"),
    "nyrkio": ('{"timestamp":', '{"timestamp":1,"metrics":[],"attributes":{}}\n', "{\n", "[" * 99),
    "mitata_text": (
        "(min … ",
        "(min … • a\n",
        "(min … \n• a\n" + "-" * 900,
        "(min … a 1 ns/iter ",
        "(min … a" + " 1'1" * 300,
        "(min … \na " + " " * 900,
    ),
    "vitest_text": (" RUN  v4.", "  · a 1 1 1 1 1 1 1 1 ±", " RUN  v4.\n ✓ a 1", " RUN  v4.\n  · a" + " 1" * 400),
    "jmh_csv": ('"Benchmark","Mode","Threads","Samples","Score",\n', '"', '"a","thrpt",1,1,1,\n', "\n"),
    "jmh_text": ("a Mode ", "a avgt 1 ", "a " * 50 + " Mode ", "a b  avgt", " "),
    "rebench": ("invocation\titeration\tvalue\tunit\tcriterion\tbenchmark\t\n", "1\t1\t1\tms\ttotal\tb\t\n", "#", "\t"),
    "shell_time": ("real ", "real 0m", "real\t0m0.1", "real 1111111111"),
    "bencher_text": ("test ", "test a ... bench: ", "test a ... bench: " + "1," * 200, "test a ... bench:     "),
    "benchmarkjs_text": (" x ", " x 1 ops/sec ", " x 1 ops/sec ±", " sampled) ops/sec ", "1,"),
    "catch2_text": (
        "benchmark name  ",
        HEADER + "a ",
        HEADER + "1 ns 1 ns ",
        "-" * 80 + "\nx\n",
        "benchmark name" + " " * 300,
    ),
    "catch2_xml": ("<Catch ", "<Catch ><", "<Catch><a>", "<Catch a='", "<Catch><!--", "<Catch>&amp;"),
    "criterion_text": (" time:   [", " time: [1 ns 1 ns ", "time:", "\r", " "),
    "divan": (
        "a fastest  │ slowest │ median",
        "a fastest │ slowest │ median │ mean │ samples │ iters\n",
        "│  ",
        "x" * 1000 + " fastest ",
    ),
    "go_json": ('{"Action":', '{"Action":"output","Package":"p","Output":"x\\n"}\n', '"Action" [[[[['),
    "google_benchmark_csv": ("name,iterations,real_time,cpu_time,time_unit,\n", '"', "a,1,", "\n"),
    "google_benchmark_text": ("Benchmark ", "a  1 ns 1 ns ", "a" + " " * 999, "a 1 ns 1 ns 1 bytes_per_second="),
    "hyperfine_csv": ("command,mean,stddev,median,user,system,min,max\n", '"', "a,1,", "\n"),
    "gungraun": ("  Instructions: ", "  Instructions: 1|", "a::", "a::b \n", "  A" + " " * 40),
    "go_text": (
        "Benchmark",
        "Benchmark 1 ",
        "BenchmarkA-1 1 1 ns/op ",
        "BenchmarkA-1 1 1 ns/op\n",
        "\ngoarch: ",
        "Unit ",
    ),
    "gab_data_js": ("window.BENCHMARK_DATA = ", " \n", "window.BENCHMARK_DATA = {", "window.BENCHMARK_DATA = ["),
    "ab": ("This is ApacheBench", "Time per request: ", "Requests per second: 1 ", " 50%  "),
    "console_table": ("│ (index) │ name │ a (ms) │\n", "│ 0 │ a │ 1 │\n", "│ ", "│" * 200),
    "hey": ("Response time histogram:", "  Average:\t", "  99% in ", "  99% in 1 "),
    "hyperfine_markdown": ("| Command | Mean [ms] |\n", "| a | 1 |\n", "| ", "|" * 200),
    "hyperfine_text": (
        "Benchmark 1: ",
        "  Time (mean ± \N{GREEK SMALL LETTER SIGMA}): ",
        "  Time (mean ± \N{GREEK SMALL LETTER SIGMA}): 1 ms ± ",
        "Time (abs ≡): 1 ms ",
    ),
    "perf_stat_text": (
        "Performance counter stats for ",
        " Performance counter stats for 'a",
        "Performance counter stats for \n 1 msec a",
        "Performance counter stats for \n  " + "1" * 30 + "      a #",
        " " * 40,
    ),
    "pgbench": ("transaction type: ", "latency average = ", "tps = 1 (", "tps = "),
    "pytest_benchmark_text": (
        "Name (time in ms)  Mean  StdDev\n",
        "a  1 (1)  2 (1)\n",
        "a  ",
        "Name (time in ",
        "a (NOW)  1  2\n",
    ),
    "redis_benchmark": ("A: ", "A: 1 requests per second, p50=", "====== ", "throughput summary: ", "\r"),
    "redis_benchmark_csv": ('"test","rps","avg_latency_ms"', '"a","1",', '"', '"1"'),
    "sysbench": (
        "sysbench ",
        " events per second: ",
        " avg: ",
        " 95th percentile: ",
        "Total operations: 1 ( ",
        "=== " * 900,
    ),
    "vegeta": (
        "Latencies ",
        "Latencies [min, mean, 50, 90, 95, 99, max] 1ms, ",
        "Requests [total, rate, throughput] 1, ",
        "1h" * 20,
    ),
    "wrk": ("Thread Stats", "Running 1s test @ ", "    Latency  1", " 50%  1ms ", "Requests/sec: "),
    "siege": ("ransaction\n", "Transaction rate: 1", "Response time: " + "\t" * 900, '"transaction_rate":\t1'),
    "timeit": (" per loop\n", "1 loop, best of 5: ", "1 loop, best of 5: " + "1" * 900),
    "pyperf_text": (
        "Mean +- std dev: ",
        "a: " * 300 + "Mean +- std dev: 1 ns +- ",
        "Mean +- std dev: 1 ns +- " + "1" * 900,
    ),
    "pytest_benchmark_csv": ("name,min,max,mean,stddev,median,", "name,param:" + "a" * 900, '"' * 900),
    "linetimer": ("Code block '", "Code block '" * 90 + "' took: 1", "Code block 'a' took: " + "1" * 900),
    "named_times": ("a: ", "a: 1 n", "a: " * 300, "a" + " " * 900, "a: 1 ns\n", "a: " + "1" * 900),
    "custom_csv": ("test_name,metric_name,unit,value,direction\n", '"' * 900, "," * 900),
    "phpbench_table": ("| subject \n", "| benchmark | subject | mode |\n", "|" * 900, "| a | b | 1s |\n"),
    "otava_csv": ("time,commit,", "time,commit,a_ms\n", 'time,commit,"', "1,"),
}


def outcome(read: Callable[[], T]) -> T | None:
    """Return what `read` returns, or None after a DataError that can be shown. Other errors fail the test."""
    try:
        return read()
    except DataError as error:
        str(error).encode()
        return None


def harmless(source: Source, name: str, turn: int) -> None:
    """Read by the format's name, and in turn by the other formats' and by detection."""
    for tool in (name, *in_turn(["auto", *(tool for tool in TOOLS if tool != name)], turn)):
        run = outcome(partial(collect_sources, [source], Reading(tool=tool)))
        if run is not None:
            assert decode_run(encode_run(run), place="again") == run


@pytest.mark.parametrize(("name", "data"), FILES)
def test_is_known_by_exactly_its_own_parser(name: str, data: bytes) -> None:
    source = Source("criterion/f/new/results", data)
    assert [reader.id for reader in readers_for("auto") if reader.matches(source)] == [name]


@pytest.mark.parametrize(("name", "data"), FILES)
def test_only_data_errors_escape_from_truncated_files(name: str, data: bytes) -> None:
    step = max(1, len(data) // 25)
    for turn, end in enumerate([*range(1, len(data), step), *range(max(1, len(data) - 5), len(data))]):
        harmless(Source(f"criterion/{name}/new/results", data[:end]), name, turn)


def mutations(data: bytes) -> Iterator[bytes]:
    text = data.decode()
    for old, new in (
        *((digit, "9" * 400) for digit in "123"),
        *((digit, "-") for digit in "123"),
        *(
            ("\n", "\n\n"),
            ("\n", "\r\n"),
            ("\n", " "),
            (" ", ""),
            (" ", "\t"),
            (" ", "\u00a0"),
            (".", ".."),
            ("ns", "ys"),
        ),
        *(("e", "\x00"), ("a", "\x1b[31m"), ("a", "\u202e"), ("a", "\U0010ffff"), ('"', ""), (",", ";"), (":", "")),
    ):
        yield text.replace(old, new).encode()
    yield text.encode("utf-16")
    yield data + data
    yield data[::-1]


@pytest.mark.parametrize(("name", "data"), FILES)
def test_only_data_errors_escape_from_changed_files(name: str, data: bytes) -> None:
    # Each file begins with another turn, so that every reader gets every change, of some of the files.
    for turn, changed in enumerate(mutations(data), start=FILES.index((name, data))):
        harmless(Source(f"criterion/{name}/new/results", changed), name, turn)


@pytest.mark.slow  # 2 MiB through each reader, some forty times
@pytest.mark.parametrize(("name", "piece"), [(name, piece) for name, pieces in HOSTILE.items() for piece in pieces])
def test_hostile_text_takes_linear_time(name: str, piece: str) -> None:
    data = piece.encode()
    source = Source("hostile", data * (SIZE // len(data)))
    reader = READERS[name]
    start = time.process_time()
    reader.matches(source)
    outcome(partial(reader.read, source))
    assert time.process_time() - start < LIMIT_SECONDS
