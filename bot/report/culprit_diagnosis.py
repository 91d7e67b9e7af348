"""What a bisection's answer says of the program, in either form: what the culprit changed, and which got slower."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from bot.model.bisection_report import CulpritDiagnosis
from bot.model.finding import Verdict
from bot.model.reason import Reason
from bot.model.tree_comparison import Answer, ChangeCause, ComparedSuspect, TreeComparison
from bot.report.call_trees import effect, pictured
from bot.report.inert import Safe, join, own
from bot.report.mermaid import call_tree_picture
from bot.report.numbers import percent
from bot.report.tree_comparison import amounts, answer_words, calls, certainty, change, shown_suspects, why
from bot.report.words import counted

SUSPECT_ROWS: Final = 5
FUNCTIONS: Final = 8
SERVICES: Final = 10
PATH_NAMES: Final = 12
_COLUMNS: Final = ("with callees", "method", "own time before", "after", "certainty")
_COUNTED: Final = ("share", "function", "own before", "after", "calls", "")


@dataclass(frozen=True, kw_only=True, slots=True)
class Form:
    """How the parts of an answer become text. Every function takes foreign text, but `shade` a line of ours."""

    name: Callable[..., Safe]
    prose: Callable[[str], Safe]
    commit: Callable[[str], Safe]
    heading: str
    quoted: str
    table: Callable[[Sequence[str], Sequence[Sequence[Safe]]], Safe]
    reason: Callable[[Reason], Safe]
    figure: str
    item: str
    folds: bool
    shade: Callable[[str, Verdict], Safe] = lambda text, _: Safe(text)


def diagnosis_blocks(diagnosis: CulpritDiagnosis, form: Form) -> Iterator[Safe]:
    """The place first, then the path to it, the methods with their numbers, and the services to test again."""
    if diagnosis.counted:
        yield Safe("The functions whose instructions the change is made of, counted beside its parent's:")
        rows = [_counted(one, form) for one in diagnosis.counted[:SUSPECT_ROWS]]
        filled = max(column for row in rows for column, cell in enumerate(row, start=1) if cell)
        yield form.table(_COUNTED[:filled], [row[:filled] for row in rows])
    if diagnosis.comparison is not None:
        yield from _compared(diagnosis.comparison, form)
    elif diagnosis.doubt is not None and not diagnosis.counted:
        yield own("Which methods got slower is not known: {}.", form.reason(diagnosis.doubt))
    if diagnosis.changed:
        shown = diagnosis.changed[:FUNCTIONS]
        count = len(diagnosis.changed) + diagnosis.more
        places = (
            own("{} ({})", form.name(one.qualified_name), form.name(f"{one.path}:{one.changed_line or one.first_line}"))
            for one in shown
        )
        rest = Safe(f" and {count - len(shown):,} more") if count > len(shown) else Safe("")
        commit = form.commit(diagnosis.commit)
        yield own("{} changed {}: {}{}.", commit, Safe(counted(count, "function")), join(", ", places), rest)


def _counted(method: ComparedSuspect, form: Form) -> list[Safe]:
    """A row begins with a number of ours: a name may look like a command of GitHub's runner."""
    before, after = amounts(method.baseline, method.target, method.unit, own=True)
    one_sided = "new" if method.baseline is None else "gone" if method.target is None else ""
    remarks = [Safe(one_sided)] if one_sided else []
    if len(method.path) > 1 and (one_sided or method.cause is not ChangeCause.TIME_PER_CALL):
        remarks.append(own("called by {}", form.name(method.path[-2], limit=60)))
    if method.touched is not None:
        line = "" if method.touched.first_line is None else f":{method.touched.first_line}"
        remarks.append(own("changed in {}", form.name(f"{method.touched.file}{line}")))
    numbers = (before, after, calls(method.baseline, method.target))
    share = Safe(percent(method.parts.own_time))
    return [share, form.name(method.method, limit=60), *map(Safe, numbers), join("; ", remarks)]


def _compared(comparison: TreeComparison, form: Form) -> Iterator[Safe]:
    suspects = shown_suspects(comparison)
    if suspects:
        yield _first(suspects[0], comparison, form)
        names = suspects[0].path[-PATH_NAMES:]
        cut = Safe("… → " if len(names) < len(suspects[0].path) else "")
        yield own("Call path: {}{}", cut, join(" → ", (form.name(name, limit=60) for name in names)))
        yield form.table(_COLUMNS, [_row(one, form) for one in suspects[:SUSPECT_ROWS]])
        reasons = [(one.method, why(one)) for one in suspects[:SUSPECT_ROWS]]
        lines = (
            own(form.item, own("why {}: {}", form.name(name, limit=60), Safe(text))) for name, text in reasons if text
        )
        yield join("\n", lines)
        service = pictured(comparison, suspects[0])
        if service is not None and form.folds:
            tree = call_tree_picture(comparison, service)
            yield own("<details><summary>The call tree, beside its parent's</summary>\n\n{}\n\n</details>", tree)
    for one in comparison.services[:SERVICES]:
        text = join("; ", [Safe(answer_words(one)), *map(form.reason, one.doubts)])
        yield own("Profiled beside its parent: {}, {}.", form.name(one.service, limit=60), text)
    if comparison.impacted:
        shares = (
            own("{} {}", form.name(one.service), Safe(percent(one.share))) for one in comparison.impacted[:SERVICES]
        )
        yield own("Services to test again, with the share of their time in these methods: {}.", join(", ", shares))


def _first(suspect: ComparedSuspect, comparison: TreeComparison, form: Form) -> Safe:
    """Such as "`Parser.tokenize` takes 61% longer; this commit changed it.", only as sure as it is."""
    changed = "; this commit changed it" if suspect.touched is not None else ""
    sure = "" if comparison.answer is Answer.SLOWER else " (without certainty)"
    return own("The likely place: {} {}{}.", form.name(suspect.method), Safe(effect(suspect)), Safe(changed + sure))


def _row(suspect: ComparedSuspect, form: Form) -> list[Safe]:
    """As above: ours comes first."""
    before, after = amounts(suspect.baseline, suspect.target, suspect.unit, own=True)
    first, *numbers = (
        Safe(one.replace(" ", "\N{NO-BREAK SPACE}")) for one in (change(suspect), before, after, certainty(suspect))
    )
    return [first, form.name(suspect.method, limit=60), *numbers]
