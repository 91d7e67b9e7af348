"""The index has the methods that each benchmark runs, and a pull request counts the benchmarks of a method."""

import pytest
from msgspec.structs import replace

from perf_culprit.flows.benchmark_index import below_benchmarks, bounded, runs_file
from perf_culprit.model.call_tree import Profile, ProfileNode
from perf_culprit.model.file_limits import FILE_LIMITS


def node(method: str, parent: int | None = None) -> ProfileNode:
    return ProfileNode(method=method, parent=parent, elapsed_ms=(1.0,), self_ms=(1.0,))


NODES = (
    node("testing.(*B).runN"),
    node("example.org/textkit.BenchmarkCount", 0),
    node("example.org/textkit.Tokenize", 1),
    node("Count(benchmark::State&)"),
    node("org.example.Bench.parse", 3),
    node("org.example.Bench.parse"),
    node("lex", 5),
)
PROFILE = Profile(service="profile", repetitions=1, nodes=NODES)


def test_methods_belong_to_the_benchmark_at_the_root_of_their_path() -> None:
    names = ["BenchmarkCount/size=8", "Count/8/1", "org.example.Bench.parse", "sum of all"]
    index = below_benchmarks([PROFILE, replace(PROFILE, nodes=NODES[:3])], names)
    assert {name: set(methods) for name, methods in index.items()} == {
        "BenchmarkCount/size=8": {"example.org/textkit.BenchmarkCount", "example.org/textkit.Tokenize"},
        "Count/8/1": {"Count(benchmark::State&)", "org.example.Bench.parse"},
        "org.example.Bench.parse": {"org.example.Bench.parse", "lex"},
    }


def test_an_index_is_bounded() -> None:
    large = {f"benchmark {number}": ("x" * 201, *(f"m{one}" for one in range(300))) for number in range(600)}
    index = bounded(large)
    assert len(index) <= FILE_LIMITS.index_benchmarks
    assert all(len(methods) == FILE_LIMITS.index_methods for methods in index.values())
    assert sum(len(name) + sum(map(len, methods)) for name, methods in index.items()) <= 200_000


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("textkit.words.fold", "src/textkit/words.py"),
        ("textkit.Words.fold", "textkit.py"),
        ("textkit.words.fold", "src/textkit/__init__.py"),
        ("words.go:example.org/textkit.Fold", "textkit/words.go"),
        ("words.js:fold", "lib/words.js"),
    ],
)
def test_a_benchmark_runs_the_file_of_its_methods(method: str, path: str) -> None:
    index = {"other": ("main",), "count": ("main", method)}
    assert runs_file(index, [path]) == ("count", method, path)
    assert runs_file(index, ["src/textkit/numbers.py", "textkit/numbers.go", "README.md"]) is None
