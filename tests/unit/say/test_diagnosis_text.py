"""A diagnosis in words and as JSON: the whole text, and the text if there is little to report."""

import json
from pathlib import Path

from msgspec.structs import replace

from perf_culprit.model.call_tree import (
    CallNode,
    CallTree,
    Diagnosis,
    ImpactedService,
    LineFault,
    LogReading,
    MethodSuspect,
    ServiceStatistics,
    SlowCall,
    UnusedLine,
    Window,
    encode_diagnosis,
)
from perf_culprit.say.diagnosis_text import diagnosis_page, diagnosis_text

GOLDEN = Path(__file__).parents[2] / "golden" / "diagnosis"


def impact(service: str, self_share: float, children_share: float = 0) -> ImpactedService:
    return ImpactedService(
        service=service, self_share=self_share, children_share=children_share, self_ms_per_call=300 * self_share
    )


def suspect(method: str, score: float, *services: ImpactedService, tiny: bool = False) -> MethodSuspect:
    return MethodSuspect(
        method=method,
        score=score,
        self_ms=score * 1e6,
        calls=1_000,
        self_ms_per_execution=score * 1e3,
        longest_ms=310,
        tiny=tiny,
        services=services,
    )


def windows(*calls: int) -> tuple[Window, ...]:
    return tuple(
        Window(start_s=60.0 * i, width_s=60.0, calls=number, calls_per_s=number / 60, mean_ms=200, longest_ms=310)
        for i, number in enumerate(calls)
    )


def node(method: str, parent: int | None, elapsed_ms: float, self_ms: float) -> CallNode:
    return CallNode(method=method, parent=parent, calls=3, elapsed_ms=elapsed_ms, self_ms=self_ms, longest_ms=310)


TREE = CallTree(
    service="placeOrder",
    calls=1_242,
    variants=3,
    nodes=(
        node("Shop.order", None, 1_000, 100),
        node("Pool.connect", 0, 200, 150),
        node("Ping.pong", 1, 50, 50),
        node("OrderDao.find", 0, 700, 700),
        node("Log.debug", 0, 0.9, 0.9),
    ),
)

DIAGNOSIS = Diagnosis(
    suspects=(
        suspect("OrderDao.find", 0.52, impact("placeOrder", 0.7), impact("listOrders", 0.4, 0.25)),
        suspect("Pool.connect", 0.11, impact("placeOrder", 0.12, 1 / 30)),
        suspect("Ping.pong", 0.9, impact("ping", 0.9), tiny=True),
    ),
    services=(
        ServiceStatistics(
            service="placeOrder",
            calls=1_240,
            min_ms=12.5,
            max_ms=3_100,
            mean_ms=212,
            standard_deviation_ms=88.25,
            slowest=(SlowCall(call="c81f02", elapsed_ms=3_100, time_s=75.0),),
            windows=windows(10, 600, 660, 3),
            all_calls=1_242,
            variants=3,
        ),
        ServiceStatistics(
            service="listOrders",
            calls=1,
            min_ms=0.5,
            max_ms=0.5,
            mean_ms=0.5,
            standard_deviation_ms=0,
            slowest=(SlowCall(call="c1", elapsed_ms=0.5, time_s=None),),
            windows=(),
            all_calls=1,
            variants=3,
        ),
    ),
    reading=LogReading(
        lines=54_012,
        executions=54_000,
        unused={LineFault.NO_MATCH: 11, LineFault.ELAPSED: 1},
        examples=(
            UnusedLine(fault=LineFault.NO_MATCH, line=1_204, text="java.lang.IllegalStateException: closed"),
            UnusedLine(fault=LineFault.ELAPSED, line=None, text="placeOrder c9 1.1 OrderDao.find -3"),
        ),
        headless_calls=2,
        cut_calls=1,
        truncated_files=("server.log.gz",),
    ),
    fluctuation_weight=1,
    minimum_self_ms=2.12,
    trees=(TREE.shown,),
)


def test_whole_text() -> None:
    assert diagnosis_text(DIAGNOSIS) == (GOLDEN / "diagnosis.txt").read_text(encoding="utf-8")


def test_whole_json() -> None:
    assert json.loads(encode_diagnosis(DIAGNOSIS)) == json.loads((GOLDEN / "diagnosis.json").read_bytes())


def test_a_clean_log_has_no_word_about_unused_lines() -> None:
    clean = replace(DIAGNOSIS.reading, unused={}, examples=(), headless_calls=0, cut_calls=0, truncated_files=())
    assert "Not used" not in diagnosis_text(replace(DIAGNOSIS, reading=clean))


def test_where_everything_is_tiny_the_first_are_shown_and_marked() -> None:
    text = diagnosis_text(replace(DIAGNOSIS, suspects=DIAGNOSIS.suspects[2:]))
    assert "Ping.pong (tiny)" in text
    assert "more method" not in text


def asked_for(method: str) -> Diagnosis:
    return replace(DIAGNOSIS, method=replace(DIAGNOSIS.services[0], service=method))


def test_z15_figure_4_a_methods_services_are_bars_on_terminal_and_page() -> None:
    text = diagnosis_text(asked_for("Ping.pong")).partition("Services that execute Ping.pong:")[2]
    bar, *_ = [line for line in text.splitlines() if "ping" in line]
    assert bar.split()[:4] == ["•", "ping", 27 * "█" + 3 * "·", "90%"]
    assert "Services that execute" in diagnosis_page(asked_for("Ping.pong"))
    assert "Services that execute" not in diagnosis_text(DIAGNOSIS)


def test_services_to_test_again_are_those_of_all_listed_suspects_the_largest_share_first() -> None:
    small = [suspect(f"Small.{number}", 0.5, impact("others", 0.1)) for number in range(5)]
    text = diagnosis_text(replace(DIAGNOSIS, suspects=(*small, suspect("Dao.find", 0.2, impact("svcA", 0.7)))))
    assert text.partition("Services to test again:")[2].splitlines()[2].split()[1] == "svcA"
    services = tuple(impact(f"service {number}", 0.1) for number in range(43))
    many = diagnosis_text(replace(DIAGNOSIS, suspects=(suspect("Dao.find", 0.2, *services),)))
    assert "and 3 more" in many.partition("Services to test again:")[2].partition("Services:")[0]


def test_the_page_has_every_call_tree_and_the_text_says_how_many_more() -> None:
    six = replace(DIAGNOSIS, trees=tuple(replace(TREE, service=f"service{number}") for number in range(6)))
    assert all(f"Call tree of <code>service{number}</code>" in diagnosis_page(six) for number in range(6))
    assert "and 1 more call tree" in diagnosis_text(six)


def test_top_limits_the_suspects() -> None:
    text = diagnosis_text(DIAGNOSIS, top=1)
    assert "Pool.connect" not in text
    assert "and 2 more methods, 1 of them below 2.12 ms" in text


def test_shares_above_all_fit_the_bar() -> None:
    beside = suspect("Async.run", 0.9, impact("placeOrder", 1.7, 2.0))
    bar = next(row for row in diagnosis_text(replace(DIAGNOSIS, suspects=(beside,))).splitlines() if "170%" in row)
    assert bar.count("█") == 30
    assert "░" not in bar


def test_a_tree_has_callers_above_the_callees_that_take_most_and_no_path_of_a_thousandth() -> None:
    shown = TREE.shown.nodes
    assert [one.method for one in shown] == ["Shop.order", "OrderDao.find", "Pool.connect", "Ping.pong"]
    assert [one.parent for one in shown] == [None, 0, 0, 2]
    lines = [line[:20].rstrip() for line in diagnosis_text(DIAGNOSIS).splitlines()]
    first = lines.index("Call tree of placeOrder, 1,242 calls merged:"[:20])
    assert [line[2:] for line in lines[first + 2 : first + 6]] == [
        "Shop.order",
        "  OrderDao.find",
        "  Pool.connect",
        "    Ping.pong",
    ]


def test_top_cuts_a_tree_and_says_so() -> None:
    assert "and 3 more: see the JSON" in diagnosis_text(DIAGNOSIS, top=1).partition("Call tree of")[2]


def test_the_page_draws_series_and_tree_and_no_name_is_markup() -> None:
    hostile = replace(TREE, service="<b>x</b>", nodes=(node("<img src=x>", None, 10, 10),))
    page = diagnosis_page(replace(DIAGNOSIS, trees=(TREE.shown, hostile.shown)))
    assert page.count("placeOrder: time (ms)</title>") == 1
    assert '"Pool.connect"' in page.partition('class="flame-data"')[2]
    assert "Differential" not in page
    assert "<img" not in page
    assert "<b>x" not in page


def test_many_services_are_cut_in_text_only() -> None:
    many = tuple(replace(DIAGNOSIS.services[0], service=f"s{i}") for i in range(25))
    diagnosis = replace(DIAGNOSIS, services=many)
    assert "and 5 more: see the JSON" in diagnosis_text(diagnosis)
    assert len(json.loads(encode_diagnosis(diagnosis))["services"]) == 25
