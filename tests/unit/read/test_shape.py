"""Who called whom, from labels."""

from collections.abc import Sequence

from perf_culprit.read.logs import merged_tree
from perf_culprit.read.logs.merged_tree import Shape


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
