"""Call graphs as trees of paths: the callers that the time of a cycle is assigned to."""

from perf_culprit.read.profiles.call_graph import CallGraph, unfold
from perf_culprit.read.profiles.profile_tree import Frame


def test_a_cheap_call_into_a_circle_does_not_become_its_way_in() -> None:
    graph = CallGraph()
    costs = {"main": 1.0, "import": 1.0, "render": 10.0, "join": 20.0, "tokens": 70.0}
    number = {name: graph.new(Frame(name)) for name in costs}
    graph.self_cost = [*costs.values()]
    # `import` comes first and calls `join` cheaply. `render` calls `join`, which calls `tokens`, which calls `render`.
    for caller, callee, inclusive in (
        ("main", "import", 1.1),
        ("import", "join", 0.1),
        ("main", "render", 99.9),
        ("render", "join", 89.9),
        ("join", "tokens", 70.0),
        ("tokens", "render", 5.0),
    ):
        graph.call(number[caller], number[callee], calls=1, inclusive=inclusive)
    profile = unfold(graph, note=lambda _: None).profile("service", scale=1.0)
    elapsed: dict[tuple[str, str], float] = {}
    for node in profile.nodes:
        caller = "" if node.parent is None else profile.nodes[node.parent].method
        elapsed[caller, node.method] = node.elapsed_ms[0]
    assert elapsed["main", "render"] > 99
    assert elapsed["import", "join"] < 0.2
    assert elapsed["join", "tokens"] > 0
