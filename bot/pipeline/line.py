"""The stored runs of HEAD's own line: what `changes` reads."""

from pathlib import Path

from bot.config import Config
from bot.history.git_branch import open_git_branch
from bot.history.main_line import MainLine, main_line
from bot.history.remote import history_remote


def stored_line(repository: Path, *, config: Config, history_url: str | None) -> tuple[MainLine, str]:
    """The runs of the configured suite, the oldest first, and where they are stored, to be shown."""
    remote = history_remote(repository, history_url, None)
    with open_git_branch(remote, branch=config.history.branch) as history:
        line = main_line(history, repository, suite=config.suite, any_hardware=config.ignore_environment)
    return line, f"{remote.shown} {config.history.branch}"
