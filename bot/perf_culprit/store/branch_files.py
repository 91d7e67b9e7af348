"""Accepted changes and bisections on the history branch: one small file each.

Files of accepted changes are only ever added:

    accepted/<suite>/<commit>/<hash>.json

`hash` covers the accepted change, its author and its reason. So a repeated acceptance is one file, and racing jobs
never write the same path with different contents.

The file of a bisection is replaced, if no other job replaced it meanwhile:

    bisections/<id>.json

The push is the lock: the branch moves from the commit that was read, or not at all.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from perf_culprit import git
from perf_culprit.errors import InfrastructureError, UsageError
from perf_culprit.model.artifact_limits import ARTIFACT_LIMITS
from perf_culprit.model.bisection_files import decode_stored, encode_stored
from perf_culprit.model.dispatch import Bisection
from perf_culprit.model.finding import Acceptance, decode_acceptance, encode_acceptance
from perf_culprit.store.git_branch import GitBranchHistory
from perf_culprit.store.protocol import LoadedBisection, decodable
from perf_culprit.store.run_names import ACCEPTANCE_PATH, BISECTION_ID, BISECTION_PATH, suite_slug


class GitBranchAcceptances(GitBranchHistory):
    """The acceptances on the history branch."""

    def accepted(self, suite: str) -> tuple[Acceptance, ...]:
        slug = suite_slug(suite)
        blobs = {
            path: blob
            for path, blob in self._seen().blobs.items()
            if (match := ACCEPTANCE_PATH.fullmatch(path)) and match["suite"] == slug
        }
        paths = sorted(blobs)[: ARTIFACT_LIMITS.acceptances]
        contents = git.read_blobs(self._repository, [blobs[path] for path in paths], remote=self._remote)
        return readable(suite, zip(paths, contents, strict=True))

    def accept(self, acceptances: Sequence[Acceptance]) -> bool:
        blobs = {acceptance_path(acceptance): self._named(encode_acceptance(acceptance)) for acceptance in acceptances}
        subject = acceptances[0]
        what = f"{len(acceptances)} benchmarks" if len(acceptances) > 1 else "a change"
        message = f"Accept {what} of {suite_slug(subject.suite)} at {subject.commit[:12]}\n"
        return self._patiently(lambda: self._try_add(blobs, message), failure="the acceptance was not stored")

    def _try_add(self, blobs: dict[str, str], message: str) -> bool:
        """Add the files that are missing, in one commit. False if all of them exist."""
        tip = self._last_seen(lambda tip: not blobs.keys() <= tip.blobs.keys())
        added = [git.TreeChange(path, blob) for path, blob in blobs.items() if path not in tip.blobs]
        if added:
            self._move(tip, added, message=message)
        return bool(added)


def readable(suite: str, files: Iterable[tuple[str, bytes]]) -> tuple[Acceptance, ...]:
    """Decode the suite's acceptances from paths and contents, oldest first."""
    read = [
        acceptance
        for path, content in files
        for acceptance in decodable([(path, content)], decode_acceptance)
        if acceptance.suite == suite and acceptance_path(acceptance) == path
    ]
    return tuple(sorted(read, key=lambda acceptance: (acceptance.time, acceptance_path(acceptance))))


def acceptance_path(acceptance: Acceptance) -> str:
    identity = [acceptance.suite, acceptance.benchmark, acceptance.commit, acceptance.reason, acceptance.author]
    digest = hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:16]
    return f"accepted/{suite_slug(acceptance.suite)}/{acceptance.commit}/{digest}.json"


def checked(acceptance: Acceptance) -> Acceptance:
    """Return the acceptance with one-line texts. Raise a UsageError if one is missing, too long or malformed."""
    if not git.FULL_HASH.fullmatch(acceptance.commit):
        raise UsageError(
            f"{acceptance.commit[:80]!r} is not a full hash of a commit",
            next_step="write all 40 characters of the commit from which the new level holds",
        )
    benchmark = acceptance.benchmark
    return replace(
        acceptance,
        benchmark=None
        if benchmark is None
        else _one_line(benchmark, what="benchmark", limit=ARTIFACT_LIMITS.benchmark_characters),
        reason=_one_line(acceptance.reason, what="reason", limit=ARTIFACT_LIMITS.reason_characters),
        author=_one_line(acceptance.author, what="author", limit=ARTIFACT_LIMITS.author_characters),
    )


def _one_line(text: str, *, what: str, limit: int) -> str:
    # A benchmark's name stays as it is: it must match the stored one.
    line = text if what == "benchmark" else " ".join(text.split())
    if not line.strip():
        raise UsageError(f"the {what} is empty", next_step=f"write a {what} of up to {limit} characters")
    if len(line) > limit:
        raise UsageError(
            f"the {what} has {len(line):,} characters, at most {limit} are kept",
            next_step="write a shorter one, with a link to the rest",
        )
    if not line.isprintable():
        raise UsageError(f"the {what} holds invisible characters", next_step=f"type the {what} by hand")
    return line


KIND: Final = re.compile("bisections/[a-z]*")  # without letters if a comment requested it


class BisectionConflictError(InfrastructureError):
    """Another job stored this bisection after it was loaded: load it again, and decide again."""

    def __init__(self, *, is_there: bool, place: str) -> None:
        message = "another job stored this bisection meanwhile" if is_there else "the bisection is gone"
        super().__init__(message, place=place, next_step="run the job again")


class GitBranchBisections(GitBranchHistory):
    """The bisections on the history branch."""

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
            # The remote's answer was lost: the earlier push had moved the branch.
            return
        if there != expected:
            raise BisectionConflictError(is_there=there is not None, place=f"{self.place}: {path}")
        old = superfluous(tip.blobs, keep=path)
        changes = [git.TreeChange(path, blob), *(git.TreeChange(path, None) for path in old)]
        # The next step replaces this state, which packs to a fifth of its size or less.
        self._move(tip, changes, message=message, left_bytes=size // 5)


def bisection_path(bisection_id: str) -> str:
    if not BISECTION_ID.fullmatch(bisection_id):
        raise UsageError(
            f"{bisection_id[:80]!r} is not an id of a bisection",
            next_step="use the id that the answer to the command names",
        )
    return f"bisections/{bisection_id}.json"


def superfluous(paths: Iterable[str], *, keep: str) -> list[str]:
    """Return the oldest of its kind beyond those that are kept. GitHub numbers comments and runs in order."""
    kind = KIND.findall(keep)
    stored = [path for path in paths if path != keep and BISECTION_PATH.fullmatch(path) and KIND.findall(path) == kind]
    return sorted(stored, key=lambda path: (len(path), path))[: max(len(stored) + 1 - ARTIFACT_LIMITS.bisections, 0)]
