import json

import pytest

from perf_culprit.errors import DataError
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.run import Direction
from perf_culprit.read.counters import perf_stat
from perf_culprit.read.results.collect import collect_sources
from perf_culprit.read.results.source import Source
from tests.support.counter_tables import columns, only_table, read
from tests.support.goldens import golden


def event(**members: object) -> str:
    fields = {"counter-value": "5", "unit": "", "event": "cycles", "event-runtime": 1, "pcnt-running": 100.0}
    return json.dumps({**fields, **{name.replace("_", "-"): value for name, value in members.items()}})


def test_perf_objects_may_share_a_line_and_lines_may_be_others() -> None:
    run = read(f"done\n{event()} {event(event='instructions', counter_value='7')}\n" + '{"metric-value" : "1.4"}\n')
    assert [(b.metric.name, b.value) for b in run.benchmarks] == [("cycles", 5), ("instructions", 7)]


def test_perf_multiplexing_and_uncounted_events_are_noted() -> None:
    run = read("\n".join([event(pcnt_running=33.5), event(event="branches", counter_value="<not counted>")]))
    assert run.notes == (
        "counters.csv: not counted or not supported, at least at times: branches",
        "counters.csv: counted only part of the time (at least 33.5%), so estimated by perf: cycles",
    )


def test_perf_events_that_may_be_good_news_are_left_out() -> None:
    run = read("\n".join([event(event="cache-references"), event(event="LLC-load-misses"), event(event="cycles:u")]))
    assert [b.metric.name for b in run.benchmarks] == ["LLC-load-misses", "cycles:u"]
    assert run.notes[0].startswith("left out because nothing says which way is good: `cache-references`;")


def test_perf_spread_is_the_standard_error_of_the_mean() -> None:
    (benchmark,) = read(event(counter_value="200.0", variance=1.5)).benchmarks
    assert benchmark.summary is not None
    assert benchmark.summary.confidence_interval == (197, 203)
    assert benchmark.summary.confidence_level == 0.6827
    assert benchmark.summary.count is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (event(counter_value="<not supported>"), r"no event was counted \(cycles\)"),
        (event(counter_value="many"), r":1: `counter-value` is not a number"),
        (event(counter_value="1e999"), r":1: `counter-value` is not a number"),
        (event()[:-3], "is not valid JSON"),
    ],
)
def test_perf_without_usable_events_is_refused(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(text)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_perf_csv_with_every_separator_and_scope(separator: str) -> None:
    rows = (
        ("5", "", "cycles", "100", "100.00", "", ""),
        ("5", "", "cycles", "0.50%", "100", "100.00", "", ""),
        ("S0", "4", "5", "", "cycles", "100", "100.00", "", ""),
        ("CPU3", "5", "", "cycles", "100", "100.00", "", ""),
    )
    for fields, name in zip(rows, ("cycles", "cycles", "S0: cycles", "CPU3: cycles"), strict=True):
        (benchmark,) = read(separator.join(fields) + "\n", name="build.csv").benchmarks
        assert (benchmark.name, benchmark.metric.name, benchmark.value) == ("build", name, 5)


def test_perf_csv_refuses_other_lines_with_their_number() -> None:
    with pytest.raises(DataError, match=r"counters\.csv:2: is not a line of perf stat"):
        read("5,,cycles,100,100.00,,\nhello, world\n", tool="perf_stat_csv")


def test_perf_stat_refuses_a_time_after_a_separator_of_records() -> None:
    """Fuzzing found this: a pattern's \\s matches U+001E, but float() does not accept it."""
    interval = "     0.050156174,50.66,msec,task-clock,50663670,100.00,1.013,CPUs utilized\n"
    with pytest.raises(DataError, match=r"counters\.csv:2: is not a line of perf stat"):
        read(interval + "\x1e" + interval, tool="perf_stat_csv")


def sadf(*times: str, restarts: int = 0, hosts: int = 1, **zone: object) -> str:
    stamp: dict[str, object] = {"date": "2026-11-21", "interval": 1, **zone}
    statistics: list[dict[str, object]] = [
        {
            "timestamp": {**stamp, "time": time},
            "cpu-load": [{"cpu": "all", "user": 1.5, "idle": 98.5}],
            "memory": {"memfree": 5, "swpused-percent": 1.0, "note": "text"},
        }
        for time in times
    ]
    return json.dumps(
        {
            "sysstat": {
                "hosts": [
                    {"nodename": f"bench{i}", "statistics": statistics, "restarts": [{"boot": {}}] * restarts}
                    for i in range(hosts)
                ]
            }
        }
    )


def test_sadf_json_has_a_table_per_activity_and_host() -> None:
    run = read(sadf("02:00:00", "02:00:01", utc=1, hosts=2))
    assert [table.name for table in run.counters] == [
        *("bench0: cpu-load", "bench0: memory", "bench1: cpu-load", "bench1: memory")
    ]
    assert [(m.name, m.unit, m.direction) for m in run.counters[0].metrics] == [
        ("all/user", "%", Direction.LOWER_IS_BETTER),
        ("all/idle", "%", Direction.HIGHER_IS_BETTER),
    ]
    assert [m.name for m in run.counters[1].metrics] == ["memfree", "swpused-percent"]


def test_sadf_json_keeps_parts_around_a_restart_and_notes_local_times() -> None:
    run = read(sadf("02:00:00", "02:30:00", restarts=1))
    assert run.counters[0].times_s.tolist() == [1795226400, 1795228200]
    assert run.notes == (
        "counters.csv: its times have no time zone and are taken as UTC",
        "counters.csv: bench0 was started 1 times; parts of one table",
    )


def test_sadf_json_of_a_clock_that_goes_back_is_sorted() -> None:
    run = read(sadf("02:59:59", "02:00:00", tz="UTC"))
    assert run.counters[0].times_s.tolist() == [1795226400, 1795229999]
    assert run.notes == ("counters.csv: the time goes back 1 times (was the clock set?); rows are sorted by time",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (sadf(), "holds no statistics"),
        (sadf("noon"), r"statistics\[0\].timestamp: is not a date and time"),
        ('{"sysstat": {"hosts": []}}', "holds no statistics"),
    ],
)
def test_sadf_json_without_statistics_is_refused(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(text)


SADF = "# hostname;interval;timestamp;DEV;tps\n"


def test_sadf_csv_of_two_hosts_and_devices() -> None:
    run = read(SADF + "a;1;2026-11-21 02:19:32 UTC;sda;5\nb;1;2026-11-21 02:19:32 UTC;sda;6\n")
    assert [(table.name, columns(table)) for table in run.counters] == [
        ("a: DEV", {"sda tps": [5]}),
        ("b: DEV", {"sda tps": [6]}),
    ]


def test_sadf_csv_across_the_end_of_summer_time_in_local_time() -> None:
    rows = ["a;1;2026-10-25 02:59:00;sda;1", "a;1;2026-10-25 02:00:00;sda;2", "a;1;2026-10-25 02:59:00;sda;3"]
    run = read(SADF + "\n".join(rows) + "\n")
    assert columns(only_table(run)) == {"sda tps": [2, 3]}
    assert "its times have no time zone" in run.notes[-1]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("a;1;2026-11-21 02:19:32 UTC;sda\n", "does not have the cells"),
        ("a;1;later;sda;5\n", r":2: `later` is not a time"),
        ("", "holds no rows"),
    ],
)
def test_sadf_csv_broken_rows_are_refused(rows: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(SADF + rows)


def test_perfmon_takes_utc_from_the_bias_and_knows_missing_values() -> None:
    header = '"(PDH-CSV 4.0) (Pacific Standard Time)(480)","\\\\A\\Memory\\Committed Bytes","\\\\B\\Memory\\Pages/sec"'
    run = read(header + '\r\n"03/02/2026 02:00:00.500","1"," "\r\n"03/02/2026 02:00:01.500","2","3",""\r\n')
    table = only_table(run)
    assert table.times_s.tolist() == [1772445600.5, 1772445601.5]
    assert columns(table) == {"\\\\A\\Memory\\Committed Bytes": [1, 2], "\\\\B\\Memory\\Pages/sec": [None, 3]}
    assert [metric.unit for metric in table.metrics] == ["B", "1/s"]


def test_perfmon_with_tabs() -> None:
    text = '"(PDH-TSV 4.0) (GMT)(0)"\t"\\\\A\\x\\y"\r\n"03/02/2026 10:00:00.000"\t"1"\r\n'
    assert columns(only_table(read(text))) == {"x\\y": [1]}


def test_typeperf_of_one_counter_ends_with_a_sentence_of_two_cells() -> None:
    text = '\r\n"(PDH-CSV 4.0)","\\\\A\\x\\y"\r\n"03/02/2026 10:00:00.000","1"\r\n\r\nExiting, please wait...\r\n'
    run = read(text)
    assert columns(only_table(run)) == {"x\\y": [1]}
    assert run.notes == ("counters.csv: its times have no time zone and are taken as UTC",)


def test_perfmon_without_counters_or_with_broken_rows_is_refused() -> None:
    with pytest.raises(DataError, match="names no counter"):
        read('"(PDH-CSV 4.0)"\r\n"03/02/2026 10:00:00.000"\r\n')
    with pytest.raises(DataError, match=r":2: `99/99/2026` is not a time"):
        read('"(PDH-CSV 4.0)","\\\\A\\x\\y"\r\n"99/99/2026","1"\r\n')
    with pytest.raises(DataError, match="stands there twice"):
        read('"(PDH-CSV 4.0)","\\\\A\\x\\y","\\\\A\\x\\y"\r\n"03/02/2026 10:00:00.000","1","1"\r\n')


def test_prometheus_samples_with_times_become_rows() -> None:
    run = read('# TYPE up gauge\nup{a="1"} 1 1795227572000\nup{a="1"} 0 1795227573000\n')
    assert only_table(run).times_s.tolist() == [1795227572, 1795227573]
    assert columns(only_table(run)) == {'up{a="1"}': [1, 0]}


def test_prometheus_times_are_milliseconds_however_small_and_openmetrics_writes_seconds() -> None:
    samples = "# TYPE up gauge\nup 1 1000\nup 0 2500\n"
    assert only_table(read(samples)).times_s.tolist() == [1.0, 2.5]
    assert only_table(read(f"{samples}# EOF\n")).times_s.tolist() == [1000, 2500]


@pytest.mark.parametrize("line", ["up", "up{a=", 'up{a="1}', "up{} x", "1up 1", "up 1 2 3", 'up{a="1" 5', "up{a} 1"])
def test_prometheus_lines_that_are_no_sample_have_their_number(line: str) -> None:
    with pytest.raises(DataError, match=r"counters\.csv:2: is not a Prometheus sample"):
        read(f"# TYPE up gauge\n{line}\n")


def test_prometheus_exemplars_and_eof_are_passed_over() -> None:
    text = '# TYPE a counter\na_total 5 # {trace="x"} 0.1 1795227572.1\n# EOF\n'
    assert columns(only_table(read(text))) == {"a_total": [5]}


@pytest.mark.parametrize("running", ["<not supported>", "<not counted>", ""])
def test_a_line_of_perf_whose_share_of_time_is_no_number_is_refused_with_its_number(running: str) -> None:
    good = "1,,cycles,100,100.00,,\n"
    with pytest.raises(DataError, match=r":2: is not a line of perf stat"):
        perf_stat.PERF_STAT_CSV.read(Source("stat.csv", f"{good}1,,cycles,100,{running},,\n".encode()))


def query(kind: str, result: object) -> str:
    return json.dumps({"status": "success", "data": {"resultType": kind, "result": result}})


def test_prometheus_vector_is_one_instant() -> None:
    run = read(query("vector", [{"metric": {"__name__": "up"}, "value": [5.5, "1"]}]))
    assert only_table(run).times_s.tolist() == [5.5]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (query("scalar", [1, "2"]), "neither a matrix nor a vector"),
        (query("matrix", []), "holds no series"),
        (query("matrix", [{"metric": {}, "values": [[1, "x"]]}]), r"values\[0\]: `x` is not a number"),
        (query("matrix", [{"metric": {}, "values": [[1, 5]]}]), r"is not \[seconds"),
        (query("matrix", [{"metric": {"a": 1}, "values": [[1, "5"]]}]), r"metric.a: is a number, not text"),
        ('{"status":"error","errorType":"bad_data","error":"parse error"}', "error of Prometheus: parse error"),
    ],
)
def test_prometheus_answers_without_series_are_refused(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(text)


def test_sadf_json_of_deep_or_nameless_elements_is_bounded() -> None:
    entry = {
        "timestamp": {"date": "2026-11-21", "time": "02:19:32", "utc": 1},
        "deep": {"a": {"b": {"c": {"d": {"e": {"f": {"too": 1}}}}, "x": 2}}},
        "plain": [{"v": 1}, {"v": 2}, 5],
    }
    empty: dict[str, object] = {"timestamp": {}}
    run = read(json.dumps({"sysstat": {"hosts": [{"statistics": [entry, {}, empty]}]}}))
    assert {table.name: columns(table) for table in run.counters} == {
        "deep": {"a/b/x": [2]},
        "plain": {"0/v": [1], "1/v": [2]},
    }


def test_too_many_perf_readings_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(FILE_LIMITS), "counter_readings", 2)
    with pytest.raises(DataError, match="more than 2 readings"):
        read(f"{event()}\n" * 3)


def test_too_many_values_of_all_tables_together_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(FILE_LIMITS), "counter_cells", 4)
    with pytest.raises(DataError, match="or 4 values"):
        read(SADF + "".join(f"host{i};1;2026-11-21 02:19:32 UTC;sda;5\n" for i in range(5)))


def test_sadf_lines_are_one_table() -> None:
    (table,) = collect_sources([Source("l", (golden("../counters/sadf/lines.txt")))]).counters
    assert len(table.times_s) == 3
    assert "%user" in {metric.name for metric in table.metrics}


def test_perf_s_text_may_group_digits_as_in_india() -> None:
    text = golden("load/perf_stat.txt").decode()
    count = next(line for line in text.splitlines() if line.rstrip().endswith("page-faults") or " page-faults " in line)
    digits = count.split()[0]
    run = collect_sources([Source("perf.txt", text.replace(f" {digits} ", " 1,23,45,678 ", 1).encode())])
    assert 12_345_678.0 in [each.value for each in run.benchmarks if each.metric.name == "page-faults"]
