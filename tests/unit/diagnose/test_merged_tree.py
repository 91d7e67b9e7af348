"""METHODS 6.3: trees of a service merged into one with all branches."""

import pytest

from bot.diagnose import merged_tree
from bot.errors import DataError
from tests.support.execution_logs import call, log, part_of, paths, trees_of


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


def test_names_that_never_repeat_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merged_tree, "MAX_NODES", 50)
    data = log(execution for i in range(60) for execution in call(f"c{i}", [("1", f"order{i}", 1.0)]))
    with pytest.raises(DataError, match="more than 50 different paths of methods"):
        trees_of(part_of(data))
    several = log(
        execution for i in range(60) for execution in call("c", [("1", f"order{i}", 1.0)], service=f"s{i % 3}")
    )
    with pytest.raises(DataError, match="more than 50 different paths of methods"):
        trees_of(part_of(several))
