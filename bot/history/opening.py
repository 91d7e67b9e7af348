"""Where a repository's history and its code are."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bot import git
from bot.config.model import HistoryConfig
from bot.errors import UsageError
from bot.history.branch import open_git_branch
from bot.history.protocol import Store
from bot.history.retention import Retention


@contextmanager
def open_history(
    settings: HistoryConfig, repository: Path | None = None, *, url: str | None = None, token: str | None = None
) -> Iterator[Store]:
    """The configured branch at `url` (default: the repository's remote)."""
    retention = Retention(raw_runs=settings.raw_runs, branch_bytes=settings.size_limit, keeps_past=settings.keep_past)
    remote = git.Remote(url=url or _default_url(repository or Path()), token=token)
    with open_git_branch(remote, branch=settings.branch, retention=retention) as branch:
        yield branch


def code_remote(repository: Path | None, *, url: str | None, token: str | None) -> git.Remote | None:
    """Where a shallow checkout gets its missing commits. The token goes along only to the repository it is for."""
    own = git.default_remote_url(repository) if repository else url
    if own is None:
        return None
    is_same = url is None or own.removesuffix(".git") == url.removesuffix(".git")
    return git.Remote(url=own, token=token if is_same else None)


def _default_url(repository: Path) -> str:
    url = git.default_remote_url(repository)
    if url is None:
        raise UsageError(
            "the repository has no remote to keep the history in",
            place=str(repository),
            next_step="name one with --history, a URL or the path of a repository",
        )
    return url
