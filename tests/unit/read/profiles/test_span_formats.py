"""Traces as calls: in every format, 40 traces of OpenTelemetry's SDK with two request types and three services."""

import json
from pathlib import Path
from typing import Any

import pytest

from perf_culprit.errors import DataError, UsageError
from perf_culprit.explain.compare_trees import compare_profiles
from perf_culprit.model.call_tree import Profile, RecordFault
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.report import Answer
from perf_culprit.read.profiles.profile_reading import read_profiles
from perf_culprit.read.profiles.span_formats import span_table


def span(name: str, start: int, end: int, *, parent: str = "", identity: str = "") -> dict[str, Any]:
    times = {"startTimeUnixNano": str(start * 10**6), "endTimeUnixNano": str(end * 10**6)}
    return {"traceId": "t", "spanId": identity or name, "parentSpanId": parent, "name": name, **times}


def document(service: str, *spans: dict[str, Any]) -> dict[str, Any]:
    attributes = [{"key": "n", "value": {"intValue": "1"}}, {"key": "service.name", "value": {"stringValue": service}}]
    return {"resourceSpans": [{"resource": {"attributes": attributes}, "scopeSpans": [{"spans": list(spans)}]}]}


def test_services_self_times_and_what_is_wrong(tmp_path: Path) -> None:
    shop = document(
        "shop",
        span("order", 0, 100),
        span("call db", 10, 60, parent="order"),
        span("call log", 40, 80, parent="order"),
        span("order", 0, 1),
        span("late", 5, 4),
        span("orphan", 0, 7, parent="gone"),
        span("a", 0, 1, parent="b"),
        span("b", 0, 1, parent="a"),
        {"name": "no ids"},
    )
    path = tmp_path / "spans.json"
    database = document("db", span("query", 20, 50, parent="call db"))
    path.write_text(json.dumps(shop) + "\n" + json.dumps(database) + "\n")
    reading = read_profiles([str(path)])
    order, orphan = reading.profiles
    assert {node.method: (node.elapsed_ms[0], node.self_ms[0]) for node in order.nodes} == {
        "shop: order": (100, 30),
        "shop: call db": (50, 0),
        "db: (network)": (20, 20),
        "shop: call log": (40, 40),
        "db: query": (30, 30),
    }
    assert (order.service, orphan.service, orphan.nodes[0].elapsed_ms) == ("shop: order", "shop: orphan", (7,))
    assert dict(reading.unused) == {
        RecordFault.REPEATED: 1,
        RecordFault.NUMBER: 1,
        RecordFault.LOST_PARENT: 1,
        RecordFault.CYCLE: 2,
        RecordFault.MALFORMED: 1,
    }


FOLDER = Path(__file__).parents[3] / "golden" / "profiles"


COLUMNS = (
    "csv:trace=TraceID,span=SpanID,parent=ParentID,service=ServiceName,name=OperationName,start_us=StartTime,"
    "duration_us=Duration"
)


ORDER, SEARCH = "frontend: GET /order/*", "frontend: GET /search"


def read(name: str, form: str = "auto") -> dict[str, list[tuple[str, float, float]]]:
    profiles = read_profiles([str(FOLDER / name)], format=form).profiles
    assert all(one.repetitions == 20 and one.are_calls for one in profiles)
    return {
        one.service: [(node.method, sum(node.elapsed_ms), sum(node.self_ms)) for node in one.nodes] for one in profiles
    }


@pytest.mark.parametrize(("name", "form"), [("otel-after.json", "auto"), ("otel-after.csv", COLUMNS)])
def test_every_form_of_the_same_spans_reads_alike(name: str, form: str) -> None:
    wanted, result = read("otel-after.pb"), read(name, form)
    assert list(wanted) == [ORDER, SEARCH]
    assert [one[0] for one in wanted[SEARCH]] == [SEARCH, "stock: reserve", "stock: SELECT stock"]
    assert result.keys() == wanted.keys()
    for service, nodes in wanted.items():
        for (method, elapsed, own), other in zip(nodes, result[service], strict=True):
            assert other[0] == method
            assert other[1:] == pytest.approx((elapsed, own), abs=0.1)


def test_a_slow_service_below_all_callers_is_named_once_with_certainty() -> None:
    sides = [read_profiles([str(FOLDER / f"otel-{side}.pb")]).profiles for side in ("before", "after")]
    comparison = compare_profiles(*sides)
    assert comparison.answer is Answer.SLOWER
    (suspect,) = (one for one in comparison.suspects if one.reasons)
    assert suspect.method == "stock: SELECT stock"
    assert suspect.q_value is not None
    assert suspect.q_value < 1e-4
    assert [one.service for one in comparison.impacted] == [SEARCH, ORDER]
    # The comparison of one side with itself finds nothing slower.
    half = read_profiles([str(FOLDER / "otel-after.pb")] * 2).profiles
    assert not compare_profiles(half, half).suspects


def test_a_slow_network_is_named_by_the_service_behind_it(tmp_path: Path) -> None:
    """Two services call a third over a slower network. The own work of all three is unchanged."""

    def side(name: str, network_us: int) -> str:
        rows = ["TraceID,SpanID,ParentID,ServiceName,OperationName,StartTime,Duration"]
        for i in range(40):
            spent = 900 + 10 * (i % 7)
            for caller, root in (("shop", "GET /order"), ("search", "GET /search")):
                waits = 1_000 + network_us + 5 * (i % 3)
                rows += [
                    f"{caller}{i},1,,{caller},{root},{i * 10_000},{spent + waits}",
                    f"{caller}{i},2,1,{caller},price,{i * 10_000 + 100},{waits}",
                    f"{caller}{i},3,2,prices,price,{i * 10_000 + 200},1000",
                ]
        (tmp_path / name).write_text("\n".join(rows))
        return str(tmp_path / name)

    sides = [read_profiles([side(*one)], format=COLUMNS).profiles for one in (("before", 200), ("after", 700))]
    comparison = compare_profiles(*sides)
    assert comparison.answer is Answer.SLOWER
    assert comparison.suspects[0].method == "prices: (network)"


def test_many_calls_are_put_together_in_their_order(tmp_path: Path) -> None:
    rows = ["t,s,p,service,name,start,length"]
    rows += [f"{i},1,,shop,GET /item/{i},{i * 1000},{10 if i % 2 else 30}" for i in range(2_500)]
    table = tmp_path / "spans.csv"
    table.write_text("\n".join(rows))
    form = "csv:trace=t,span=s,parent=p,service=service,name=name,start_ms=start,duration_ms=length"
    (profile,) = read_profiles([str(table)], format=form).profiles
    assert (profile.service, profile.repetitions) == ("shop: GET /item/*", 834)
    (node,) = profile.nodes
    assert node.calls == 1
    assert sum(node.elapsed_ms[:-1]) / 833 == pytest.approx(20, abs=0.1)
    assert node.elapsed_ms[-1] == 10  # the last repetition is a single call


def test_large_trees_have_fewer_repetitions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(FILE_LIMITS), "repetition_times", 300)
    monkeypatch.setattr("perf_culprit.read.profiles.spans.FEWEST_REPETITIONS", 2)
    rows = ["TraceID,SpanID,ParentID,ServiceName,OperationName,StartTime,Duration"]
    for i in range(90):
        rows += [
            f"{i},1,,shop,GET /a,{i * 1000},30",
            f"{i},2,1,shop,find,{i * 1000},{10 + i % 2}",
            f"{i},3,1,shop,log,{i},9",
        ]
    table = tmp_path / "spans.csv"
    table.write_text("\n".join(rows))
    (profile,) = read_profiles([str(table)], format=COLUMNS).profiles
    # 300 times of three paths allow at most 100 calls, and there are 90.
    assert profile.repetitions == 90
    monkeypatch.setattr(type(FILE_LIMITS), "repetition_times", 100)
    (profile,) = read_profiles([str(table)], format=COLUMNS).profiles
    assert profile.repetitions == 30
    assert [sum(node.elapsed_ms) / 30 for node in profile.nodes] == pytest.approx([0.03, 0.0105, 0.009], abs=2e-4)


def test_a_table_s_columns_are_named_and_its_bad_rows_counted(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no column for parent, service, name, start, duration_us or end_us"):
        span_table("csv:trace=t,span=s")
    with pytest.raises(UsageError, match="unknown columns: colour"):
        span_table(f"{COLUMNS},colour=x")
    table = tmp_path / "spans.csv"
    table.write_text("t;s;p;service;name;from;to\n1;1;;a;x;2026-03-01T00:00:00Z;1772323201\n1;2;1;a;y;never;1\n")
    form = "csv:trace=t,span=s,parent=p,service=service,name=name,start=from,end_s=to"
    reading = read_profiles([str(table)], format=form)
    assert reading.profiles[0].nodes[0].elapsed_ms == (1_000,)
    assert dict(reading.unused) == {RecordFault.NUMBER: 1}
    with pytest.raises(DataError, match="has no column length") as told:
        read_profiles([str(table)], format=form.replace("end_s=to", "duration_ms=length"))
    assert "from, to" in str(told.value.next_step)


def paths(profile: Profile) -> dict[str, tuple[float, float]]:
    named: list[str] = []
    for node in profile.nodes:
        named.append(node.method if node.parent is None else f"{named[node.parent]};{node.method}")
    return {name: (node.elapsed_ms[0], node.self_ms[0]) for name, node in zip(named, profile.nodes, strict=True)}


def jaeger_span(span: str, parent: str, name: str, times: tuple[int, int], process: str) -> dict[str, object]:
    references = [{"refType": "CHILD_OF", "traceID": "t", "spanID": parent}] if parent else []
    return {
        "traceID": "t",
        "spanID": span,
        "operationName": name,
        "references": references,
        "startTime": times[0],
        "duration": times[1],
        "processID": process,
    }


def test_jaegers_traces_are_trees_of_services(tmp_path: Path) -> None:
    spans = [
        jaeger_span("a", "", "GET /order", (1_000_000, 10_000), "p1"),
        jaeger_span("b", "a", "find", (1_002_000, 5_000), "p2"),
        {"traceID": "t", "spanID": 3},
    ]
    processes = {"p1": {"serviceName": "shop"}, "p2": {"serviceName": "db"}}
    path = tmp_path / "traces.json"
    path.write_text(json.dumps({"data": [{"traceID": "t", "spans": spans, "processes": processes}], "total": 0}))
    read = read_profiles([str(path)])
    (profile,) = read.profiles
    assert profile.service == "shop: GET /order"
    assert paths(profile) == {"shop: GET /order": (10.0, 5.0), "shop: GET /order;db: find": (5.0, 5.0)}
    assert dict(read.unused) == {RecordFault.MALFORMED: 1}


def test_zipkins_shared_span_is_the_clients_and_the_servers(tmp_path: Path) -> None:
    def span(number: str, name: str, times: tuple[int, int], service: str, **more: object) -> dict[str, object]:
        one = {"traceId": "t", "id": number, "name": name, "timestamp": times[0], "duration": times[1]}
        return one | {"localEndpoint": {"serviceName": service}} | more

    spans = [
        span("1", "get /order", (1_000, 9_000), "shop", kind="SERVER"),
        span("2", "get /stock", (2_000, 6_000), "shop", parentId="1", kind="CLIENT"),
        span("2", "get /stock", (3_000, 4_000), "stock", parentId="1", kind="SERVER", shared=True),
        span("3", "select", (4_000, 1_000), "stock", parentId="2"),
    ]
    path = tmp_path / "zipkin.json"
    path.write_text(json.dumps([spans]))
    (profile,) = read_profiles([str(path)]).profiles
    assert profile.service == "shop: get /order"
    assert paths(profile) == {
        "shop: get /order": (9.0, 3.0),
        "shop: get /order;shop: get /stock": (6.0, 0.0),
        "shop: get /order;shop: get /stock;stock: (network)": (2.0, 2.0),
        "shop: get /order;shop: get /stock;stock: get /stock": (4.0, 3.0),
        "shop: get /order;shop: get /stock;stock: get /stock;stock: select": (1.0, 1.0),
    }
    # Leave out the client's half, and add an invalid span.
    path.write_text(json.dumps([spans[2:], [spans[0], {"id": 1}]]))
    read = read_profiles([str(path)])
    assert [paths(one) for one in read.profiles] == [
        {"shop: get /order": (9.0, 9.0)},
        {"stock: get /stock": (4.0, 3.0), "stock: get /stock;stock: select": (1.0, 1.0)},
    ]
    assert dict(read.unused) == {RecordFault.MALFORMED: 1, RecordFault.LOST_PARENT: 1}
