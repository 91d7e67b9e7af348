"""The stored runs of a branch's own line, for looking back at all of it instead of choosing a baseline."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bot import git
from bot.errors import UsageError
from bot.history.protocol import History, StoredRun
from bot.model.environment import HARDWARE_COMPONENTS
from bot.model.reason import Reason, SeriesReason, left_out_reasons
from bot.model.run import Run


@dataclass(frozen=True, kw_only=True, slots=True)
class MainLine:
    """`runs` from the oldest commit to the newest, and within one commit by age; `notes` say what is not among them."""

    runs: tuple[Run, ...]
    notes: tuple[Reason, ...] = ()


def main_line(
    history: History,
    repository: Path,
    *,
    suite: str,
    revision: str = "HEAD",
    any_hardware: bool = False,
    most: int | None = None,
    merged: bool = False,
) -> MainLine:
    """The runs of the commits that `revision` leads to by first parents, on the newest run's hardware.

    With `most`, of so many of the newest commits that have runs; `merged`: of branches that were merged as well.
    """
    line = line_of(repository, revision, merged=merged)
    stored = history.commits(suite)
    on_line = [commit for commit in line if commit in stored]
    entries = list(history.runs(suite, on_line[:most]))
    newest_first = [entry.run for entry in entries if isinstance(entry, StoredRun)]
    runs = newest_first if any_hardware else _on_one_hardware(newest_first)
    elsewhere = sum(stored.values()) - sum(stored[commit] for commit in on_line)
    left_out = {
        SeriesReason.OFF_THE_LINE: elsewhere,
        SeriesReason.NOT_READABLE: len(entries) - len(newest_first),
        SeriesReason.HARDWARE_OF_OLDER: len(newest_first) - len(runs),
    }
    return MainLine(runs=tuple(reversed(runs)), notes=left_out_reasons(left_out))


def line_of(repository: Path, revision: str = "HEAD", *, merged: bool = False) -> tuple[str, ...]:
    """The commits that `revision` leads to by first parents, or by all (`merged`), the newest first."""
    if git.is_shallow(repository):
        raise UsageError(
            "this checkout is shallow, so the order of the stored runs is unknown",
            place=str(repository),
            next_step="check out with `fetch-depth: 0`; with `filter: blob:none` beside it that stays fast",
        )
    return git.ancestors(repository, [git.resolve_commit(repository, revision)], first_parent=not merged)


def _on_one_hardware(newest_first: Sequence[Run]) -> list[Run]:
    return [
        run for run in newest_first if not run.environment.differences(newest_first[0].environment, HARDWARE_COMPONENTS)
    ]
