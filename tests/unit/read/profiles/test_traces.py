"""Traces are calls: OpenTelemetry's SDK wrote 40 of two request types, of three services, in every form."""

from pathlib import Path

import pytest

from perf_culprit.errors import DataError, UsageError
from perf_culprit.explain.compare_trees import compare_profiles
from perf_culprit.model.call_tree import RecordFault
from perf_culprit.model.report import Answer
from perf_culprit.read.profiles.profile_reading import read_profiles
from perf_culprit.read.profiles.span_formats import span_table

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
    # One side against itself, first half against second, says nothing is slower.
    half = read_profiles([str(FOLDER / "otel-after.pb")] * 2).profiles
    assert not compare_profiles(half, half).suspects


def test_a_slow_network_is_named_by_the_service_behind_it(tmp_path: Path) -> None:
    """Two services call a third; its own time is what it was, and so is everybody's own work."""

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
    assert node.elapsed_ms[-1] == 10  # the last call is alone


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
