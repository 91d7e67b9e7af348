"""METHODS 6.4 and 6.7: scores, order, and the services that a method affects."""

import math

import pytest

from perf_culprit.explain.ranking import distance_score, rank_suspects
from perf_culprit.model.call_tree import CallNode, CallTree
from perf_culprit.read.logs.reading_settings import RankingSettings


def node(method: str, parent: int | None, elapsed_ms: float, self_ms: float) -> CallNode:
    return CallNode(
        method=method, parent=parent, calls=1, elapsed_ms=elapsed_ms, self_ms=self_ms, longest_ms=elapsed_ms
    )


def tree(service: str, *nodes: CallNode, calls: int = 1) -> CallTree:
    return CallTree(service=service, calls=calls, variants=1, nodes=nodes)


def test_methods_6_4_equal_distance_is_told_apart_by_rms() -> None:
    few, many = [0.9] * 3, [0.3] * 27
    assert math.hypot(*few) == pytest.approx(1.559, abs=5e-4)
    assert math.hypot(*many) == pytest.approx(1.559, abs=5e-4)
    assert distance_score(few) == pytest.approx(0.9)
    assert distance_score(many) == pytest.approx(0.3)


def test_methods_6_4_fluctuation_lowers_the_score() -> None:
    uneven, even = (0.9, 0.1), (0.64031, 0.64031)
    assert distance_score(uneven, fluctuation_weight=0) == pytest.approx(0.64031, abs=5e-6)
    assert distance_score(even, fluctuation_weight=0) == pytest.approx(0.64031, abs=5e-6)
    assert distance_score(uneven) == pytest.approx(0.2403, abs=5e-5)
    assert distance_score(even) == pytest.approx(0.6403, abs=5e-5)


def test_methods_6_7_methods_are_indexed_by_service_with_their_shares() -> None:
    suspects = rank_suspects(
        [
            tree("shop", node("order", None, 100, 10), node("find", 0, 90, 90)),
            tree("stock", node("count", None, 50, 40), node("find", 0, 10, 10), calls=2),
        ],
        RankingSettings(),
    )
    find = next(suspect for suspect in suspects if suspect.method == "find")
    assert [(impact.service, impact.self_share, impact.children_share) for impact in find.services] == [
        ("shop", 0.9, 0.0),
        ("stock", 0.2, 0.0),
    ]
    assert find.services[1].self_ms_per_call == 5
    assert (find.self_ms, find.calls) == (100, 2)
    assert find.score == pytest.approx(distance_score((0.9, 0.2)))
    order = next(suspect for suspect in suspects if suspect.method == "order")
    assert order.services[0].children_share == pytest.approx(0.9)


def test_recursion_counts_children_once() -> None:
    nodes = (node("walk", None, 100, 10), node("walk", 0, 90, 20), node("read", 1, 70, 70))
    walk = next(suspect for suspect in rank_suspects([tree("shop", *nodes)], RankingSettings()) if suspect.calls == 2)
    assert walk.services[0].self_share == pytest.approx(0.3)
    assert walk.services[0].children_share == pytest.approx(0.7)


def test_a_cycle_of_calls_counts_each_method_once() -> None:
    nodes = (node("a", None, 100, 10), node("b", 0, 90, 30), node("a", 1, 60, 20), node("b", 2, 40, 40))
    shares = {
        suspect.method: (suspect.services[0].self_share, suspect.services[0].children_share)
        for suspect in rank_suspects([tree("shop", *nodes)], RankingSettings())
    }
    assert shares["a"] == pytest.approx((0.3, 0.7))
    assert shares["b"] == pytest.approx((0.7, 0.2))


def test_10_000_levels_are_ranked() -> None:
    nodes = [node("m", i - 1 if i else None, 10_000 - i, 1) for i in range(10_000)]
    (suspect,) = rank_suspects([tree("shop", *nodes)], RankingSettings())
    assert suspect.services[0].self_share == pytest.approx(1)
    assert suspect.services[0].children_share == 0


def test_tiny_methods_come_last_and_are_marked() -> None:
    """The false positives of [Z15] 4.1.1: a large share of a service that is quick anyway."""
    quick = tree("ping", node("pong", None, 1, 1))
    slow = tree("report", node("run", None, 1000, 300), node("render", 0, 700, 700))
    suspects = rank_suspects([quick, slow], RankingSettings())
    assert [(suspect.method, suspect.tiny) for suspect in suspects] == [
        ("render", False),
        ("run", False),
        ("pong", True),
    ]
    assert suspects[2].score == 1
    unfiltered = rank_suspects([quick, slow], RankingSettings(minimum_self_ms=0))
    assert [suspect.method for suspect in unfiltered] == ["pong", "render", "run"]


def test_no_time_at_all_is_no_division_by_zero() -> None:
    (suspect,) = rank_suspects([tree("shop", node("order", None, 0, 0))], RankingSettings())
    assert suspect.score == 0
