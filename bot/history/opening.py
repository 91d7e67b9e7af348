"""Where a repository's history and its code are: the history's own branch, unless a database holds it."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from bot import git
from bot.config.database import DatabaseUrl
from bot.config.model import HistoryConfig
from bot.errors import UsageError
from bot.history import sql
from bot.history.branch import open_git_branch
from bot.history.protocol import Store
from bot.history.retention import Retention


@contextmanager
def open_history(
    settings: HistoryConfig, repository: Path | None = None, *, url: str | None = None, token: str | None = None
) -> Iterator[Store]:
    """The configured database, else the branch at `url` (default: the repository's remote)."""
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
    _check_libraries(url)
    with sql.open_database(url, retention=retention) as database:
        yield database


def prepare_database(url: DatabaseUrl) -> bool:
    """Make or update its tables; False where they were there."""
    _check_libraries(url)
    return sql.prepare(url)


def _check_libraries(url: DatabaseUrl) -> None:
    if missing := [name for name in ("sqlalchemy", "alembic", "psycopg") if find_spec(name) is None]:
        raise UsageError(
            f"a history in a database needs {', '.join(missing)}",
            place=url.shown,
            next_step="pip install 'perf-culprit[sql]'",
        )


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
