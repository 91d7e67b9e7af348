"""Remarks beside the code that made it slower, for the check run: suspects that the commit changed."""

from dataclasses import dataclass
from typing import Final

from bot.model.report import Conclusion, Report
from bot.report.inert import NAME_LIMIT, SENTENCE_LIMIT, clean
from bot.report.tree_comparison import amounts, calls, certainty, change, shown_suspects, why

# More remarks are no help; they also fit one request.
MOST_REMARKS: Final = 20
_LONGEST_PATH: Final = 500


@dataclass(frozen=True, kw_only=True, slots=True)
class Remark:
    """Plain text: GitHub formats nothing of it. `path` is relative to the repository."""

    path: str
    line: int
    title: str
    message: str


def remarks(report: Report) -> tuple[Remark, ...]:
    """Of a regression only, one per changed function whose lines are known, the most suspicious first."""
    if report.diagnosis is None or report.conclusion is not Conclusion.REGRESSION:
        return ()
    made: dict[tuple[str, int], Remark] = {}
    for suspect in shown_suspects(report.diagnosis):
        code = suspect.touched
        if code is None or code.first_line is None or not 0 < code.first_line < 2**31 or not _is_inside(code.file):
            continue
        before, after = amounts(suspect.baseline, suspect.target, suspect.unit, own=True)
        text = (
            f"{clean(suspect.method)}: {change(suspect)} with callees, own time {before} → {after}, "
            f"calls {calls(suspect.baseline, suspect.target)}, {certainty(suspect)}. {why(suspect)}."
        )
        made.setdefault(
            (code.file, code.first_line),
            Remark(
                path=code.file,
                line=code.first_line,
                title=f"Slower: {clean(suspect.method, limit=NAME_LIMIT)}",
                message=clean(text, limit=2 * SENTENCE_LIMIT),
            ),
        )
    return tuple(made.values())[:MOST_REMARKS]


def _is_inside(path: str) -> bool:
    """A path of the repository: it may come from a stranger's file."""
    parts = path.split("/")
    return path.isprintable() and len(path) <= _LONGEST_PATH and not path.startswith("/") and ".." not in parts
