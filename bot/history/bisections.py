"""Bisections on the history branch: one file each, replaced only where nobody else replaced it meanwhile.

    bisections/<id>.json

The push is the lock: the branch moves from the commit that was read or not at all.
"""

from collections.abc import Iterable
from typing import Final

from bot import git
from bot.codec.bisect_stored import decode_stored, encode_stored
from bot.errors import InfrastructureError, UsageError
from bot.history.git_branch import GitBranchHistory
from bot.history.layout import BISECTION_ID, BISECTION_PATH
from bot.history.protocol import LoadedBisection
from bot.model.dispatch import Bisection

KEPT_BISECTIONS: Final = 200


class BisectionConflictError(InfrastructureError):
    """Somebody else stored this bisection since it was loaded: load it again, and decide again."""

    def __init__(self, *, is_there: bool, place: str) -> None:
        message = "another job stored this bisection meanwhile" if is_there else "the bisection is gone"
        super().__init__(message, place=place, next_step="run the job again")


class GitBranchBisections(GitBranchHistory):
    """The history's branch with its bisections."""

    def load(self, bisection_id: str) -> LoadedBisection | None:
        path = bisection_path(bisection_id)
        self._tip = self._patiently(self._now, failure="the bisection could not be read", writes=False)
        self._is_tried = False
        if not (blob := self._tip.blobs.get(path)):
            return None
        (content,) = git.read_blobs(self._repository, [blob], remote=self._remote)
        return LoadedBisection(bisection=decode_stored(content, place=f"{self.place}: {path}"), version=blob)

    def store(self, bisection: Bisection, *, expected: str | None) -> str:
        path = bisection_path(bisection.id)
        content = encode_stored(bisection)
        blob = self._named(content)
        message = f"Bisection {bisection.id}: {len(bisection.search.results)} rounds measured\n"
        self._patiently(
            lambda: self._try_store(path, blob, expected=expected, message=message, size=len(content)),
            failure="the bisection was not stored",
        )
        return blob

    def _try_store(self, path: str, blob: str, *, expected: str | None, message: str, size: int) -> None:
        tip = self._last_seen(lambda tip: tip.blobs.get(path) == expected)
        if (there := tip.blobs.get(path)) == blob:
            # An answer of the remote was lost: the push before had moved the branch.
            return
        if there != expected:
            raise BisectionConflictError(is_there=there is not None, place=f"{self.place}: {path}")
        old = superfluous(tip.blobs, keep=path)
        changes = [git.TreeChange(path, blob), *(git.TreeChange(path, None) for path in old)]
        # The next step replaces it; such a state packs to a fifth or less.
        self._move(tip, changes, message=message, left_bytes=size // 5)


def bisection_path(bisection_id: str) -> str:
    if not BISECTION_ID.fullmatch(bisection_id):
        raise UsageError(
            f"{bisection_id[:80]!r} is no id of a bisection",
            next_step="use the id that the answer to the command names",
        )
    return f"bisections/{bisection_id}.json"


def superfluous(paths: Iterable[str], *, keep: str) -> list[str]:
    """The oldest bisections beyond those that are kept: GitHub numbers comments in their order."""
    stored = [path for path in paths if path != keep and BISECTION_PATH.fullmatch(path)]
    return sorted(stored, key=lambda path: (len(path), path))[: max(len(stored) + 1 - KEPT_BISECTIONS, 0)]
