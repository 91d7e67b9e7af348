"""What a history weighs, and what its compaction did, for a terminal."""

import math
from typing import Final

from bot.model.history_size import Compacted, HistorySize
from bot.report.inert import plain
from bot.report.numbers import percent, quantities
from bot.report.tables import columns
from bot.report.words import counted

SHOWN_MONTHS: Final = 24


def history_size_text(size: HistorySize) -> str:
    """The whole, what a compaction would save, the suites, and the newest months."""
    saved = size.packed_bytes - size.compacted_bytes
    past = f"{counted(size.commits, 'commit')} since {size.since}"
    cut = "; older ones are not here (a shallow clone), so that the past weighs more" if size.is_cut else ""
    reduced = f"{counted(size.to_compact, 'run')} reduced to a summary and {size.to_drop:,} removed"
    left, less = _bytes(size.compacted_bytes), f"{_bytes(saved)} less ({percent(saved / max(size.packed_bytes, 1))})"
    compacted = f"{left} after `history compact`: {less}" if saved > 0 else "`history compact` would save nothing"
    lines = [
        plain(size.place, limit=300),
        f"  {_bytes(size.packed_bytes)} packed, of at most {_bytes(size.limit_bytes)}: {past}{cut}",
        f"  {compacted}; {reduced}",
        f"  {_bytes(size.largest_file_bytes)}: the largest file, before it is packed",
        "",
    ]
    suites = [
        (plain(suite.name, limit=60), f"{suite.runs:,}", f"{suite.uncompacted:,}", _day(suite.first), _day(suite.last))
        for suite in size.suites
    ]
    months = [
        (
            f"{month.month[:4]}-{month.month[4:]}",
            f"{month.runs:,}",
            _bytes(month.packed_bytes),
            f"{month.searches:,}" if month.searches else "",
            f"{month.executions:,}" if month.searches else "",
            f"{math.ceil(month.runner_seconds / 60):,}" if month.searches else "",
        )
        for month in size.months[-SHOWN_MONTHS:]
    ]
    lines += [*columns([("suite", "runs", "uncompacted", "first", "last"), *suites], right=range(1, 5)), ""]
    heads = ("month", "runs", "packed", "searches", "executions", "runner minutes")
    lines += columns([heads, *months], right=range(1, 6))
    if older := size.months[:-SHOWN_MONTHS]:
        lines.append(
            f"and {counted(len(older), 'older month')} with {counted(sum(month.runs for month in older), 'run')}"
        )
    return "\n".join(lines) + "\n"


def compacted_text(compacted: Compacted) -> str:
    place = plain(compacted.place, limit=300)
    if not compacted.done:
        return f"nothing to compact: {counted(compacted.runs, 'run')} in one commit of {place}\n"
    return (
        f"compacted {place}: one commit with {counted(compacted.runs, 'run')}, {compacted.compacted:,} reduced to a "
        f"summary, {compacted.dropped:,} removed\n  the commits before it are freed when the server collects garbage\n"
    )


def _bytes(count: int) -> str:
    (shown,) = quantities((float(count),), "B")
    return f"{shown.number} {shown.unit}"


def _day(day: str) -> str:
    return f"{day[:4]}-{day[4:6]}-{day[6:]}"
