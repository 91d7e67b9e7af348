from collections.abc import Sequence

from perf_culprit.explain.tracer.call_paths import OUTSIDE, TracedMethod, Tree
from perf_culprit.explain.tracer.trace_levels import Times, measure_levels, split_passes


def tree_of(*paths: str) -> Tree:
    tree = Tree()
    for path in paths:
        node = OUTSIDE
        for name in path.split("/"):
            node = tree.enter(node, TracedMethod(name.removesuffix("()"), is_c=name.endswith("()")))
        tree.nodes[node].calls += 1
    return tree


def names(tree: Tree, passes: Sequence[Sequence[int]]) -> list[list[str]]:
    return [[tree.nodes[index].method.name for index in members] for members in passes]


def level(tree: Tree, depth: int) -> list[int]:
    depths: list[int] = []
    for node in tree.nodes:
        depths.append(0 if node.parent == OUTSIDE else depths[node.parent] + 1)
    return [index for index, entry in enumerate(depths) if entry == depth]


def timed_by(tree: Tree, ms: dict[str, float], passes: list[list[str]]) -> list[str]:
    def time_pass(selected: Sequence[int]) -> list[Times]:
        passes.append([tree.nodes[index].method.name for index in selected])
        return [{index: ms[tree.nodes[index].method.name] * 1e6 for index in selected}] * 2

    return [node.method.name for node in measure_levels(tree, time_pass)]


def test_a_level_without_conflicts_is_one_pass() -> None:
    tree = tree_of("main/a/x", "main/b/y")
    assert names(tree, split_passes(tree, level(tree, 1))) == [["a", "b"]]


def test_what_a_timed_method_calls_is_timed_in_another_pass() -> None:
    tree = tree_of("main/helper", "main/parse/deep/helper", "main/other")
    assert names(tree, split_passes(tree, level(tree, 1))) == [["helper", "other"], ["parse"]]


def test_one_method_on_two_paths_of_a_level_is_one_pass() -> None:
    tree = tree_of("main/a/helper", "main/b/helper")
    assert names(tree, split_passes(tree, level(tree, 2))) == [["helper", "helper"]]


def test_the_hook_of_a_c_function_is_its_callers() -> None:
    tree = tree_of("main/len()", "main/a/main", "main/b")
    assert names(tree, split_passes(tree, level(tree, 1))) == [["len", "b"], ["a"]]


def test_what_comes_back_to_its_caller_runs_all_of_it() -> None:
    tree = tree_of("main/a/main", "main/b")
    assert names(tree, split_passes(tree, level(tree, 1))) == [["a"], ["b"]]


def test_recursion_is_folded_and_remembered_in_json() -> None:
    tree = tree_of("main/ping/pong/ping/pong/ping")
    assert [node.method.name for node in tree.nodes] == ["main", "ping", "pong"]
    again = Tree.of_rows(tree.rows())
    assert again.rows() == tree.rows()
    assert again.enter(2, TracedMethod("ping")) == 1


def test_two_processes_are_one_tree() -> None:
    tree = tree_of("main/a", "main/b/main")
    tree.add(tree_of("main/a", "main/c", "other/a"))
    assert [(node.method.name, node.calls) for node in tree.nodes] == [
        ("main", 1),
        ("a", 2),
        ("b", 0),
        ("c", 1),
        ("other", 0),
        ("a", 1),
    ]


def test_only_paths_that_matter_are_descended() -> None:
    tree = tree_of("main/hot/inner", "main/cold/unseen")
    passes: list[list[str]] = []
    ms = {"main": 100.0, "hot": 99.5, "cold": 0.5, "inner": 50.0}
    assert timed_by(tree, ms, passes) == ["main", "hot", "inner", "cold"]
    assert passes == [["main"], ["hot", "cold"], ["inner"]]


def test_a_followed_path_is_descended_however_cold() -> None:
    tree = tree_of("main/cold/inner")

    def time_pass(selected: Sequence[int]) -> list[Times]:
        return [dict.fromkeys(selected, 1e6) if 0 in selected else dict.fromkeys(selected, 1e3)]

    assert len(measure_levels(tree, time_pass)) == 2
    assert len(measure_levels(tree, time_pass, follow={("main", "cold")})) == 3


def test_own_time_is_what_callees_leave_and_never_negative() -> None:
    tree = tree_of("main/a", "main/b")
    rows: list[Times] = [{0: 10e6, 1: 4e6, 2: 3e6}, {0: 10e6, 1: 8e6, 2: 3e6}]

    def time_pass(selected: Sequence[int]) -> list[Times]:
        return [{index: row[index] for index in selected} for row in rows]

    main = measure_levels(tree, time_pass)[0]
    assert main.elapsed_ms == (10.0, 10.0)
    assert main.self_ms == (3.0, 0.0)


def test_what_no_repetition_saw_is_left_out_with_all_below() -> None:
    tree = tree_of("main/gone/below", "main/seen")

    def time_pass(selected: Sequence[int]) -> list[Times]:
        return [{index: 1e6 for index in selected if tree.nodes[index].method.name != "gone"}]

    assert [node.method.name for node in measure_levels(tree, time_pass)] == ["main", "seen"]


def test_two_lambdas_of_one_function_are_numbered() -> None:
    tree = Tree()
    for line in (9, 5):
        tree.enter(OUTSIDE, TracedMethod("f.<lambda>", "f.py", line))

    def time_pass(selected: Sequence[int]) -> list[Times]:
        return [dict.fromkeys(selected, 1e6)]

    nodes = measure_levels(tree, time_pass)
    assert [(node.method.name, node.method.line) for node in nodes] == [("f.<lambda>#2", 9), ("f.<lambda>", 5)]
