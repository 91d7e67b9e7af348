"""The default history: an orphan branch of the user's repository, one file per run, written without a checkout.

All work happens in a private temporary repository, so the user's checkout, index and configuration stay unchanged. The
remote moves the branch from the commit that was read, in one step, or not at all. A run is recorded whole or not at
all, and never overwrites another writer's. If the branch's earlier contents exceed their share of the budget, the next
commit is a new root, pushed on the same condition.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Unpack

from perf_culprit import git
from perf_culprit.errors import ConfigError, DataError, InfrastructureError
from perf_culprit.model.artifact_limits import ARTIFACT_LIMITS
from perf_culprit.model.run import Run
from perf_culprit.model.run_file import decode_run, encode_run
from perf_culprit.store.protocol import Options, RunReader, new_run_file
from perf_culprit.store.retention import compact, runs_to_compact, runs_to_drop
from perf_culprit.store.run_names import MARKER, MARKER_PATH, MARKER_VERSION, RunFile, read_names, suite_slug

DEFAULT_BRANCH = "perf-history"
# GitHub's account for actions with GITHUB_TOKEN; the number is its user id.
AUTHOR = git.Identity(name="github-actions[bot]", email="41898282+github-actions[bot]@users.noreply.github.com")
FETCHED_REF = "refs/perf-culprit/history"
MARKER_BYTES = 4096
# Packed size of what the commits since the root hold and the newest does not. Each commit's message records it.
PAST_LINE: Final = re.compile(r"^Past-Bytes: ([0-9]{1,15})$", re.MULTILINE)
STARTED_OVER: Final = "The branch starts over here: the commits before this one were given up for their size."
# Packed size of a commit and its trees, measured on a branch with 8,000 runs as what the files do not explain.
COMMIT_BYTES: Final = 10_000

# Worth another attempt: the network failed, not the request. If only the push's answer was lost, the run is found.
TRANSIENT_TEXTS = (
    "returned error: 5",
    "RPC failed",
    "hung up unexpectedly",
    "early EOF",
    "Connection reset",
    "Failed to connect",
    "Operation timed out",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Tip:
    """The branch at one moment. `commit` is None if there is no branch yet. See PAST_LINE for `past_bytes`.

    `blobs` maps the paths of all its files to their blobs; `files` are the runs among them.
    """

    commit: str | None = None
    tree: str | None = None
    files: tuple[RunFile, ...] = ()
    blobs: Mapping[str, str] = field(default_factory=dict)
    past_bytes: int = 0


# Keyed by private repository and commit, newest last. A process that reopens the branch fetches only what is new.
_tips: dict[tuple[Path, str | None], Tip] = {}


class GitBranchHistory(RunReader):
    """Stored runs on `branch` of `remote`. `folder` is a private directory that the caller removes."""

    def __init__(
        self, remote: git.Remote, folder: Path, *, branch: str = DEFAULT_BRANCH, **options: Unpack[Options]
    ) -> None:
        super().__init__(**options)
        self._remote = remote
        self._branch = branch
        self._folder = folder
        self._repository = git.init_private(folder / "history.git")
        # Contents by their git blob names, written with the commit that needs them.
        self._unwritten: dict[str, bytes] = {}
        self._marker_blob = git.blob_name(MARKER)
        self._tip: Tip | None = None
        self._is_tried = False
        self._expected: dict[tuple[str, str, str], RunFile] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The stored runs as last seen, for `expect` in a later job step."""
        return tuple(file.path for file in self._tip.files) if self._tip else ()

    def expect(self, names: Iterable[str]) -> None:
        """Note runs that were on the branch earlier. `lost` names those that the next look does not find."""
        files = read_names(git.TreeEntry(path=name, blob="") for name in names)
        self._expected |= {file.identity: file for file in files}

    @property
    def place(self) -> str:
        return f"branch {self._branch} of {self._remote.shown}"

    def suites(self) -> frozenset[str]:
        """Return the stored suites, by the names of their folders."""
        return frozenset(file.suite_slug for file in self._seen().files)

    def append_all(self, runs: Sequence[Run]) -> tuple[str, ...]:
        """Record all runs in one commit. Return the names of those that retention keeps, the last run's at the end."""
        files = tuple(map(self._written, runs))  # before the race, so that less happens within it
        return self._patiently(lambda: self._try_append(files), failure="no run was recorded")

    def _written(self, run: Run) -> RunFile:
        name, content = new_run_file(run, self._retention)
        return replace(name, blob=self._named(content))

    def _named(self, content: bytes) -> str:
        blob = git.blob_name(content)
        self._unwritten[blob] = content
        return blob

    def _is_transient(self, error: InfrastructureError) -> bool:
        if isinstance(error, git.PushRejectedError):
            return True
        if not isinstance(error, git.GitError) or any(text in error.output for text in git.OTHER_HASHES):
            return False
        return any(text in error.output for text in TRANSIENT_TEXTS)

    def _try_append(self, wanted: Sequence[RunFile]) -> tuple[str, ...]:
        self.expect(self.names)
        identities = {file.identity for file in wanted}
        tip = self._last_seen(lambda tip: not identities.issubset(file.identity for file in tip.files))
        self._notice(tip, wanted)
        there = {file.identity: file for file in tip.files}
        new = {file.identity: file for file in wanted if file.identity not in there}
        if not new:
            return tuple(there[file.identity].path for file in wanted)
        files, removed = self._retained((*tip.files, *new.values()), keep=wanted[-1])
        added = set(files) - set(tip.files)
        changes = [
            *(git.TreeChange(other.path, None) for other in removed),
            *(git.TreeChange(other.path, other.blob) for other in added),
        ]
        last = wanted[-1]
        what = "a run" if len(new) == 1 else f"{len(new):,} runs, the last"
        message = f"Record {what} of {last.suite_slug} at {last.commit[:12]}\n"
        self._move(tip, changes, files, message=message, left_bytes=sum(file.packed_size for file in removed))
        stored = {file.identity: file.path for file in files}
        return tuple(stored[file.identity] for file in wanted if file.identity in stored)

    def _last_seen(self, is_worth_a_push: Callable[[Tip], bool]) -> Tip:
        """Return the branch as last seen if a push will tell whether that is current, else fetch it again."""
        if self._tip is None or self._is_tried or not is_worth_a_push(self._tip):
            self._tip = self._now()
        self._is_tried = True
        return self._tip

    def _move(
        self,
        tip: Tip,
        changes: Sequence[git.TreeChange],
        files: tuple[RunFile, ...] | None = None,
        *,
        message: str,
        left_bytes: int = 0,
    ) -> None:
        """Add a commit to the branch, and use `files` as its runs if given.

        `left_bytes` is the packed size of the files that the commit removes or replaces.
        """
        past_bytes = tip.past_bytes + left_bytes + COMMIT_BYTES
        moved = None
        if tip.commit and past_bytes > self._retention.past_bytes:
            # Branch rules may forbid it. If another writer was faster, the push below is refused too.
            with suppress(git.GitError):
                moved = self._push(tip, changes, message=message, past_bytes=None)
        moved = moved or self._push(tip, changes, message=message, past_bytes=past_bytes)
        self._tip = self._remembered(moved if files is None else replace(moved, files=files))
        self._is_tried = False
        self._unwritten.clear()

    def _push(self, tip: Tip, changes: Sequence[git.TreeChange], *, message: str, past_bytes: int | None) -> Tip:
        """Push a commit that replaces `tip`: its child, or a new root if `past_bytes` is None."""
        is_root = past_bytes is None
        over = f"\n{STARTED_OVER}\n" if tip.commit and is_root else ""
        commit = self._commit(
            tip, changes, message=f"{message}{over}\nPast-Bytes: {past_bytes or 0}\n", is_root=is_root
        )
        git.push(self._repository, self._remote, commit=commit.name, branch=self._branch, expected=tip.commit)
        blobs: dict[str, str | None] = {**tip.blobs, **{change.path: change.blob for change in changes}}
        return replace(
            tip,
            commit=commit.name,
            tree=commit.tree,
            blobs={path: blob for path, blob in blobs.items() if blob},
            past_bytes=past_bytes or 0,
        )

    def _commit(self, tip: Tip, changes: Sequence[git.TreeChange], *, message: str, is_root: bool) -> git.Commit:
        unwritten = {change.blob: self._unwritten.get(change.blob) for change in changes if change.blob}
        return git.write_commit(
            self._repository,
            (*changes, git.TreeChange(MARKER_PATH, self._marker_blob)),
            contents=[MARKER, *(content for content in unwritten.values() if content is not None)],
            tree=tip.tree,
            parent=None if is_root else tip.commit,
            message=message,
            identity=AUTHOR,
        )

    def _notice(self, tip: Tip, wanted: Sequence[RunFile]) -> None:
        """Compare with the runs seen before. The runs being recorded cause others to be dropped, so they count too."""
        there = {file.identity: file for file in tip.files}
        everything = tuple((self._expected | there | {file.identity: file for file in wanted}).values())
        dropped = {file.identity for file in runs_to_drop(everything, self._retention, keep=wanted[-1])}
        gone = (file for key, file in self._expected.items() if key not in there and key not in dropped)
        self._lost |= dict.fromkeys(file.path for file in gone)
        self._expected.clear()

    def _retained(
        self, files: tuple[RunFile, ...], *, keep: RunFile | None = None
    ) -> tuple[tuple[RunFile, ...], set[RunFile]]:
        """Return the files that stay, compacted where due, and those that are removed."""
        due = runs_to_compact(files, self._retention)
        smaller = {}
        for file, content in zip(due, self._read(due), strict=True):
            try:
                small = encode_run(compact(decode_run(content, place=file.path)))
            except (DataError, OverflowError):
                continue  # an unreadable file is reported when it is read; it must not stop the next run
            smaller[file] = replace(file.with_content(small, compacted=True), blob=self._named(small))
        compacted = tuple(smaller.get(file, file) for file in files)
        dropped = set(runs_to_drop(compacted, self._retention, keep=keep))
        remaining = tuple(file for file in compacted if file not in dropped)
        return remaining, set(files) - set(remaining)

    def _seen(self) -> Tip:
        if self._tip is None:
            self._tip = self._patiently(self._now, failure="the history could not be read", writes=False)
        return self._tip

    def _suite_files(self, suite: str) -> list[RunFile]:
        slug = suite_slug(suite)
        return [file for file in self._seen().files if file.suite_slug == slug]

    def _read(self, files: Sequence[RunFile]) -> tuple[bytes, ...]:
        """Return the files' contents; empty if a run's path is not a file."""
        blobs = [file.blob for file in files if file.blob and file.blob not in self._unwritten]
        contents = dict(zip(blobs, git.read_blobs(self._repository, blobs, remote=self._remote), strict=True))
        contents |= self._unwritten
        return tuple(contents.get(file.blob or "", b"") for file in files)

    def _remembered(self, tip: Tip) -> Tip:
        _tips[self._repository, tip.commit] = tip
        while len(_tips) > ARTIFACT_LIMITS.remembered_tips:
            del _tips[next(iter(_tips))]
        return tip

    def _now(self) -> Tip:
        """Return the current branch, fetched unless this process already has it."""
        if any(repository == self._repository for repository, _ in _tips):
            commit = git.remote_branch(self._repository, self._remote, self._branch)
            if (tip := _tips.get((self._repository, commit))) or commit is None:
                return tip or Tip()
        return self._fetch()

    def _fetch(self, *, depth: int = 1, object_filter: str | None = "blob:none") -> Tip:
        """Fetch the newest commit of the branch with names only. Contents are fetched when they are read."""
        refspec = f"+refs/heads/{self._branch}:{FETCHED_REF}"
        if not git.fetch(self._repository, self._remote, [refspec], depth=depth, object_filter=object_filter):
            return Tip()
        commit = git.read_commit(self._repository, FETCHED_REF)
        entries = git.list_tree(self._repository, commit.name)
        blobs = {entry.path: entry.blob for entry in entries if entry.blob}
        self._check_marker(blobs.get(MARKER_PATH))
        past = PAST_LINE.search(commit.message)
        return self._remembered(
            Tip(
                commit=commit.name,
                tree=commit.tree,
                files=read_names(entries),
                blobs=blobs,
                past_bytes=int(past[1]) if past else 0,
            )
        )

    def _check_marker(self, blob: str | None) -> None:
        if blob == self._marker_blob:
            return
        content = git.read_blobs(self._repository, [blob], remote=self._remote)[0] if blob else b""
        try:
            marker = json.loads(content[:MARKER_BYTES])
        except (ValueError, RecursionError):
            marker = None
        if not isinstance(marker, dict) or marker.get("format") != "perf-culprit-history":
            raise ConfigError(
                f"this branch exists and is not a history of ours: its {MARKER_PATH} is missing or says otherwise",
                place=self.place,
                next_step="name another branch as history, or delete this one if nobody needs it",
            )
        if marker.get("version") != MARKER_VERSION:
            raise ConfigError(
                f"this history has version {str(marker.get('version'))[:20]}; this program knows {MARKER_VERSION}",
                place=self.place,
                next_step="upgrade perf-culprit to the version that wrote the history",
            )
