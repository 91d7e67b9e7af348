"""METHODS 6.3: callers and callees, from labels, and trees of a service merged into one with all branches."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from perf_culprit.explain.ranking import call_trees, diagnose_log
from perf_culprit.model.call_tree import CallTree, Diagnosis
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.read.logs import merged_tree
from perf_culprit.read.logs.log_pattern import load_pattern
from perf_culprit.read.logs.log_reader import read_log
from perf_culprit.read.logs.merged_tree import MergedTree, Shape, Squares, Sums
from perf_culprit.read.logs.reading_settings import RankingSettings, ReadingSettings
from tests.support.execution_logs import call, log, part_of, paths, trees_of


def shape_of(labels: Sequence[bytes], methods: Sequence[bytes]) -> Shape:
    return merged_tree.shape_of(tuple(labels), tuple(methods))


def test_methods_6_2_the_parent_of_1_1_2_1_is_1_1_2() -> None:
    labels = [b"1", b"1.1", b"1.1.1", b"1.1.2", b"1.1.2.1", b"1.2", b"1.10"]
    one = shape_of(labels, [b"m"] * len(labels))
    assert one.parents == (-1, 0, 1, 1, 3, 0, 0)
    assert (one.tops, one.has_root) == ((0,), True)


def test_any_order_of_lines_gives_the_same_tree() -> None:
    one = shape_of([b"1.1.1", b"1.1", b"1"], [b"c", b"b", b"a"])
    assert one.parents == (1, 2, -1)
    assert one.digest == shape_of([b"1", b"1.1", b"1.1.1"], [b"a", b"b", b"c"]).digest
    assert one.digest != shape_of([b"1", b"1.1", b"1.1.1"], [b"a", b"b", b"d"]).digest
    assert one.digest != shape_of([b"1", b"1.1", b"1.2"], [b"a", b"b", b"c"]).digest


def test_parents_come_before_children() -> None:
    one = shape_of([b"1.1.1", b"2", b"1.1", b"1"], [b"m"] * 4)
    seen = {-1}
    for execution in one.order:
        assert one.parents[execution] in seen
        seen.add(execution)


def test_a_missing_parent_gives_its_children_to_the_nearest_ancestor() -> None:
    assert shape_of([b"1", b"1.2.3.4", b"1.2.3.4.1"], [b"m"] * 3).parents == (-1, 0, 1)


def test_without_root_there_are_tops_but_no_root() -> None:
    one = shape_of([b"1.1", b"1.2", b"1.2.1"], [b"m"] * 3)
    assert (one.tops, one.has_root) == ((0, 1), False)


def test_several_roots_are_a_whole_call() -> None:
    one = shape_of([b"1", b"2", b"2.1"], [b"m"] * 3)
    assert (one.tops, one.has_root) == ((0, 1), True)


def test_components_may_be_words() -> None:
    labels = [b"main", b"main.b", b"main.a-1", b"main.a", b"main.a.x"]
    assert shape_of(labels, [b"m"] * 5).parents == (-1, 0, 0, 0, 3)


def test_methods_6_3_same_trees_are_counted_and_other_branches_added() -> None:
    data = log(
        [
            *call("c1", [("1", "order", 10), ("1.1", "find", 4), ("1.2", "save", 5)]),
            *call("c2", [("1", "order", 20), ("1.1", "find", 6), ("1.2", "save", 5)]),
            *call("c3", [("1", "order", 30), ("1.1", "find", 7), ("1.1.1", "read", 6)]),
        ]
    )
    tree = trees_of(part_of(data))["shop"]
    assert (tree.calls, tree.variants) == (3, 2)
    assert paths(tree) == {
        "order": (3, 60, 33),
        "order > find": (3, 17, 11),
        "order > save": (2, 10, 10),
        "order > find > read": (1, 6, 6),
    }
    assert tree.total_ms == 60


def test_a_loop_is_one_node_with_its_count() -> None:
    rows = [("1", "order", 10.0), *((f"1.{i}", "find", 2.0) for i in range(1, 5))]
    tree = trees_of(part_of(log(call("c1", rows))))["shop"]
    assert paths(tree) == {"order": (1, 10, 2), "order > find": (4, 8, 8)}


def test_children_side_by_side_leave_no_negative_self_time() -> None:
    data = log(call("c1", [("1", "order", 10), ("1.1", "a", 9), ("1.2", "b", 9)]))
    assert paths(trees_of(part_of(data))["shop"])["order"] == (1, 10, 0)


def test_rare_paths_are_given_up_and_their_methods_still_count(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    calls = [[("1", "order", 10.0), ("1.1", "find", 6.0), ("1.1.1", f"select{i}", 2.0)] for i in range(60)]
    calls += [[("1", f"rare{i}", 1.0), ("1.1", "find", 0.5)] for i in range(60)]
    services = [f"s{i % 2}" for i in range(len(calls))]
    data = log(
        execution
        for i, (rows, service) in enumerate(zip(calls, services, strict=True))
        for execution in call(f"c{i}", rows, service=service)
    )
    file = tmp_path / "server.log"
    file.write_bytes(data)

    reading, pattern = ReadingSettings(), load_pattern("labelled")

    def diagnosed() -> tuple[Diagnosis, tuple[CallTree, ...]]:
        trees = call_trees(read_log([str(file)], pattern=pattern, settings=reading))
        return diagnose_log([str(file)], pattern=pattern, reading=reading, ranking=RankingSettings()), trees

    whole, whole_trees = diagnosed()
    monkeypatch.setattr(type(FILE_LIMITS), "log_nodes", 40)
    pruned, pruned_trees = diagnosed()
    assert (whole.reading.rare_paths, pruned.reading.rare_paths > 100) == (0, True)
    for before, after in zip(whole_trees, pruned_trees, strict=True):
        assert after.total_ms == pytest.approx(before.total_ms)
        assert sum(node.self_ms for node in after.nodes) == pytest.approx(sum(node.self_ms for node in before.nodes))
        nodes = {node.method: node for node in after.nodes if node.parent is None}
        assert (nodes["order"].calls, nodes["order"].elapsed_ms, nodes["order"].self_ms) == (30, 300, 120)
    before_own, own = (
        {one.method: (one.calls, round(one.self_ms, 6)) for one in side.suspects if one.method != "(rare paths)"}
        for side in (whole, pruned)
    )
    assert own == before_own


def test_methods_without_end_are_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(FILE_LIMITS), "log_nodes", 10)
    monkeypatch.setattr(type(FILE_LIMITS), "rare_methods", 10)
    data = log(execution for i in range(90) for execution in call(f"c{i}", [("1", f"order{i}", 1.0)]))
    tree = trees_of(part_of(data))["shop"]
    assert sum(node.elapsed_ms for node in tree.nodes if node.parent is None) == pytest.approx(90)
    assert len(tree.nodes) < 30


def test_a_recursion_counts_once_among_a_methods_sums() -> None:
    labels, methods = [b"1", b"1.1", b"1.1.1", b"1.1.1.1"], [b"walk", b"find", b"walk", b"find"]
    squares = Squares()
    tree = MergedTree(squares=squares)
    tree.add(shape_of(labels, methods), methods, np.array([[10.0, 7.0, 4.0, 1.0]]))
    assert squares.of_methods() == {
        b"walk": Sums(ran=1, elapsed_ms=10, elapsed=100, own_ms=6, own=36),
        b"find": Sums(ran=1, elapsed_ms=7, elapsed=49, own_ms=4, own=16),
    }
