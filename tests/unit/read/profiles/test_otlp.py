import json
from pathlib import Path
from typing import Any

from perf_culprit.model.call_tree import RecordFault
from perf_culprit.read.profiles.profile_reading import read_profiles


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
