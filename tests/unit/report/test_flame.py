"""Flame graphs of the difference: deep trees, gone paths, hostile names."""

import json

from bot.diagnose.comparison import compare_profiles
from bot.report.flame import collapsed_difference, flame_graph
from tests.support.compared_trees import sampled


def test_a_deep_tree_is_written_without_recursion() -> None:
    path, counts = "a", {"a": 1}
    for _ in range(3_000):
        path += ">a"
        counts[path] = 1
    data = flame_graph(compare_profiles([sampled(counts)], [sampled(counts)]))
    assert data.count(b'"name": "a"') == 3_001
    assert data.count(b"[") == data.count(b"]") == 3_003


def test_gone_paths_have_no_value_and_names_stay_frames() -> None:
    result = compare_profiles([sampled({"m": 10, "m>old; \n1": 30})], [sampled({"m": 40, 'm>new"': 60})])
    children = json.loads(flame_graph(result))["children"][0]["children"][0]["children"]
    assert [(one["name"], one["value"], one["delta"]) for one in children] == [
        ('new"', 600_000, 600_000),
        ("old; \n1", 0, -750_000),
    ]
    assert collapsed_difference(result).decode().splitlines() == [
        "app;m 250000 400000",
        'app;m;new" 0 600000',
        "app;m;old_ _1 750000 0",
    ]
