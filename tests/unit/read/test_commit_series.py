"""Otava's tables and Nyrkiö."""

from datetime import UTC, datetime
from typing import Any

import pytest

from perf_culprit.errors import DataError
from perf_culprit.model.run import Direction
from perf_culprit.read.results.collect import Reading, collect_history, collect_sources
from perf_culprit.read.results.result_formats import READERS
from perf_culprit.read.results.source import Source
from tests.support.goldens import golden
from tests.support.readings import keyed, parse

COMMITS = ["a" * 40, "b" * 40, "c" * 40]


TEXT = f"""time,commit,branch,latency_ms,rate [ops/s],machine
2024.01.02 3:00:00 +0100,{COMMITS[1]},main,10.5,100,m1
2024.01.01 3:00:00 +0100,{COMMITS[0]},main,10.25,101,m1
2024.01.03 3:00:00 +0100,{COMMITS[2]},main,,102,m1
"""


def source(text: str) -> Source:
    return Source("runs.csv", text.encode())


def test_the_newest_row_is_the_run() -> None:
    run = collect_sources([source(TEXT)])
    assert run.commit == COMMITS[2]
    assert run.time == datetime(2024, 1, 3, 2, tzinfo=UTC)
    assert [(b.name, b.metric.unit, b.metric.direction, b.value) for b in run.benchmarks] == [
        ("rate [ops/s]", "ops/s", Direction.HIGHER_IS_BETTER, 102.0)
    ]
    assert run.benchmarks[0].summary is not None
    assert run.notes == ("2 earlier rows are history, not this run",)


def test_the_history_is_in_order_of_time() -> None:
    runs = READERS["otava_csv"].history(source(TEXT))
    assert [run.commit for run in runs] == COMMITS
    assert [[b.value for b in run.benchmarks] for run in runs] == [[10.25, 101.0], [10.5, 100.0], [102.0]]
    assert runs[0].benchmarks[0].metric.direction is Direction.LOWER_IS_BETTER


def test_rows_keep_their_order_where_times_are_unreadable() -> None:
    text = f"time,commit,x_ms\nyesterday,{COMMITS[1]},1\n2024-01-01,{COMMITS[0]},2\n"
    assert [run.commit for run in READERS["otava_csv"].history(source(text))] == [COMMITS[1], COMMITS[0]]


def test_other_times() -> None:
    text = "time,commit,x_ms\n1704067200,a,1\n2024-01-02T00:00:00Z,b,2\n2024.99.99 1:00:00 +0000,c,3\n"
    times = [run.time for run in READERS["otava_csv"].history(source(text))]
    assert times == [datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 2, tzinfo=UTC), None]


def test_directions_are_named_where_the_columns_do_not_say_them() -> None:
    text = f"time,commit,branch,metric1,metric2\n2024-01-01,{COMMITS[0]},main,154023,10.43\n"
    with pytest.raises(DataError, match="nothing says which way is good: `metric1`, `metric2`"):
        collect_sources([source(text)])
    for tool, direction in (
        ("otava_csv_smaller", Direction.LOWER_IS_BETTER),
        ("otava_csv_bigger", Direction.HIGHER_IS_BETTER),
    ):
        assert READERS[tool].is_named_only
        run = collect_sources([source(text)], Reading(tool=tool))
        assert [(b.name, b.metric.direction) for b in run.benchmarks] == [
            ("metric1", direction),
            ("metric2", direction),
        ]


def test_some_columns_may_stay_unknown() -> None:
    text = "time,commit,metric1,x (ms)\n2024-01-01,a,1,2\n"
    run = collect_sources([source(text)])
    assert [b.name for b in run.benchmarks] == ["x (ms)"]
    assert run.notes[0].startswith("left out because nothing says which way is good: `metric1`;")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time,commit,x_ms\n", "has no rows"),
        ("time,commit,x_ms\n2024-01-01,a\n", r"runs\.csv:2: has 2 cells for 3"),
        ("time,commit,x_ms,x_ms\n2024-01-01,a,1,2\n", "has 4 cells for 3 different columns"),
        ("time,commit,x_ms\n2024-01-01,a,1\n2024-01-02,b,fast\n", r"runs\.csv:3: x_ms: `fast` is not a number"),
        ('time,commit,x_ms\n2024-01-01,"a,1\n', "is not CSV"),
        (f"time,commit,x_ms\n2024-01-01,{'a' * 200_000},1\n", "is not CSV"),
    ],
)
def test_broken_tables_are_refused(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        READERS["otava_csv"].history(source(text))


def test_too_many_rows_are_refused() -> None:
    with pytest.raises(DataError, match="has more than 20,000 rows"):
        READERS["otava_csv"].read(source("time,commit,x_ms\n" + "1,a,1\n" * 20_001))


def test_histories_come_through_the_front_door(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("otava") / "runs.csv"
    path.write_text(TEXT)
    assert [run.commit for run in collect_history([str(path)])] == COMMITS


LOWER, HIGHER = Direction.LOWER_IS_BETTER, Direction.HIGHER_IS_BETTER


def entry(name: str, time: float, **changes: object) -> dict[str, Any]:
    return {"name": name, "iterations": 1, "real_time": time, "cpu_time": time, "time_unit": "us", **changes}


def test_nyrkio_tests_keep_their_metrics_apart() -> None:
    metrics = [{"name": "p50", "unit": "ms", "value": 1}, {"name": "rate", "unit": "ops/s", "value": 2}]
    entry = {"timestamp": 1, "metrics": metrics, "attributes": {"test_name": "load", "git_commit": "short"}}
    parsed = parse("nyrkio", [entry])
    assert {key: b.metric.direction for key, b in keyed(parsed).items()} == {
        ("load", "p50"): LOWER,
        ("load", "rate"): HIGHER,
    }
    assert parsed.commit is None


def test_nyrkio_without_entries_is_no_data() -> None:
    with pytest.raises(DataError, match="holds no entry"):
        parse("nyrkio", [])


def test_nyrkio_with_an_entry_a_line_is_read_as_its_list_and_a_broken_line_is_named() -> None:
    lines = golden("nyrkio/lines.ndjson")
    runs = READERS["nyrkio"].history(Source("f.ndjson", lines))
    assert runs == READERS["nyrkio"].history(Source("f.json", golden("nyrkio/two_commits.json")))
    with pytest.raises(DataError, match=r"f\.ndjson:3"):
        READERS["nyrkio"].read(Source("f.ndjson", lines + lines[:40]))


def test_lines_of_two_commits_are_two_runs_of_one_file() -> None:
    entry = (
        '{"timestamp": %d, "metrics": [{"name": "t", "unit": "ms", "value": %d}], "attributes": {"git_commit": "%s"}}\n'
    )
    text = entry % (1, 5, "a" * 40) + entry % (2, 6, "b" * 40)
    run = collect_sources([Source("data.ndjson", text.encode())])
    assert (run.commit, [each.value for each in run.benchmarks]) == ("b" * 40, [6.0])
