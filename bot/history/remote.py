"""Where a repository's history and its code are fetched from."""

from pathlib import Path

from bot import git
from bot.errors import UsageError


def history_remote(repository: Path, url: str | None, token: str | None) -> git.Remote:
    url = url or git.default_remote_url(repository)
    if url is None:
        raise UsageError(
            "the repository has no remote to keep the history in",
            place=str(repository),
            next_step="name one with --history, a URL or the path of a repository",
        )
    return git.Remote(url=url, token=token)


def code_remote(repository: Path | None, *, history: git.Remote) -> git.Remote | None:
    """Where a shallow checkout gets its missing commits. The token goes along only to the repository it is for."""
    if repository is None:
        return history
    url = git.default_remote_url(repository)
    if url is None:
        return None
    return history if url.removesuffix(".git") == history.url.removesuffix(".git") else git.Remote(url=url)
