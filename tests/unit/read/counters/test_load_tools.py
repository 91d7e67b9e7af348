"""JMeter, k6 and Locust, beyond their golden files."""

import json

import pytest

from perf_culprit.errors import DataError
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.run import Direction
from perf_culprit.read.counters.load_test import LoadTest, Reservoir
from tests.support.counter_goldens import golden
from tests.support.counter_tables import columns, only_table, read


def test_a_reservoir_keeps_all_until_it_is_full_and_then_an_even_choice_in_order() -> None:
    small = Reservoir(5)
    for number in range(5):
        small.add(number)
    assert small.numbers() == [0, 1, 2, 3, 4]
    large = Reservoir(1000)
    for number in range(20_000):
        large.add(number)
    kept = large.numbers()
    assert len(kept) == len(large) == 1000
    assert kept == sorted(set(kept))
    # The mean of a uniform choice is the middle of the range, within five standard errors.
    assert abs(sum(kept) / 1000 - 9999.5) < 5 * 20_000 / (12 * 1000) ** 0.5
    again = Reservoir(1000)
    for number in range(20_000):
        again.add(number)
    assert again.numbers() == kept


def test_seconds_without_requests_have_no_throughput_and_no_other_values() -> None:
    test = LoadTest(name="k6", place="f")
    for time_s in (100.2, 100.9, 103.5):
        test.request(test.at(time_s), "a", 10 * time_s, has_failed=False)
    (table,) = test.parsed().counters
    assert table.load is not None
    assert table.load.tolist() == [2, 0, 0, 1]
    assert columns(table)["response_time"] == [pytest.approx(1005.5), None, None, 1035]


def test_samples_and_labels_are_bounded_and_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(FILE_LIMITS), "load_labels", 2)
    test = LoadTest(name="k6", place="f")
    for label in ("a", "b", "c", "c"):
        test.request(test.at(0), label, 1.0, has_failed=False)
        test.request(test.at(0), label, 1.0, has_failed=True)
    for _ in range(FILE_LIMITS.kept_samples):
        test.time("a", 2.0)
    parsed = test.parsed()
    assert [(benchmark.name, len(benchmark.samples)) for benchmark in parsed.benchmarks] == [("a", 10_000), ("b", 1)]
    assert parsed.notes == (
        "f: failed requests are left out of the response times: a (1), b (1)",
        "f: of more than 10,000 response times as many are kept, chosen at random: a",
        "f: response times beyond the first 2 labels are left out: 2",
    )


def test_a_test_of_more_than_a_week_has_broken_times(monkeypatch: pytest.MonkeyPatch) -> None:
    test = LoadTest(name="k6", place="f")
    test.at(0).requests += 1
    test.at(8 * 24 * 3600).requests += 1
    with pytest.raises(DataError, match="more than a week"):
        test.parsed()
    monkeypatch.setattr(type(FILE_LIMITS), "load_test_s", 2)
    with pytest.raises(DataError, match="more than a week"):
        test.at(5)


JTL = "timeStamp,elapsed,label,success,allThreads\n"


K6 = "metric_name,timestamp,metric_value,error_code,method,name,group\n"


def test_jmeter_columns_may_stand_in_any_order_with_any_separator() -> None:
    run = read("label;success;elapsed;timeStamp\na;true;5;1795227572000\na;FALSE;7;1795227572500\n")
    assert [(b.name, b.samples) for b in run.benchmarks] == [("a", (5,))]
    assert columns(only_table(run)) == {"error_rate": [50], "response_time": [5]}


def test_jmeter_quotes_commas_and_lines_in_messages() -> None:
    text = 'timeStamp,elapsed,label,responseMessage,success\n1795227572000,5,"a, b","two\nlines",true\n'
    assert [b.name for b in read(text).benchmarks] == ["a, b"]


def test_jmeter_without_success_column_says_so() -> None:
    run = read("timeStamp,elapsed,label\n1795227572000,5,a\n")
    assert run.notes == ("counters.csv: does not say which samples failed",)


def test_jmeter_rows_out_of_order_repeated_headers_and_negative_times() -> None:
    run = read(JTL + "1795227574000,5,a,true,2\n" + JTL + "1795227572000,7,a,true,1\n1795227572100,-3,a,true,1\n")
    assert run.benchmarks[0].samples == (5, 7)
    assert only_table(run).times_s.tolist() == [1795227572, 1795227573, 1795227574]
    assert run.notes == ("counters.csv: negative times are left out: 1",)


def test_jmeter_cut_and_broken_rows() -> None:
    run = read(JTL + "1795227572000,5,a,true,2\n1795227572000,5,a")
    assert run.notes == ("counters.csv: the last line is cut off and left out",)
    with pytest.raises(DataError, match=r"counters\.csv:2: has 3 cells, the header has 5"):
        read(JTL + "1795227572000,5,a\n1795227572000,5,a,true,2\n")
    for row in ("soon,5,a,true,2", "1795227572000,x,a,true,2", "inf,5,a,true,2", "nan,5,a,true,2"):
        with pytest.raises(DataError, match=r"counters\.csv:2: its timeStamp or elapsed is not a number"):
            read(JTL + row + "\n")


def test_jmeter_failures_only_leave_a_table_without_benchmarks() -> None:
    run = read(JTL + "1795227572000,5,a,false,2\n")
    assert run.benchmarks == ()
    assert columns(only_table(run)) == {"users": [2], "error_rate": [100]}


def test_k6_durations_of_failed_requests_do_not_count() -> None:
    run = read(
        K6
        + "http_req_duration,1795227572,5,,GET,/a,\nhttp_req_duration,1795227572,0,1101,GET,/a,\n"
        + "my_metric,1795227572,5,,,,\nvus,1795227572,3,,,,\ngroup_duration,1795227572,6,,,,::deep\n"
    )
    assert [(b.name, b.metric.name, b.samples) for b in run.benchmarks] == [
        ("GET /a", "response_time", (5,)),
        ("deep", "group_time", (6,)),
    ]
    assert columns(only_table(run)) == {"users": [3], "error_rate": [50], "response_time": [5]}
    assert run.notes[1] == "counters.csv: the file does not say what these metrics mean; left out: my_metric"


def test_k6_times_may_be_dates_or_milliseconds() -> None:
    for time in ("1795227572", "1795227572000", "2026-11-21T02:19:32Z"):
        run = read(K6 + f"http_req_duration,{time},5,,GET,/a,\n")
        assert only_table(run).times_s.tolist() == [1795227572]


def test_k6_broken_points_have_their_line() -> None:
    with pytest.raises(DataError, match=r"counters\.csv:2: is not a point of k6"):
        read(K6 + "http_req_duration,1795227572,fast,,GET,/a,\n")
    with pytest.raises(DataError, match=r"is not a finite number"):
        read(K6 + "http_req_duration,1795227572,nan,,GET,/a,\n")


def test_k6_summaries_of_both_kinds_hold_the_same_metrics() -> None:
    kinds = []
    for path in ("k6/summary.json", "k6/export.json"):
        run = read(golden(path).decode())
        kinds.append({(b.name, b.metric) for b in run.benchmarks})
        assert {b.metric.direction for b in run.benchmarks if b.name == "checks"} == {Direction.HIGHER_IS_BETTER}
    assert kinds[0] == kinds[1]


def test_k6_counts_its_times_by_their_events_where_a_trend_does_not_count_them() -> None:
    """The input is the output of `k6 run --summary-export` without `--summary-trend-stats`."""
    trend = {"avg": 7.0, "min": 6.0, "med": 6.5, "max": 200.0, "p(95)": 9.9}
    names = ("http_req_duration", "http_req_duration{expected_response:true}", "iteration_duration", "group_duration")
    metrics = dict.fromkeys(names, trend) | {"http_reqs": {"count": 17_586}, "iterations": {"count": 9}}
    times = read(json.dumps({"root_group": {}, "metrics": metrics})).benchmarks
    counts = {entry.name: entry.summary.count for entry in times if entry.summary and entry.metric.name == "time"}
    assert counts == dict(zip(names, (17_586, None, 9, None), strict=True))
    assert {entry.summary.median for entry in times if entry.summary and entry.metric.name == "time"} == {6.5}


def test_k6_metrics_without_a_known_direction_are_left_out_and_named() -> None:
    summary = {
        "root_group": {},
        "metrics": {
            "size": {"type": "trend", "contains": "data", "values": {"avg": 1}},
            "waiting": {"type": "trend", "contains": "time", "values": {"avg": 1, "med": 1}},
            "http_reqs": {"type": "counter", "contains": "default", "values": {"count": 1, "rate": 1}},
        },
    }
    run = read(json.dumps(summary))
    assert [(b.name, b.metric.name) for b in run.benchmarks] == [("waiting", "time"), ("waiting", "p50_time")]
    assert run.notes == ("counters.csv: unknown which way is good, or without values; left out: size",)


def test_locust_percentiles_without_requests_are_missing() -> None:
    run = read(
        "Timestamp,User Count,Type,Name,Requests/s,Failures/s,50%,95%,99%\n"
        "1,2,,Aggregated,0.0,0.0,0,0,0\n2,2,,Aggregated,5.0,0.0,7,N/A,9\n"
    )
    table = only_table(run)
    assert columns(table)["p50_response_time"] == [None, 7]
    assert columns(table)["p99_response_time"] == [None, 9]
    assert table.load is not None
    assert table.load.tolist() == [0, 5]


def test_locust_statistics_without_requests_or_with_broken_cells() -> None:
    header = "Type,Name,Request Count,Failure Count,Median Response Time,Average Response Time\n"
    with pytest.raises(DataError, match="holds no benchmark"):
        read(header + "GET,/a,0,0,0,0\n")
    with pytest.raises(DataError, match=r"counters\.csv:2: average response time: `x` is not a number"):
        read(header + "GET,/a,1,0,0,x\n")
    with pytest.raises(DataError, match=r"has 3 cells, the header has 6"):
        read(header + "GET,/a,1\n")
    with pytest.raises(DataError, match=r"`GET /a` is also at counters\.csv:2"):
        read(header + "GET,/a,1,0,0,1\nGET,/a,1,0,0,1\n")
