"""Which benchmark tool a repository uses, and the commands that measure one commit with it."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MOST_FILES: Final = 5_000
MAXIMUM_BYTES: Final = 1 << 20
SKIPPED: Final = frozenset({".git", ".venv", "node_modules", "target", "vendor", "build", "dist"})
BENCH_FOLDERS: Final = ("bench", "benches", "benchmarks", "tests/bench", "tests/benchmarks")


@dataclass(frozen=True, kw_only=True, slots=True)
class Suggestion:
    """`setup` prepares the machine once; `run` measures one commit, in its own checkout."""

    tool: str
    setup: str
    run: str

    @property
    def program(self) -> str:
        return next(word for word in self.run.split() if "=" not in word)


@dataclass(frozen=True, kw_only=True, slots=True)
class Repository:
    root: Path
    files: tuple[str, ...]

    def has(self, pattern: str) -> bool:
        return any(re.search(pattern, name) for name in self.files)

    def says(self, names: str, text: str) -> bool:
        """Whether a file whose path matches `names` holds `text`, both regular expressions."""
        return any(re.search(text, self.read(name)) for name in self.files if re.search(names, name))

    def read(self, name: str) -> str:
        try:
            with (self.root / name).open("rb") as file:
                return file.read(MAXIMUM_BYTES).decode(errors="replace")
        except OSError:
            return ""

    @property
    def bench_folder(self) -> str | None:
        return next((folder for folder in BENCH_FOLDERS if (self.root / folder).is_dir()), None)


def look(root: Path) -> Repository:
    return Repository(root=root, files=tuple(name for name, _ in zip(_names(root), range(MOST_FILES), strict=False)))


def _names(root: Path) -> Iterator[str]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        yield from ((Path(folder) / name).relative_to(root).as_posix() for name in sorted(names))


def suggestions(repository: Repository) -> tuple[Suggestion, ...]:
    common = (
        Suggestion(tool=tool, setup=setup, run=run)
        for tool, files, text, setup, run in KNOWN
        if repository.says(files, text)
    )
    special = (_pytest_benchmark(repository), _benchmark_dot_net(repository))
    return (*filter(None, special), *common)


def _pytest_benchmark(repository: Repository) -> Suggestion | None:
    if not any(repository.says(names, text) for names, text in PYTEST_BENCHMARK):
        return None
    packaged = "." if repository.has(r"^(pyproject\.toml|setup\.py)$") else None
    required = "-r requirements.txt" if not packaged and repository.has(r"^requirements\.txt$") else None
    # The commit's own files come first: what was installed is the checked-out commit's, for both sides.
    path = "src" if (repository.root / "src").is_dir() else "."
    where = repository.bench_folder or "tests --benchmark-only"
    return Suggestion(
        tool="pytest-benchmark",
        setup=" ".join(filter(None, ("pip install", packaged, required, "pytest pytest-benchmark"))),
        run=f'PYTHONPATH={path} pytest {where} --benchmark-json="$PERF_CULPRIT_OUTPUT"',
    )


def _benchmark_dot_net(repository: Repository) -> Suggestion | None:
    if not repository.says(r"\.csproj$", "BenchmarkDotNet"):
        return None
    project = next(
        name for name in repository.files if name.endswith(".csproj") and "BenchmarkDotNet" in repository.read(name)
    )
    run = f"dotnet run -c Release --project '{project}' -- --filter '*' --exporters json"
    return Suggestion(
        tool="BenchmarkDotNet", setup="", run=f'{run} && cp -r BenchmarkDotNet.Artifacts/results "$PERF_CULPRIT_OUTPUT"'
    )


# It is a dependency, or a test asks for its fixture.
PYTEST_BENCHMARK: Final = (
    (r"(pyproject\.toml|setup\.(py|cfg)|tox\.ini|requirements[^/]*\.txt|Pipfile)$", "pytest.benchmark"),
    (r"(^|/)(test_|bench)[^/]*\.py$|_test\.py$", r"(?m)^ *(async )?def test_\w+\([^)]*\bbenchmark\b"),
)
# Tool, the path of a file that shows it and what is in there (regular expressions), setup, run.
KNOWN: Final = (
    (
        "Criterion",
        r"Cargo\.toml$",
        r"(?m)^criterion\b",
        "",
        'cargo bench && cp -r target/criterion "$PERF_CULPRIT_OUTPUT"',
    ),
    ("cargo bench", r"\.rs$", r"#\[bench\]", "rustup default nightly", "cargo bench"),
    ("go test", r"_test\.go$", r"func Benchmark\w*\(", "", "go test -run '^$' -bench . -benchmem ./..."),
    (
        "JMH (Maven)",
        r"pom\.xml$",
        "jmh",
        "",
        'mvn --quiet package && java -jar target/benchmarks.jar -rf json -rff "$PERF_CULPRIT_OUTPUT"',
    ),
    (
        "JMH (Gradle, resultFormat JSON)",
        r"build\.gradle(\.kts)?$",
        "jmh",
        "",
        './gradlew jmh && cp build/results/jmh/results.json "$PERF_CULPRIT_OUTPUT"',
    ),
    (
        "Google Benchmark",
        r"(CMakeLists\.txt|\.cmake)$",
        r"benchmark::benchmark|find_package\(benchmark",
        "",
        (
            "cmake -S . -B build -DCMAKE_BUILD_TYPE=Release && cmake --build build --parallel && "
            './build/benchmarks --benchmark_out="$PERF_CULPRIT_OUTPUT" --benchmark_repetitions=5'
        ),
    ),
    (
        "asv",
        r"asv\.conf\.jsonc?$",
        "",
        "pip install asv && asv machine --yes",
        'asv run --python=same --set-commit-hash "$PERF_CULPRIT_COMMIT" && cp -r .asv/results "$PERF_CULPRIT_OUTPUT"',
    ),
    ("benchmark.js", r"package\.json$", r'"benchmark"\s*:\s*"[\^~]?\d', "", "npm ci --silent && node bench.js"),
    (
        "hyperfine",
        r"(Makefile|\.sh|\.ya?ml|justfile|README\.md)$",
        r"\bhyperfine\b",
        "sudo apt-get update && sudo apt-get install --yes hyperfine",
        "hyperfine --export-json \"$PERF_CULPRIT_OUTPUT\" './your-program'",
    ),
)
