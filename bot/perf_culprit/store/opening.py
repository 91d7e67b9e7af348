"""Opening a repository's history: the configured database, else the history branch."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from perf_culprit import git
from perf_culprit.config.database_url import DatabaseUrl
from perf_culprit.config.settings import Config, HistoryConfig
from perf_culprit.errors import UsageError
from perf_culprit.model.bisection_files import decode_stored
from perf_culprit.model.dispatch import Bisection
from perf_culprit.model.run_file import decode_run
from perf_culprit.progress import doing
from perf_culprit.store.branch_files import GitBranchAcceptances, GitBranchBisections
from perf_culprit.store.compaction import GitBranchCompaction
from perf_culprit.store.git_branch import DEFAULT_BRANCH
from perf_culprit.store.protocol import Store, decodable
from perf_culprit.store.retention import Retention
from perf_culprit.store.run_names import BISECTION_PATH, RUN_PATH, read_names, stored_key

OF_SEARCHES: Final = " (bisect)"
_NONE_IN_PARTICULAR: Final = Config().suite


@dataclass(frozen=True, kw_only=True, slots=True)
class HistoryPlace:
    """How to reach a history: by its `url` (default: the remote of the local `repository`), with a token for it.

    Without `repository` commits are fetched.
    """

    repository: Path | None = None
    url: str | None = None
    token: str | None = field(default=None, repr=False)


@contextmanager
def open_history(
    settings: HistoryConfig, repository: Path | None = None, *, url: str | None = None, token: str | None = None
) -> Iterator[Store]:
    """Open the configured database, else the branch at `url` (default: the repository's remote)."""
    retention = Retention(raw_runs=settings.raw_runs, branch_bytes=settings.size_limit, keeps_past=settings.keep_past)
    if settings.url is not None:
        with open_sql(settings.url, retention) as database:
            yield database
        return
    remote = git.Remote(url=url or _default_url(repository or Path()), token=token)
    with open_git_branch(remote, branch=settings.branch, retention=retention) as branch:
        yield branch


@contextmanager
def open_sql(url: DatabaseUrl, retention: Retention | None = None) -> Iterator[Store]:
    from perf_culprit.store.sql.sql_store import open_database

    _check_libraries(url)
    with open_database(url, retention=retention) as database:
        yield database


def prepare_database(url: DatabaseUrl) -> bool:
    """Create or update the database's tables. False if they were current."""
    from perf_culprit.store.sql.sql_store import prepare_tables

    _check_libraries(url)
    return prepare_tables(url)


def _check_libraries(url: DatabaseUrl) -> None:
    if missing := [name for name in ("sqlalchemy", "alembic", "psycopg") if find_spec(name) is None]:
        raise UsageError(
            f"a history in a database needs {', '.join(missing)}",
            place=url.shown,
            next_step="pip install 'perf-culprit[sql]'",
        )


def code_remote(place: HistoryPlace) -> git.Remote | None:
    """Return the remote that has a shallow checkout's missing commits. Only the token's repository gets the token."""
    own = git.default_remote_url(place.repository) if place.repository else place.url
    if own is None:
        return None
    is_same = place.url is None or own.removesuffix(".git") == place.url.removesuffix(".git")
    return git.Remote(url=own, token=place.token if is_same else None)


def _default_url(repository: Path) -> str:
    if (url := git.default_remote_url(repository)) is None:
        raise UsageError(
            "the repository has no remote to keep the history in",
            place=str(repository),
            next_step="name one with --history, a URL or the path of a repository",
        )
    if not git.has_sha1_names(repository):
        raise UsageError("its commits have SHA-256 names", place=str(repository), next_step=git.IN_A_DATABASE)
    return url


COPIED_AT_ONCE: Final = 100


def copy_history(source: Store, target: Store) -> tuple[Mapping[str, int], int]:
    """Copy the history. Return the number of files copied by kind (their first folder), and the number already there.

    Files are copied byte by byte. Existing files stay, so repeating an interrupted copy completes it.
    """
    there = {stored_key(path) for path in target.paths()}
    ours = {stored_key(path): path for path in source.paths()}
    new = [path for key, path in ours.items() if key not in there]
    for start in range(0, len(new), COPIED_AT_ONCE):
        part = new[start : start + COPIED_AT_ONCE]
        doing(f"copying {start:,} to {start + len(part):,} of {len(new):,} files")
        contents = zip(part, source.contents(part), strict=True)
        target.adopt([(path, content) for path, content in contents if content])
    return Counter(path.partition("/")[0] for path in new), len(ours) - len(new)


def suite_names(history: Store) -> tuple[str, ...]:
    """Return the names of the stored suites. A folder's name may differ from it, so one run of each suite is read."""
    newest = {match["suite"]: path for path in sorted(history.paths()) if (match := RUN_PATH.fullmatch(path))}
    runs = decodable(zip(newest.values(), history.contents(list(newest.values())), strict=True), decode_run)
    return tuple(sorted({run.suite for run in runs}))


def only_suite(history: Store, suite: str) -> str:
    """Return the suite. If none was named and the history has a single one, return that one."""
    if suite != _NONE_IN_PARTICULAR or history.commits(suite):
        return suite
    stored = [name for name in suite_names(history) if not name.endswith(OF_SEARCHES)]
    return stored[0] if len(stored) == 1 else suite


def stored_bisections(history: Store) -> tuple[Bisection, ...]:
    """Return the stored bisections that can be read."""
    paths = [path for path in history.paths() if BISECTION_PATH.fullmatch(path)]
    return tuple(decodable(zip(paths, history.contents(paths), strict=True), decode_stored))


class GitBranch(GitBranchAcceptances, GitBranchBisections, GitBranchCompaction):
    """The history branch: runs, accepted changes and bisections, with the branch's past."""

    def paths(self) -> tuple[str, ...]:
        return tuple(sorted(path for path in self._seen().blobs if stored_key(path)))

    def contents(self, paths: Sequence[str]) -> tuple[bytes, ...]:
        blobs = self._seen().blobs
        wanted = [blob for path in paths if (blob := blobs.get(path))]
        read = dict(zip(wanted, git.read_blobs(self._repository, wanted, remote=self._remote), strict=True))
        return tuple(read.get(blobs.get(path, ""), b"") for path in paths)

    def adopt(self, entries: Sequence[tuple[str, bytes]]) -> None:
        blobs = {path: self._named(content) for path, content in entries if RUN_PATH.fullmatch(path)}
        if runs := read_names(git.TreeEntry(path=path, blob=blob) for path, blob in blobs.items()):
            self._patiently(lambda: self._try_append(runs), failure="the runs were not stored")
        others = {path: self._named(content) for path, content in entries if path not in blobs}
        if others:
            message = f"Copy {len(others)} accepted changes and bisections\n"
            self._patiently(lambda: self._try_add(others, message), failure="the changes were not stored")


@contextmanager
def open_git_branch(
    remote: git.Remote, *, branch: str = DEFAULT_BRANCH, retention: Retention | None = None
) -> Iterator[GitBranch]:
    """Open the current branch in a private repository."""
    with git.open_kept_folder(f"history {branch} of {remote.url}") as folder:
        yield GitBranch(remote, folder, branch=branch, retention=retention)
