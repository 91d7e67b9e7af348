"""What the comment says of compared call trees: the likely place first, the picture and the tables folded."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from bot.model.report import Conclusion, Report
from bot.model.tree_comparison import Answer, ComparedSuspect, NodeState, ServiceComparison, TreeComparison
from bot.report import tree_comparison as compared
from bot.report.charts import bar
from bot.report.inert import Safe, code, commit, join, own, row, unbroken
from bot.report.mermaid import call_tree_picture
from bot.report.numbers import percent, significant
from bot.report.reasons import sentence_markdown
from bot.report.tables import header
from bot.report.view import Fold, Part
from bot.report.wording import only_diagnosis
from bot.report.words import counted

SUSPECT_ROWS: Final = 20
EXPLAINED: Final = 5
SERVICE_ROWS: Final = 50
NAMES: Final = 10
NOTES: Final = 10
# From here on percents are hard to read.
MANY_TIMES: Final = 9.0
_SUSPECTS: Final = ("suspect", "own time before", "after", "change with callees", "calls", "changed by")


def first_suspect(report: Report) -> ComparedSuspect | None:
    """Where to look: of a regression, and where only the call trees show one. Elsewhere no news."""
    if report.diagnosis is None:
        return None
    if report.conclusion is not Conclusion.REGRESSION and not only_diagnosis(report):
        return None
    return next(iter(compared.shown_suspects(report.diagnosis)), None)


def through(report: Report, *, faster: bool, repository_url: str | None) -> Safe | None:
    """The commit for the headline, where it is known and suspects were found. `faster`: others got faster."""
    diagnosis = report.diagnosis
    is_regression = report.conclusion is Conclusion.REGRESSION
    if diagnosis is None or diagnosis.commit is None or not is_regression or first_suspect(report) is None:
        return None
    what = Safe("; the slowdown" if faster else ",")
    return own("{} most likely through {}", what, commit(diagnosis.commit, repository_url=repository_url))


def where_to_look(report: Report, suspect: ComparedSuspect) -> Safe:
    """Such as "`Parser.tokenize` takes 61% longer; this commit changed it."."""
    changed = ""
    if suspect.touched is not None:
        one = report.diagnosis is not None and report.diagnosis.commit is not None
        changed = "; this commit changed it" if one else "; it was changed in between"
    sure = "" if suspect.q_value is not None else " (by totals alone, without certainty)"
    return own("**{} {}{}.**{}", code(suspect.method), Safe(effect(suspect)), Safe(changed), Safe(sure))


def diagnosis_folds(report: Report, *, repository_url: str | None) -> Iterator[Fold]:
    diagnosis = report.diagnosis
    if diagnosis is None:
        return
    yield _tree_fold(diagnosis, repository_url=repository_url)
    if diagnosis.impacted:
        yield _impact_fold(diagnosis)


def _tree_fold(diagnosis: TreeComparison, *, repository_url: str | None) -> Fold:
    suspects = compared.shown_suspects(diagnosis)
    parts: list[Part] = []
    service = pictured(diagnosis, suspects[0] if suspects else None)
    if service is not None:
        title = own("Slower paths of {}", code(service.service, limit=60))
        parts.append(Part(title=title, block=call_tree_picture(diagnosis, service), rows=(), total=0))
    if suspects:
        parts.append(
            Part(
                header=header(_SUSPECTS, "lrrlrl"),
                rows=tuple(
                    _suspect_row(one, diagnosis, repository_url=repository_url) for one in suspects[:SUSPECT_ROWS]
                ),
                total=len(suspects),
            )
        )
        explained = [one for one in suspects[:EXPLAINED] if compared.why(one)]
        rows = tuple(own("- {}: {}", code(one.method), Safe(compared.why(one))) for one in explained)
        parts.append(Part(title=Safe("Why these"), rows=rows, total=len(rows)))
    for heading, names in compared.added_or_removed(diagnosis).items():
        listed = tuple(own("- {}", code(name)) for name in names[:NAMES])
        parts.append(Part(title=Safe(heading), rows=listed, total=len(names)))
    answers = ((code(one.service, limit=60), compared.answer_markdown(one)) for one in diagnosis.services)
    services = tuple(own("- {}: {}", *answer) for answer in answers)
    parts.append(Part(title=Safe("What was compared"), rows=services[:NAMES], total=len(services)))
    if diagnosis.notes:
        noted = tuple(own("- {}", sentence_markdown(note)) for note in diagnosis.notes[:NOTES])
        parts.append(Part(title=Safe("Notes on the call trees"), rows=noted, total=len(diagnosis.notes)))
    return Fold(summary=Safe(f"Why: the call tree, {_FOUND[diagnosis.answer](suspects)}"), parts=tuple(parts))


_FOUND: Final[Mapping[Answer, Callable[[Sequence[ComparedSuspect]], str]]] = {
    Answer.SLOWER: lambda suspects: counted(len(suspects), "suspect"),
    Answer.NOT_SLOWER: lambda _: "no method got slower",
    Answer.UNDECIDED: lambda suspects: (
        f"undecided, {counted(len(suspects), 'method')} may be slower" if suspects else "undecided"
    ),
}


def _suspect_row(suspect: ComparedSuspect, diagnosis: TreeComparison, *, repository_url: str | None) -> Safe:
    before, after = compared.amounts(suspect.baseline, suspect.target, suspect.unit, own=True)
    touched = Safe("\N{EN DASH}")
    if suspect.touched is not None:
        line = "" if suspect.touched.first_line is None else f":{suspect.touched.first_line}"
        place = code(f"{suspect.touched.file}{line}", limit=80)
        who = own("{}, ", commit(diagnosis.commit, repository_url=repository_url)) if diagnosis.commit else Safe("")
        touched = own("{}{}", who, place)
    changed = join(", ", [unbroken(compared.change(suspect)), unbroken(compared.certainty(suspect))])
    numbers = [unbroken(cell) for cell in (before, after)]
    counted_calls = unbroken(compared.calls(suspect.baseline, suspect.target))
    return row([code(suspect.method), *numbers, changed, counted_calls, touched])


def _impact_fold(diagnosis: TreeComparison) -> Fold:
    impacted = diagnosis.impacted
    part = Part(
        header=header(("service", "share of its time in the suspects"), "ll"),
        rows=tuple(
            row([code(one.service), own("`{}` {}", Safe(bar(one.share)), Safe(percent(one.share)))])
            for one in impacted[:SERVICE_ROWS]
        ),
        total=len(impacted),
    )
    return Fold(summary=Safe(f"Impact: {counted(len(impacted), 'service')} to test again"), parts=(part,))


def pictured(diagnosis: TreeComparison, suspect: ComparedSuspect | None) -> ServiceComparison | None:
    """The service where the first suspect gained most; none where nothing is slower."""
    if suspect is None:
        return None
    services = [one for one in diagnosis.services if one.service == suspect.service]
    slow = (NodeState.SLOWER, NodeState.ADDED)
    return next((one for one in services if any(node.state in slow for node in one.nodes)), None)


def effect(suspect: ComparedSuspect) -> str:
    if suspect.baseline is None:
        return "is new"
    if suspect.relative_change is None:
        return "got slower"
    size = percent(abs(suspect.relative_change))
    own = compared.own_change(suspect.baseline, suspect.target)
    callees = "" if own is None else f" with callees, own time {own}"
    if suspect.unit == "share":
        return f"takes a {size} larger share of the time{callees}"
    if suspect.relative_change >= MANY_TIMES:
        return f"takes {significant(1 + suspect.relative_change)} times as long{callees}"
    return f"takes {size} {'longer' if suspect.relative_change >= 0 else 'less time'}{callees}"
