"""Load generators: the numbers in real output, and details that must not be lost or misread."""

import json

import pytest

from perf_culprit.errors import DataError
from perf_culprit.model.run import Run
from perf_culprit.read.results.collect import collect_sources
from perf_culprit.read.results.load_generators import milliseconds
from perf_culprit.read.results.result_formats import READERS
from perf_culprit.read.results.source import Source
from tests.support.goldens import golden


def read(text: bytes, name: str = "x.txt") -> Run:
    return collect_sources([Source(name, text)])


def numbers(run: Run) -> dict[tuple[str, str], float]:
    return {(each.name, each.metric.name): round(each.value, 6) for each in run.benchmarks}


REDIS_LATENCIES = {("GET", "latency"): 1.941, ("GET", "latency_p50"): 0.431, ("GET", "latency_p99"): 10.879}


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        (
            "wrk.txt",
            {("http://127.0.0.1:8765/", "latency_p99"): 22.72, ("http://127.0.0.1:8765/", "throughput"): 1203.85},
        ),
        ("ab.txt", {("/", "latency"): 3.495, ("/", "throughput"): 1144.53, ("/", "latency_p99"): 9.0}),
        ("hey.txt", {("x", "latency"): 6.1, ("x", "latency_p99"): 62.2, ("x", "throughput"): 645.9069}),
        ("vegeta.txt", {("x", "latency"): 2.373, ("x", "latency_p50"): 1.912, ("x", "throughput"): 50.49}),
        ("vegeta.json", {("x", "latency"): 2.372917, ("x", "latency_p99"): 8.875658}),
        ("redis.txt", {("SET", "throughput"): 22988.51, ("GET", "throughput"): 17543.86, **REDIS_LATENCIES}),
        ("redis_quiet.txt", {("SET", "latency_p50"): 0.967, ("LPUSH", "throughput"): 22222.22}),
        ("redis.csv", {("GET", "latency_p99"): 13.591, ("LPUSH", "latency"): 1.574}),
        ("pgbench.txt", {("<builtin: TPC-B (sort of)>", "throughput"): 358.396566}),
        ("sysbench.txt", {("CPU speed", "throughput"): 1418.78, ("CPU speed", "latency_p95"): 4.33}),
        ("memtier.txt", {("Sets", "latency_p99"): 11.455, ("Gets", "throughput"): 9080.77}),
    ],
)
def test_real_output(file: str, expected: dict[tuple[str, str], float]) -> None:
    run = read(golden(f"load/{file}"))
    assert expected.items() <= numbers(run).items()
    assert run.notes == ()
    directions = {each.metric.name == "throughput": each.metric.direction for each in run.benchmarks}
    assert len(set(directions.values())) == len(directions)


OLD_GATLING = b"""---- Global Information --------------------------------------------------------
> request count                                         20 (OK=18     KO=2     )
> mean response time                                    79 (OK=61     KO=244   )
> response time 99th percentile                        241 (OK=108    KO=244   )
> mean requests/sec                                   1.25 (OK=1.12   KO=0.13  )
"""


def test_gatling_s_successful_requests_count_in_both_of_its_forms() -> None:
    run = read(golden("load/gatling.txt"))
    assert numbers(run)["x", "latency"] == 155.0
    assert numbers(run)["x", "latency_p99"] == 1798.0
    assert numbers(run)["x", "throughput"] == 12.5
    assert run.notes == ("left out: lines that say that requests failed: 1",)
    old = read(OLD_GATLING)
    assert numbers(old) == {("x", "latency"): 61.0, ("x", "latency_p99"): 108.0, ("x", "throughput"): 1.12}
    assert old.notes == run.notes


def test_of_tables_that_count_from_the_start_the_last_one_counts() -> None:
    run = read(golden("load/jmeter.txt"))
    assert numbers(run) == {("summary", "throughput"): 42.8, ("summary", "latency"): 20.0}
    assert run.notes == ("left out: lines that say that requests failed: 1",)
    table = golden("load/locust.txt").partition(b"Type ")[2].partition(b"Response time")[0]
    run = read(table.replace(b"|     14       2 ", b"|     99       2 ") + golden("load/locust.txt"))
    expected = {("GET /", "latency"): 14.0, ("GET /", "latency_p99"): 55.0, ("GET /missing page", "throughput"): 10.84}
    assert expected.items() <= numbers(run).items()
    assert len(run.benchmarks) == 12
    assert run.notes == ("left out: lines that say that requests failed: 1",)


@pytest.mark.parametrize(
    ("file", "old", "new", "note"),
    [
        ("wrk.txt", b"Requests/sec", b"  Non-2xx or 3xx responses: 12\nRequests/sec", "requests failed: 1"),
        ("ab.txt", b"Failed requests:        0", b"Failed requests:        7", "requests failed: 1"),
        ("vegeta.txt", b"100.00%", b"98.00%", "requests failed: 1"),
        ("pgbench.txt", b"failed transactions: 0", b"failed transactions: 3", "requests failed: 1"),
        ("vegeta.json", b'"success":1,', b'"success":0.5,', "requests that succeeded: 50.00%"),
    ],
)
def test_failed_requests_are_noted(file: str, old: bytes, new: bytes, note: str) -> None:
    text = golden(f"load/{file}")
    assert old in text
    run = read(text.replace(old, new))
    assert [each for each in run.notes if note in each], run.notes


def test_a_repeated_run_of_one_load_is_its_samples() -> None:
    run = read(golden("load/wrk.txt") * 3)
    assert {len(each.samples) for each in run.benchmarks} == {3}


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1m2.5s", 62_500.0), ("218.85ms", 218.85), ("5us", 0.005), ("1h", 3.6e6), ("1,203.5", 1203.5)],
)
def test_durations(text: str, expected: float) -> None:
    assert milliseconds(text) == pytest.approx(expected)


def test_the_sections_of_perf_stat_are_benchmarks_of_their_commands() -> None:
    parsed = READERS["perf_stat_text"].read(Source("f.txt", golden("load/perf_stat.txt")))
    results = {each.key.full_name: each for each in parsed.benchmarks}
    assert results["sort -n /etc/services page-faults"].value == 69
    assert results["sort -n /etc/services time"].value == 0.008705794
    repeated = results["seq 200000 task-clock"].summary
    assert repeated is not None
    assert repeated.confidence_interval == pytest.approx((3.51 * 0.9335, 3.51 * 1.0665))
    assert results["seq 200000 time"].value == 0.01201
    assert parsed.notes[0].endswith("LC_ALL=C: 1")


def test_perf_stat_s_numbers_of_another_language_and_estimates_are_left_out() -> None:
    text = (
        " Performance counter stats for 'a':\n\n              3,51 msec task-clock\n"
        "             1.234      page-faults\n             1,234      cs      #  1 K/sec   (83.21%)\n"
        "       0,008705794 seconds time elapsed\n                58      faults\n"
    )
    parsed = READERS["perf_stat_text"].read(Source("f.txt", text.encode()))
    assert [each.key.full_name for each in parsed.benchmarks] == ["a faults"]
    assert parsed.notes[0].endswith("LC_ALL=C: 4")


def test_results_under_different_headings_are_of_different_benchmarks() -> None:
    run = read(golden("load/sysbench_headings.txt"))
    assert numbers(run) == {
        ("primes up to 100: CPU speed", "throughput"): 840530.49,
        ("primes up to 20000: CPU speed", "throughput"): 605.93,
        ("primes up to 20000: CPU speed", "latency"): 1.64,
        ("primes up to 20000: CPU speed", "latency_p95"): 5.18,
        ("locks", "latency"): 33941.96,
        ("locks", "latency_p95"): 33946.25,
    }
    assert not any(each.samples for each in run.benchmarks)


def test_results_under_one_heading_again_are_samples() -> None:
    run = read(b"=== a ===\n" + golden("load/sysbench.txt") + b"=== a ===\n" + golden("load/sysbench.txt"))
    assert {(each.name, len(each.samples)) for each in run.benchmarks} == {("CPU speed", 2)}


def test_a_series_that_cannot_be_of_one_benchmark_is_refused() -> None:
    text = b"\n".join(line for line in golden("load/sysbench_headings.txt").split(b"\n") if not line.startswith(b"=="))
    with pytest.raises(DataError, match=r"holds results from 605.93 to 840530 1/s under one name") as raised:
        read(text)
    assert "=== NAME ===" in (raised.value.next_step or "")


def test_sysbench_s_memory_has_a_rate_and_no_latency_of_0() -> None:
    run = read(golden("load/sysbench_memory.txt"))
    assert [each.metric.name for each in run.benchmarks] == ["throughput"]
    assert run.benchmarks[0].name == "memory speed"
    assert run.benchmarks[0].value > 1_000_000
    assert run.notes == (
        "left out because the tool printed them as 0: `memory speed` latency, `memory speed` latency_p95",
    )
    both = read(golden("load/sysbench.txt") + golden("load/sysbench_memory.txt"))
    assert numbers(both)["CPU speed", "latency"] > 0


def test_siege_s_two_forms() -> None:
    assert numbers(read(golden("load/siege.txt"))) == {("x", "throughput"): 666.67}
    run = read(
        b"Transaction rate:\t      666.67 trans/sec\nResponse time:\t\t        0.25 secs\nFailed transactions:\t   2\n"
    )
    assert numbers(run) == {("x", "throughput"): 666.67, ("x", "latency"): 250.0}
    assert run.notes == ("left out: lines that say that requests failed: 1",)


MEMTIER = {
    "Runtime": {"Total duration": 4003},
    "Sets": {
        "Count": 108590,
        "Ops/sec": 27127.17,
        "Latency": 0.5,
        "Average Latency": 0.461,
        "Percentile Latencies": {"p50.00": 0.391, "p99.00": 1.775, "p99.90": 3.183},
    },
    "Waits": {"Count": 0, "Ops/sec": 0.0, "Latency": 0.0},
    "Totals": {"Count": 217172, "Ops/sec": 54252.34, "Latency": 0.46},
    "SET": [{"Count": 1}],
}


def test_memtier_s_json_has_the_metrics_of_its_table() -> None:
    run = read(json.dumps({"run information": {}, "ALL STATS": MEMTIER}).encode())
    assert numbers(run) == {
        ("Sets", "throughput"): 27127.17,
        ("Sets", "latency"): 0.461,
        ("Sets", "latency_p50"): 0.391,
        ("Sets", "latency_p99"): 1.775,
        ("Totals", "throughput"): 54252.34,
        ("Totals", "latency"): 0.46,
    }


WRK = """Running 2s test @ http://127.0.0.1:8765/x
  1 threads and 2 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency    44.59ms    5.57ms  52.23ms   93.18%
  {requests} requests in 2.00s, 10.34KB read
  {failed}
Requests/sec:     43.93
"""


@pytest.mark.parametrize(
    ("requests", "failed", "counts"),
    [
        (88, "Non-2xx or 3xx responses: 22", [(22, 88)]),
        (2200, "Non-2xx or 3xx responses: 22", []),
        (88, "Socket errors: connect 0, read 9, write 0, timeout 1", [(None, None)]),
    ],
)
def test_a_test_in_which_more_than_a_few_requests_failed_is_lost(
    requests: int, failed: str, counts: list[tuple[int | None, int | None]]
) -> None:
    run = read(WRK.format(requests=requests, failed=failed).encode())
    assert [(one.count, one.total) for one in run.lost] == counts
    assert {one.benchmark for one in run.lost} <= {entry.name for entry in run.benchmarks}
    assert "left out: lines that say that requests failed: 1" in run.notes


@pytest.mark.parametrize(("success", "is_lost"), [("100.00%", False), ("99.10%", False), ("98.90%", True)])
def test_vegeta_tells_the_share_of_success(success: str, is_lost: bool) -> None:
    text = golden("load/vegeta.txt").decode()
    (share,) = [line.split()[-1] for line in text.splitlines() if line.startswith("Success")]
    assert bool(read(text.replace(share, success).encode()).lost) == is_lost
