"""Repositories whose commits have a known level, and a benchmark command that reads it with small known noise.

No clock is involved: the command prints the level of the commit's file `value`, up to 1% off, by a counter of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.git_repository import init_repository, run_git

COUNTER = "MEASURED_COUNTER"
RUN = (
    f'n=$(cat "${COUNTER}" 2>/dev/null || echo 0); echo $((n + 1)) > "${COUNTER}"; v=$(cat value); '
    "echo $((v * (1000 + (n * 37 + n * n * 11) % 21 - 10)))"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Commit:
    """`level` of the benchmark; `files` besides it; `parents` by name, default the commit before."""

    level: int = 1000
    files: Mapping[str, str] | None = None
    parents: Sequence[str] | None = None


def measured_repository(folder: Path, commits: Mapping[str, Commit]) -> dict[str, str]:
    """A repository with these commits, the last checked out; name -> hash. Merges take their own files as given."""
    init_repository(folder)
    hashes: dict[str, str] = {}
    before: str | None = None
    for name, commit in commits.items():
        parents = commit.parents if commit.parents is not None else ([before] if before else [])
        if parents:
            run_git(folder, "checkout", "--quiet", "--detach", hashes[parents[0]])
        (folder / "value").write_text(f"{commit.level}\n")
        (folder / "number").write_text(f"{name}\n")
        for path, text in (commit.files or {}).items():
            (folder / path).write_text(text)
        run_git(folder, "add", "--all")
        tree = run_git(folder, "write-tree")
        options = [word for parent in parents for word in ("-p", hashes[parent])]
        hashes[name] = run_git(folder, "commit-tree", tree, *options, "-m", f"commit {name}")
        run_git(folder, "reset", "--quiet", "--hard", hashes[name])
        before = name
    run_git(folder, "branch", "--force", "main", hashes[before or ""])
    return hashes


def line(count: int, *, step_at: int, low: int = 1000, high: int = 1600) -> dict[str, Commit]:
    """c0 … c<count - 1>, from c<step_at> on at the high level."""
    return {f"c{number}": Commit(level=high if number >= step_at else low) for number in range(count)}
