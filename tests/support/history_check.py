"""An independent check of a history, which shares no code with the store: nothing is lost, doubled or changed.

It reads the branch by git's own commands, SQLite by Python's module and PostgreSQL by its driver. It reads the names
and the JSON of stored files by what docs/history.md says about them.
"""

import hashlib
import json
import math
import re
import sqlite3
import statistics
import subprocess
import zlib
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psycopg

BRANCH: Final = "refs/heads/perf-history"
TABLES: Final = ("perf_culprit_runs", "perf_culprit_acceptances", "perf_culprit_bisections")
RUN: Final = re.compile(r"runs/([^/]+)/([0-9a-f]{40})/\d{8}T\d{6}Z-([0-9a-f]{16})-(\d+)(\.summary)?\.json")
NONE: Final = "0" * 40
# Of a sum in another order.
CLOSE: Final = 1e-12

Files = Mapping[str, bytes]
Numbers = tuple[float, ...]

# What is stored, by path.


def on_branch(repository: Path, commit: str = BRANCH) -> dict[str, bytes]:
    """Return each file of a commit of the history branch; nothing if there is no branch."""
    paths = paths_on_branch(repository, commit)
    blobs = "".join(f"{blob}\n" for blob in paths.values())
    output, files, at = _git(repository, "cat-file", "--batch=%(objectsize)", stdin=blobs.encode()), {}, 0
    for path in paths:
        end = output.index(b"\n", at)
        size = int(output[at:end])
        files[path] = output[end + 1 : end + 1 + size]
        at = end + size + 2
    return files


def paths_on_branch(repository: Path, commit: str = BRANCH) -> dict[str, str]:
    """Return the paths and their blobs."""
    lines = _git(repository, "ls-tree", "-r", "-z", commit, check=False).decode().split("\0")
    entries = (line.split("\t", 1) for line in lines if line)
    return {path: head.split(" ")[2] for head, path in entries}


def in_sqlite(file: Path) -> dict[str, bytes]:
    if not file.exists():
        return {}
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        there = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        rows = [row for table in TABLES if table in there for row in connection.execute(_rows(table))]
    return _unpacked(rows)


def in_postgresql(address: str) -> dict[str, bytes]:
    with psycopg.connect(address) as connection:
        there = {name for (name,) in connection.execute("SELECT tablename FROM pg_tables")}
        rows = [row for table in TABLES if table in there for row in connection.execute(_rows(table).encode())]
    return _unpacked(rows)


def _rows(table: str) -> str:
    return f"SELECT path, content FROM {table}"  # noqa: S608 - one of our own


def _unpacked(rows: Iterable[tuple[Any, ...]]) -> dict[str, bytes]:
    listed = [(path, zlib.decompress(content)) for path, content in rows]
    assert len(dict(listed)) == len(listed), "a path is there twice"
    return dict(listed)


def _git(repository: Path, *arguments: str, stdin: bytes = b"", check: bool = True) -> bytes:
    command = ["git", "-C", str(repository), *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, check=check).stdout


# What is wrong with it.


@dataclass(frozen=True, kw_only=True)
class Written:
    """A run as its writer knows it. `is_certain`: the writer was told that it is stored."""

    commit: str
    samples: Mapping[str, Numbers]
    is_certain: bool = True


def faults(files: Files, written: Iterable[Written], *, suite: str = "default") -> Iterator[str]:
    """Yield what is wrong with the suite's stored runs, given all runs that anybody tried to store there."""
    yield from misnamed(files)
    stored = [json.loads(content) for path, content in files.items() if path.startswith(f"runs/{suite}/")]
    claimed: set[int] = set()
    for one in written:
        places = [place for place, run in enumerate(stored) if holds(run, one)]
        claimed.update(places)
        if len(places) > 1:
            yield f"stored {len(places)} times: {one}"
        if one.is_certain and not places:
            yield f"lost or changed: {one}"
    yield from (f"nobody wrote: {run}" for place, run in enumerate(stored) if place not in claimed)


def misnamed(files: Files) -> Iterator[str]:
    """Yield the runs whose name does not fit their content, and those that are there twice."""
    identities: Counter[str] = Counter()
    for path, content in files.items():
        if not path.startswith("runs/"):
            continue
        match = RUN.fullmatch(path)
        if match is None:
            yield f"has no name of a run: {path}"
            continue
        _, commit, digest, size, summary = match.groups()
        identities[identity(path)] += 1
        if len(content) != int(size):
            yield f"has {len(content)} bytes: {path}"
        if not summary and hashlib.sha256(content).hexdigest()[:16] != digest:
            yield f"was changed: {path}"
        if json.loads(content).get("commit") != commit:
            yield f"is of another commit: {path}"
    yield from (f"is there {count} times: {one}" for one, count in identities.items() if count > 1)


def identity(path: str) -> str:
    """Return what stays of a path when its run is compacted."""
    match = RUN.fullmatch(path)
    return "/".join(match.group(1, 2, 3)) if match else path


def holds(run: Mapping[str, Any], written: Written) -> bool:
    benchmarks = {one["name"]: one for one in run["benchmarks"]}
    return run.get("commit") == written.commit and all(
        name in benchmarks and _is_of(benchmarks[name], samples) for name, samples in written.samples.items()
    )


def _is_of(benchmark: Mapping[str, Any], samples: Numbers) -> bool:
    """Whether the benchmark has these samples, or a summary of them."""
    if "samples" in benchmark:
        return tuple(benchmark["samples"]) == samples
    expected = {
        "count": len(samples),
        "value": statistics.fmean(samples),
        "median": statistics.median(samples),
        "minimum": min(samples),
        "maximum": max(samples),
    }
    if len(samples) > 1:
        expected["standard_deviation"] = statistics.stdev(samples)
    summary = benchmark["summary"]
    shared = {name: value for name, value in expected.items() if name in summary}
    return "value" in shared and all(math.isclose(summary[name], one, rel_tol=CLOSE) for name, one in shared.items())


def forgetful_pushes(repository: Path, others: Container[str]) -> Iterator[str]:
    """Yield what a push removed that the commit before it had. The pushes of `others`, by their commits, may do so.

    The repository has a log of the branch (core.logAllRefUpdates), in which all pushes have one order.
    """
    for line in (repository / "logs" / BRANCH).read_text().splitlines():
        old, new = line.split(" ", 2)[:2]
        if old != NONE and new not in others:
            before, after = (set(map(identity, paths_on_branch(repository, commit))) for commit in (old, new))
            yield from (f"{new} removed {one}" for one in sorted(before - after))
