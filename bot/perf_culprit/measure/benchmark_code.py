"""Versions of benchmarks from their functions at a commit, like asv's, and the files that contain benchmarks."""

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import takewhile
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from perf_culprit import git
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.run import Run

# Patterns of a benchmark's name in results, of files that may contain its function, and of its definition's start.
_NAMING_STYLES: Final = (
    (re.compile(r"(?P<file>[^:\[]+\.py)::(?:[^\[]*::)?(?P<name>\w+)"), r"/{file}$", r"(async )?def {name}\b"),
    (re.compile(r"(?:.*[./])?(?P<name>Benchmark\w+)(?:[/-].*)?$"), r"_test\.go$", r"func {name}\("),
    (re.compile(r"(?P<name>BM_\w+)"), r"\.(cc|cpp|cxx)$", r"\S.*\b{name}\("),
    (re.compile(r"(\w+\.)*(?P<file>[A-Z]\w*)\.(?P<name>\w+)"), r"/{file}\.(java|kt|scala|cs)$", r"\w.*\b{name}\("),
)
HOLDS_BENCHMARKS: Final = re.compile(rb"^func Benchmark\w*\(|def test_\w+\([^)]*\bbenchmark\b", re.MULTILINE)
_HASH_DIGITS: Final = 16


def with_versions(run: Run, repository: Path, commit: str) -> Run:
    """Add versions to the benchmarks without one whose functions are found."""
    marked = (
        benchmark if benchmark.version else replace(benchmark, version=_version(repository, commit, benchmark.name))
        for benchmark in run.benchmarks
    )
    return replace(run, benchmarks=tuple(marked))


@lru_cache(maxsize=10_000)
def _version(repository: Path, commit: str, name: str) -> str | None:
    """A hash of all functions with that name: results do not always tell which one was measured."""
    pattern, files, definition = next((kind for kind in _NAMING_STYLES if kind[0].match(name)), _NAMING_STYLES[0])
    if (match := pattern.match(name)) is None:
        return None
    parts = {key: re.escape(part) for key, part in match.groupdict().items()}
    begins = re.compile(r"[ \t]*" + definition.format(**parts))
    texts = _texts(repository, commit, files.format(**parts))
    code = "\n\n".join(definition for text in texts for definition in _definitions(text.splitlines(), begins))
    return hashlib.sha256(code.encode(errors="replace")).hexdigest()[:_HASH_DIGITS] if code else None


@lru_cache(maxsize=16)
def _texts(repository: Path, commit: str, pattern: str) -> tuple[str, ...]:
    entries = git.list_tree(repository, commit)
    blobs = [entry.blob for entry in entries if entry.blob and re.search(pattern, f"/{entry.path}")]
    return tuple(content.decode(errors="replace") for content in _contents(repository, blobs))


def _contents(repository: Path, blobs: Sequence[str]) -> tuple[bytes, ...]:
    sizes = git.blob_sizes(repository, blobs)
    return git.read_blobs(
        repository, [blob for blob, size in zip(blobs, sizes, strict=True) if size <= FILE_LIMITS.benchmark_code_bytes]
    )


def _definitions(lines: Sequence[str], begins: re.Pattern[str]) -> Iterator[str]:
    """Yield definitions by their indentation, with the decorators above, without blank lines and comment lines."""
    for at, line in enumerate(lines):
        if begins.match(line):
            depth = len(line) - len(line.lstrip())
            body = takewhile(partial(_belongs, depth, ")]}{"), lines[at + 1 :])
            above = takewhile(str.strip, takewhile(partial(_belongs, depth, "@)]"), reversed(lines[:at])))
            code = (one.rstrip() for one in (*reversed([*above]), line, *body))
            yield "\n".join(one for one in code if one and not one.lstrip().startswith(("#", "//")))


def _belongs(depth: int, same: str, line: str) -> bool:
    """Whether the line is blank, deeper, or equally deep and starts with one of these characters."""
    own = len(line) - len(line.lstrip())
    return not line.strip() or own > depth or (own == depth and line[own] in same)


def with_harness(repository: Path, base: str, head: str, *, is_harness: Callable[[str], bool]) -> tuple[str, int]:
    """Create a commit of `base` with the benchmark files of `head`; return it with the number of files that differ."""

    def holds(change: git.FileChange) -> bool:
        is_code = change.path.endswith(("_test.go", ".py")) and change.mode != git.SUBMODULE_MODE
        texts = _contents(repository, [str(change.blob or change.old_blob)]) if is_code else ()
        return is_harness(change.path) or is_harness(change.old_path) or any(map(HOLDS_BENCHMARKS.search, texts))

    changes = [change for change in git.file_changes(repository, base, head) if holds(change)]
    return git.grafted(repository, base, changes) if changes else base, len(changes)
