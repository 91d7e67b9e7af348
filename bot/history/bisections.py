"""Bisections on the history branch: one file each, replaced only where nobody else replaced it meanwhile.

    bisections/<id>.json

The push is the lock: the branch moves from the commit that was read or not at all, and nothing is ever forced.
"""

import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from bot import git
from bot.codec.bisect_stored import decode_stored, encode_stored
from bot.errors import InfrastructureError, UsageError
from bot.history.git_branch import AUTHOR, DEFAULT_BRANCH, GitBranchHistory
from bot.history.layout import MARKER_PATH
from bot.history.retention import Retention
from bot.model.dispatch import Bisection

BISECTION_ID: Final = re.compile(r"[0-9A-Za-z][0-9A-Za-z-]{0,63}")
BISECTION_PATH: Final = re.compile(rf"bisections/({BISECTION_ID.pattern})\.json")
KEPT_BISECTIONS: Final = 200


class BisectionConflictError(InfrastructureError):
    """Somebody else stored this bisection since it was loaded: load it again, and decide again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadedBisection:
    """`version` names exactly this content; it is what `store` must find when it replaces it."""

    bisection: Bisection
    version: str


class BisectionStore(Protocol):
    """Where bisections are kept. A `store` is whole or did not happen."""

    def load(self, bisection_id: str) -> LoadedBisection | None: ...

    def store(self, bisection: Bisection, *, expected: str | None) -> str:
        """Replace version `expected` (None: there must be none yet); the new version. BisectionConflictError else."""
        ...


class GitBranchBisections(GitBranchHistory):
    """The history's branch with its bisections."""

    def load(self, bisection_id: str) -> LoadedBisection | None:
        path = bisection_path(bisection_id)
        files = self._patiently(self._fetched_files, failure="the bisection could not be read")
        if path not in files:
            return None
        (content,) = git.read_blobs(self._repository, [files[path]], remote=self._remote)
        return LoadedBisection(bisection=decode_stored(content, place=f"{self._place}: {path}"), version=files[path])

    def store(self, bisection: Bisection, *, expected: str | None) -> str:
        path = bisection_path(bisection.id)
        blob = git.write_blob(self._repository, encode_stored(bisection))
        message = f"Bisection {bisection.id}: {len(bisection.search.results)} rounds measured\n"
        self._patiently(
            lambda: self._try_store(path, blob, expected=expected, message=message),
            failure="the bisection was not stored",
        )
        return blob

    def _fetched_files(self) -> Mapping[str, str]:
        tip = self._tip = self._fetch()
        entries = git.list_tree(self._repository, tip.commit) if tip.commit else ()
        return {entry.path: entry.blob for entry in entries if entry.blob}

    def _try_store(self, path: str, blob: str, *, expected: str | None, message: str) -> None:
        files = self._fetched_files()
        tip = self._tip.commit if self._tip else None
        if files.get(path) == blob:
            # An answer of the remote was lost: the push before had moved the branch.
            return
        if files.get(path) != expected:
            raise BisectionConflictError(
                "another job stored this bisection meanwhile" if path in files else "the bisection is gone",
                place=f"{self._place}: {path}",
                next_step="run the job again",
            )
        changes = [
            git.TreeChange(path, blob),
            git.TreeChange(MARKER_PATH, self._marker_blob),
            *(git.TreeChange(old, None) for old in _superfluous(files, keep=path)),
        ]
        tree = git.write_tree(self._repository, base=tip, changes=changes, index=self._index)
        commit = git.commit_tree(self._repository, tree, parent=tip, message=message, identity=AUTHOR)
        git.push(self._repository, self._remote, commit=commit, branch=self._branch, expected=tip)
        self._tip = None


def bisection_path(bisection_id: str) -> str:
    if not BISECTION_ID.fullmatch(bisection_id):
        raise UsageError(
            f"{bisection_id[:80]!r} is no id of a bisection",
            next_step="use the id that the answer to the command names",
        )
    return f"bisections/{bisection_id}.json"


def _superfluous(files: Mapping[str, str], *, keep: str) -> list[str]:
    """The oldest bisections beyond those that are kept: GitHub numbers comments in their order."""
    stored = [path for path in files if path != keep and BISECTION_PATH.fullmatch(path)]
    return sorted(stored, key=lambda path: (len(path), path))[: max(len(stored) + 1 - KEPT_BISECTIONS, 0)]


@contextmanager
def open_bisections(
    remote: git.Remote, *, branch: str = DEFAULT_BRANCH, retention: Retention | None = None
) -> Iterator[GitBranchBisections]:
    """The branch in a temporary repository that is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="perf-culprit-", ignore_cleanup_errors=True) as folder:
        yield GitBranchBisections(remote, Path(folder), branch=branch, retention=retention)
