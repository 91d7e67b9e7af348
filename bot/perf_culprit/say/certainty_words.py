"""The words for what is proven, suspected or undecided. Headlines, cells, reasons and pages take them from here."""

from collections.abc import Mapping
from typing import Final

from perf_culprit.model.finding import Verdict

PROVEN_WORD: Final = "proven"
SUSPECTED_WORD: Final = "suspected"
UNDECIDED: Final = "undecided"
NOT_PROVEN: Final = "not proven"
WOULD_SUSPECT: Final = "would have been suspected"
VERDICT_WORDS: Final[Mapping[Verdict, str]] = {
    Verdict.REGRESSION: "worse",
    Verdict.IMPROVEMENT: "better",
    Verdict.SUSPECTED: SUSPECTED_WORD,
    Verdict.DIFFERS: "differs",
    Verdict.UNTESTED: "not tested",
    Verdict.NOT_SEEN: "no change seen",
    Verdict.UNCHANGED: "unchanged",
}


def looks(count: int, what: str) -> str:
    """Return the words for changes that are not proven: "looks slower", of several "look slower"."""
    return f"{'looks' if count == 1 else 'look'} {what}"


def unproven(text: str) -> str:
    """Add to a headline that it is not proven."""
    return f"{text}, {NOT_PROVEN}"
