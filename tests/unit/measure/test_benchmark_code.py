"""A benchmark's version depends on its own function. Comments and other functions do not change it."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from perf_culprit.measure.benchmark_code import with_harness, with_versions
from perf_culprit.model.run import Benchmark, Run
from tests.support.git_repository import init_repository, run_git

PYTHON = """import pytest

SIZES = [1, 2]


@pytest.mark.parametrize(
    "size",
    SIZES,
)
def test_parse(
    benchmark, size
) -> None:
    text = "x" * size

    benchmark(parse, text)


def test_render(benchmark):
    benchmark(render)  # twice
"""
GO = """package parse

func BenchmarkParse(b *testing.B) {
	for i := 0; i < b.N; i++ {
		Parse("x")
	}
}

func BenchmarkRender(b *testing.B) {
	Render()
}
"""
CPP = """static void BM_Parse(benchmark::State& state)
{
  for (auto _ : state) parse();
}
BENCHMARK(BM_Parse);
"""
JAVA = """public class ParseBenchmark {
    @Setup
    public void setUp() { }

    @Benchmark
    @OutputTimeUnit(NANOSECONDS)
    public int parse() {
        return parser.parse();
    }

    @Benchmark
    public int render() {
        return 1;
    }
}
"""
NAMES = {
    "bench/test_parse.py": ("bench/test_parse.py::test_parse[2]", "bench/test_parse.py::test_render"),
    "parse/parse_test.go": ("BenchmarkParse/small", "BenchmarkRender"),
    "bench/parse.cc": ("BM_Parse/8", ""),
    "jmh/ParseBenchmark.java": ("org.example.ParseBenchmark.parse", "org.example.ParseBenchmark.render"),
}
TEXTS = {
    "bench/test_parse.py": PYTHON,
    "parse/parse_test.go": GO,
    "bench/parse.cc": CPP,
    "jmh/ParseBenchmark.java": JAVA,
}
CHANGES = [
    ("bench/test_parse.py", '"x" * size', '"x" * 2 * size', True),
    ("bench/test_parse.py", "    SIZES,", "    [3],", True),
    ("bench/test_parse.py", "    benchmark(parse, text)", "    # now faster\n\n    benchmark(parse, text)", False),
    ("bench/test_parse.py", "benchmark(render)  # twice", "benchmark(render, 2)", False),
    ("parse/parse_test.go", 'Parse("x")', 'Parse("xx")', True),
    ("parse/parse_test.go", "	Render()", "	Render(2)", False),
    ("parse/parse_test.go", '		Parse("x")', '		// see #12\n		Parse("x")', False),
    ("bench/parse.cc", "parse();", "parse(2);", True),
    ("jmh/ParseBenchmark.java", "NANOSECONDS", "SECONDS", True),
    ("jmh/ParseBenchmark.java", "parser.parse()", "parser.parse(2)", True),
    ("jmh/ParseBenchmark.java", "return 1;", "return 2;", False),
]


def commit_files(repository: Path, texts: Mapping[str, str]) -> str:
    for name, text in texts.items():
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_text(text)
    run_git(repository, "add", "--all")
    run_git(repository, "commit", "--quiet", "--message", "x")
    return run_git(repository, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = init_repository(tmp_path / "repository")
    commit_files(folder, TEXTS)
    return folder


def versions(repository: Path, commit: str, *names: str) -> list[str | None]:
    run = Run(benchmarks=tuple(Benchmark(name=name, samples=(1.0,)) for name in names if name))
    return [one.version for one in with_versions(run, repository, run_git(repository, "rev-parse", commit)).benchmarks]


@pytest.mark.parametrize(("file", "before", "after", "is_other"), CHANGES)
def test_only_its_own_code_makes_another_version(
    repository: Path, file: str, before: str, after: str, is_other: bool
) -> None:
    assert before in TEXTS[file]
    commit_files(repository, {file: TEXTS[file].replace(before, after)})
    name, beside = NAMES[file]
    (old, *others), (new, *same) = (
        versions(repository, "HEAD~1", name, beside),
        versions(repository, "HEAD", name, beside),
    )
    assert old is not None
    assert (old != new) is is_other
    if is_other:
        assert others == same


@pytest.mark.parametrize("name", ["parse", "fib/20", "bench/gone.py::test_parse", "BenchmarkGone", "a.B.c", "x" * 9000])
def test_what_is_not_there_has_no_version(repository: Path, name: str) -> None:
    assert versions(repository, "HEAD", name) == [None]


def test_what_the_tool_says_stays(repository: Path) -> None:
    run = Run(benchmarks=(Benchmark(name="BenchmarkParse", samples=(1.0,), version="asv's"),))
    assert with_versions(run, repository, "HEAD") == run


def test_the_head_s_benchmarks_on_the_base_s_code(repository: Path) -> None:
    """Take over only benchmark files, recognized by name or content: changed, renamed, new and deleted ones."""
    run_git(repository, "mv", "bench/parse.cc", "bench/other.cc")
    run_git(repository, "rm", "--quiet", "jmh/ParseBenchmark.java")
    files = {"src/parse.py": "faster = True\n", "bench/new.py": "", "parse/parse_test.go": GO.replace('"x"', '"y"')}
    beside = {"parse/other_test.go": "package parse\n", "test_unit.py": "def test_it(): ...\n"}
    base = run_git(repository, "rev-parse", "HEAD")
    head = commit_files(repository, {**files, **beside})

    def is_harness(path: str) -> bool:
        return path.startswith(("bench/", "jmh/"))

    made, count = with_harness(repository, base, head, is_harness=is_harness)
    changed = run_git(repository, "diff", "--name-status", "--no-renames", base, made).split("\n")
    assert [line.split("\t") for line in changed] == [
        ["A", "bench/new.py"],
        ["A", "bench/other.cc"],
        ["D", "bench/parse.cc"],
        ["D", "jmh/ParseBenchmark.java"],
        ["M", "parse/parse_test.go"],
    ]
    assert count == 4
    assert with_harness(repository, base, head, is_harness=is_harness) == (made, 4)
    assert run_git(repository, "rev-parse", f"{made}^") == base
    assert run_git(repository, "status", "--porcelain") == ""


def test_without_a_changed_benchmark_the_base_is_measured_as_it_is(repository: Path) -> None:
    base = run_git(repository, "rev-parse", "HEAD")
    head = commit_files(repository, {"src/parse.py": "faster = True\n"})
    assert with_harness(repository, base, head, is_harness=lambda _: False) == (base, 0)
