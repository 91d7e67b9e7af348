"""The stored runs of HEAD's own line: what `changes` reads."""

from pathlib import Path

from bot.config import Config
from bot.errors import DataError, did_you_mean
from bot.history.main_line import MainLine, main_line
from bot.history.opening import open_history

MOST_SUITES = 20


def stored_line(
    repository: Path, *, config: Config, history_url: str | None, merged: bool = False
) -> tuple[MainLine, str]:
    """The runs of the configured suite, the oldest first, at least one, and where they are stored, to be shown.

    `merged`: of branches that were merged as well.
    """
    with open_history(config.history, repository, url=history_url) as history:
        line = main_line(history, repository, suite=config.suite, any_hardware=config.ignore_environment, merged=merged)
        suites = history.suites()
    place = history.place
    if not line.runs:
        suite = config.suite or "default"
        stored = f"stored are {', '.join(sorted(suites)[:MOST_SUITES])}:" if suites else ""
        hint = did_you_mean(suite, suites - {suite}, otherwise=stored)
        raise DataError(
            "; ".join([f"holds no run of the suite {suite!r} for a commit of this line", *line.notes]),
            place=place,
            next_step=f"{hint} record runs first, or check --suite and --history".strip(),
        )
    return line, place
