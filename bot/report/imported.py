"""What an import stored, for a terminal."""

from bot.model.imported import Imported
from bot.report.inert import plain
from bot.report.words import counted

SHOWN_SUITES = 10


def imported_text(imported: Imported) -> str:
    """One line, then what limits the use of the runs, each with its consequence."""
    verb = "imported" if imported.stored else "would import"
    what = f"{counted(imported.runs, 'run')} of {counted(imported.commits, 'commit')}{_dates(imported)}"
    named = ", ".join(plain(suite, limit=40) for suite in imported.suites[:SHOWN_SUITES])
    more = "" if len(imported.suites) <= SHOWN_SUITES else f" and {len(imported.suites) - SHOWN_SUITES:,} more"
    doubt = "" if imported.on_line else "; is --repo the repository of these results?"
    lines = [
        f"{verb} {what} into {'suite' if len(imported.suites) == 1 else 'suites'} {named}{more}",
        f"  {imported.on_line:,} of the commits are ancestors of HEAD: later runs are compared with those only{doubt}",
    ]
    if imported.already_stored:
        lines.append(f"  stored before, so kept as they are: {counted(imported.already_stored, 'run')}")
    if imported.without_environment:
        lines.append(
            f"  the machine of {counted(imported.without_environment, 'run')} is unknown: a step between runs may be"
            " another machine"
        )
    if imported.without_commit:
        lines.append(f"  left out, because they say no full commit hash: {counted(imported.without_commit, 'result')}")
    if imported.dropped:
        lines.append(f"  beyond the history's size limit, so not kept: the oldest {counted(imported.dropped, 'run')}")
    return "\n".join(lines) + "\n"


def _dates(imported: Imported) -> str:
    if imported.first is None or imported.last is None:
        return ""
    return f" ({imported.first:%Y-%m-%d} to {imported.last:%Y-%m-%d})"
