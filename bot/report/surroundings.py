"""What changed besides the code: components of the environment, in words."""

from collections.abc import Iterable
from typing import Final

from bot.model.environment import PACKAGE_SEPARATOR, EnvironmentChange, is_package
from bot.model.report import Report
from bot.report.inert import Safe, code, plain
from bot.report.view import Fold, table
from bot.report.words import counted

_HEAD: Final = ("what", "before", "after"), "lll"
_NAMES: Final = {"runner_image": "image", "os_release": "kernel"}
SHOWN_CHANGES: Final = 20


def surroundings_fold(report: Report, *, most_rows: int) -> Fold:
    """Nothing where nothing differs."""
    changes = report.environment_changes

    def cells(change: EnvironmentChange) -> Iterable[Safe]:
        return code(component(change.name)), code(change.before), code(change.after)

    parts = (table(changes, cells, head=_HEAD, most_rows=most_rows),) if changes else ()
    return Fold(summary=Safe(f"Changed besides the code · {counted(len(changes), 'difference')}"), parts=parts)


def surroundings_blocks(report: Report) -> list[str]:
    """For a terminal; none where nothing differs."""
    changes = report.environment_changes
    if not changes:
        return []
    lines = [f"- {plain(change_words(change))}" for change in changes[:SHOWN_CHANGES]]
    more = len(changes) - len(lines)
    lines += [f"and {more:,} more: see report.json"] if more else []
    return ["\n".join(["Changed besides the code:", *lines])]


def change_words(change: EnvironmentChange) -> str:
    """Such as "numpy 2.4.5 → 2.4.6"; foreign text."""
    return f"{component(change.name)} {change.before} → {change.after}"


def component(name: str) -> str:
    return name.partition(PACKAGE_SEPARATOR)[2] if is_package(name) else _NAMES.get(name, name)
