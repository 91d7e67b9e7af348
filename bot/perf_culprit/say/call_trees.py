"""Compared call trees: the likely place, the suspects and reasons, what was compared, what to test again."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from perf_culprit.model.bisection import CulpritDiagnosis
from perf_culprit.model.call_tree import ChangeKind, MethodSuspect
from perf_culprit.model.notable_calls import shown_suspects
from perf_culprit.model.reason import Caveat
from perf_culprit.model.report import (
    Answer,
    ChangeCause,
    ComparedSuspect,
    Conclusion,
    NodeAmount,
    Report,
    ServiceComparison,
    SuspectShare,
    TreeComparison,
)
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.say.call_tree_pictures import call_tree_picture, pictured, tree_and_flame
from perf_culprit.say.call_tree_words import (
    amounts,
    answer_words,
    before_to_after,
    begins_to_call,
    bound,
    calls,
    suspect_certainty,
    suspect_change,
    suspect_effect,
    tree_headline,
    unseen,
    why,
)
from perf_culprit.say.certainty_words import UNDECIDED, unproven
from perf_culprit.say.charts import bar
from perf_culprit.say.document import (
    NOTHING,
    BlockText,
    Bullets,
    Column,
    ColumnRole,
    CommitLink,
    DocumentNode,
    DocumentPart,
    Fold,
    Name,
    Picture,
    Shown,
    Strong,
    Table,
    TableRow,
    Text,
    grid,
    join_texts,
    paragraph,
    some,
    table,
    words,
)
from perf_culprit.say.headlines import only_diagnosis
from perf_culprit.say.inert import Safe, unbroken
from perf_culprit.say.numbers import amount, count_of, percent, quantities
from perf_culprit.say.reason_text import worded
from perf_culprit.say.render_terminal import log_text

SUSPECT_ROWS: Final = 20
CULPRIT_ROWS: Final = 5
EXPLAINED: Final = 5
SERVICE_ROWS: Final = 50
_NAMES: Final = 10
NOTES: Final = 10
PATH_NAMES: Final = 12
NEW_CALLEES: Final = 2
_SUSPECTS: Final = (
    Column(name="suspect", role=ColumnRole.NAME),
    Column(name="own time before", right=True),
    Column(name="after", right=True),
    Column(name="change with callees"),
    Column(name="calls", right=True),
    Column(name="changed by"),
)
_MOVED: Final = (
    Column(name="method", role=ColumnRole.NAME),
    *(Column(name=name, right=True) for name in ("own time before", "after", "change", "of the whole")),
)
_IMPACT: Final = (
    Column(name="service"),
    Column(name="share of its time in the suspects"),
    Column(name="compared"),
)
# Profilers group threads under this name. Nobody tests a thread.
_THREAD: Final = "Thread *"
_COSTS: Final = (
    Column(name="method"),
    Column(name="own time", right=True),
    Column(name="executions", right=True),
    Column(name="score", right=True),
    Column(name="test again when it changes (own time there)"),
)


_PARTS: Final = (
    Column(name="suspect", role=ColumnRole.NAME),
    Column(name="time with callees", right=True),
    Column(name="score", right=True),
    Column(name="own time", right=True),
    Column(name="begins here", right=True),
    Column(name="branches here", right=True),
    Column(name="with callees", right=True),
    Column(name="code matched by", spare=True),
    Column(name="own time in", spare=True),
)


def _suspects(
    comparison: TreeComparison, *, most: int, explained: int = EXPLAINED, repository_url: str | None = None
) -> Iterator[DocumentPart]:
    suspects = shown_suspects(comparison)
    if suspects:
        title = Safe("Suspects" if comparison.answer is Answer.SLOWER else "What gained most, without certainty")
        row = partial(_suspect_row, comparison, repository_url)
        yield table(_SUSPECTS, suspects, row, title=title, shown=Shown.TABLE, most=most)
        reasons = [reason for suspect in suspects[:explained] if (reason := _why(comparison, suspect))]
        yield Bullets(items=reasons, total=len(reasons), title=Safe("Why these"))
    if comparison.answer is not Answer.SLOWER and (rows := _differing_methods(comparison)):
        title = Safe(unproven("Methods that moved most"))
        yield table(_MOVED, rows, _moved_row, title=title, shown=Shown.TABLE, most=min(most, TEXT_LIMITS.names))


@dataclass(frozen=True, kw_only=True, slots=True)
class _MethodTime:
    """A method's time without callees on both sides; `share`: its difference as a share of the service's whole."""

    method: str
    unit: str
    before: float
    after: float
    share: float


def _differing_methods(comparison: TreeComparison) -> list[_MethodTime]:
    """Return the methods whose own time differs, without the suspects, the largest difference first."""
    suspect_methods = {suspect.method for suspect in shown_suspects(comparison)}
    rows = []
    for service in comparison.services:
        whole = 1.0 if service.unit == "share" else max(service.baseline_total, service.target_total)
        times: dict[str, tuple[float, float]] = {}
        for node in service.nodes:
            before, after = times.get(node.method, (0.0, 0.0))
            own = [0.0 if side is None else side.self_time for side in (node.baseline, node.target)]
            times[node.method] = before + own[0], after + own[1]
        rows += [
            _MethodTime(method=method, unit=service.unit, before=before, after=after, share=(after - before) / whole)
            for method, (before, after) in times.items()
            if before != after and whole > 0 and method not in suspect_methods
        ]
    return sorted(rows, key=lambda row: (-abs(row.share), row.method))


def _moved_row(moved: _MethodTime) -> TableRow:
    first, second = (
        NodeAmount(elapsed=time, self_time=time) if time > 0 else None for time in (moved.before, moved.after)
    )
    before, after = map(unbroken, amounts(first, second, moved.unit, own=True))
    change = percent(moved.after / moved.before - 1, signed=True) if moved.before > 0 and moved.after > 0 else ""
    return TableRow(
        (Name(moved.method), before, after, Safe(change or NOTHING), Safe(percent(moved.share, signed=True)))
    )


def _why(comparison: TreeComparison, suspect: ComparedSuspect) -> Text | None:
    callees = begins_to_call(comparison, suspect)[:NEW_CALLEES]
    parts: list[Text] = [Safe(text)] if (text := why(suspect, begins=bool(callees))) else []
    if callees:
        parts.append(words("begins to call {}", join_texts(" and ", map(Name, callees))))
    return words("{}: {}", Name(suspect.method), join_texts("; ", parts)) if parts else None


def _suspect_row(comparison: TreeComparison, repository_url: str | None, suspect: ComparedSuspect) -> TableRow:
    touched: Text = NOTHING
    if suspect.touched is not None:
        line = "" if suspect.touched.first_line is None else f":{suspect.touched.first_line}"
        touched = Name(f"{suspect.touched.file}{line}", 80)
        if comparison.commit:
            touched = words("{}, {}", CommitLink(comparison.commit, repository_url), touched)
    before, after = map(unbroken, amounts(suspect.baseline, suspect.target, suspect.unit, own=True))
    changed = join_texts(", ", map(unbroken, (suspect_change(suspect), suspect_certainty(suspect))))
    counted_calls = unbroken(calls(suspect.baseline, suspect.target))
    return TableRow((Name(suspect.method), before, after, changed, counted_calls, touched))


def _size_of_comparison(comparison: TreeComparison) -> Iterator[DocumentPart]:
    for heading, names in (
        *_one_sided(comparison),
        ("Services added", comparison.added_services),
        ("Services removed", comparison.removed_services),
    ):
        if names:
            yield Bullets(items=[*map(Name, names[:_NAMES])], total=len(names), title=Safe(heading))
    # The table of services to test again has the others.
    impacted = {one.service for one in _to_test(comparison)}
    others = [service for service in comparison.services if service.service not in impacted]
    if others:
        answers = [words("{}: {}", Name(service.service, 60), _answer(service)) for service in others[:_NAMES]]
        yield Bullets(items=answers, total=len(others), title=Safe("What was compared"))
    if notes := [note for note in comparison.notes if note.code is not Caveat.RUN_BY]:
        sentences = [*map(worded, notes[:NOTES])]
        yield Bullets(items=sentences, total=len(notes), title=Safe("Notes on the call trees"))


def _one_sided(comparison: TreeComparison) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield headings with methods of one side's trees: added or removed only if the source says so."""
    sides = [side for service in comparison.services for node in service.nodes for side in (node.baseline, node.target)]
    # Trees without counts of calls come first: in them a method may run unseen.
    side = min((side for side in sides if side is not None), key=lambda side: side.calls is not None, default=None)
    for names, kind, after in (
        (comparison.added_methods, ChangeKind.ADDED, False),
        (comparison.removed_methods, ChangeKind.DELETED, True),
    ):
        written = [name for name in names if comparison.touched_methods.get(name) is kind]
        yield ("Methods removed" if after else "Methods added"), written
        yield f"Methods {unseen(side, after=after)}", [name for name in names if name not in written]


def _answer(comparison: ServiceComparison) -> Text:
    return join_texts("; ", [Safe(answer_words(comparison)), *map(worded, comparison.doubts)])


def _to_test(comparison: TreeComparison) -> tuple[SuspectShare, ...]:
    """Return the services to test again. If one alone was compared, it is known already."""
    if len(comparison.services) == 1:
        return ()
    return tuple(service for service in comparison.impacted if _THREAD not in service.service)


def _impact(comparison: TreeComparison, *, title: str | None = None) -> Table:
    answers = {service.service: _answer(service) for service in comparison.services}

    def row(one: SuspectShare) -> TableRow:
        share = words("{} {}", BlockText(bar(one.share)), Safe(percent(one.share)))
        return TableRow((Name(one.service), share, answers.get(one.service, NOTHING)))

    heading = None if title is None else Safe(title)
    return table(_IMPACT, _to_test(comparison), row, title=heading, shown=Shown.TABLE, most=SERVICE_ROWS)


def _path(suspect: ComparedSuspect, comparison: TreeComparison) -> Text:
    def linked(name: str) -> Text:
        changed = name in comparison.touched_methods
        return words("{}, changed", Name(name, 60)) if changed else Name(name, 60)

    names = suspect.path[-PATH_NAMES:]
    cut = Safe("… → " if len(names) < len(suspect.path) else "")
    return words("Call path: {}{}", cut, join_texts(" → ", map(linked, names)))


def tree_comparison_text(comparison: TreeComparison, *, top: int = 20) -> str:
    """Render the comparison without foreign control characters. No line starts with foreign text."""
    suspects = shown_suspects(comparison)
    nodes: list[DocumentNode] = [paragraph(Safe(tree_headline(comparison)))]
    if suspects:
        parts = table(
            _PARTS, suspects, _parts_row, title=Safe("Scores, and shares of the slowdown"), shown=Shown.TABLE, most=top
        )
        nodes += [*_suspects(comparison, most=top, explained=top), parts, paragraph(_path(suspects[0], comparison))]
    else:
        nodes += _suspects(comparison, most=top)
    nodes += _size_of_comparison(comparison)
    if _to_test(comparison):
        nodes.append(_impact(comparison, title="Services to test again"))
    return log_text(*nodes, more_at="the JSON")


def _parts_row(suspect: ComparedSuspect) -> TableRow:
    parts = suspect.parts
    shares = (Safe(percent(share)) for share in (parts.own_time, parts.origin, parts.branch, parts.slowdown))
    touched = "" if suspect.touched is None else suspect.touched.certainty.value.replace("_", " ")
    services = [
        words("{} {}", Name(service.service, 40), Safe(percent(service.self_share))) for service in suspect.services
    ]
    whole = Safe(before_to_after(suspect.baseline, suspect.target, suspect.unit, own=False))
    score = Safe(f"{suspect.score:.2f}")
    return TableRow(
        (Name(suspect.method), whole, score, *shares, Safe(touched), some(services, TEXT_LIMITS.listed_shares))
    )


def first_suspect(report: Report) -> ComparedSuspect | None:
    """Return the first suspect if a metric got or looks worse, or if only the call trees show a slowdown. Else None."""
    if report.diagnosis is None:
        return None
    got_worse = report.conclusion is Conclusion.REGRESSION or any(finding.looks_worse for finding in report.findings)
    if not got_worse and not only_diagnosis(report):
        return None
    return next(iter(shown_suspects(report.diagnosis)), None)


def through(report: Report, *, repository_url: str | None) -> Text | None:
    """Return the commit with its subject and author, if it is known and its call trees do not contradict it."""
    diagnosis, is_regression = report.diagnosis, report.conclusion is Conclusion.REGRESSION
    looks_worse = any(finding.looks_worse for finding in report.findings)
    if diagnosis is None or diagnosis.commit is None or not (looks_worse or is_regression):
        return None
    if diagnosis.answer is Answer.NOT_SLOWER:
        return None
    commit: Text = CommitLink(diagnosis.commit, repository_url)
    if diagnosis.subject:
        commit = words("{} {}", commit, Name(diagnosis.subject, TEXT_LIMITS.tree_subject_characters))
    if diagnosis.author:
        commit = words("{} by {}", commit, Name(diagnosis.author))
    return words("{} {}.", Safe("Most likely through" if is_regression else "If so, through"), commit)


def untraced(report: Report) -> Text | None:
    """Return why there are no call trees, if something has tried to record them."""
    diagnosis = report.diagnosis
    if diagnosis is None or diagnosis.services:
        return None
    return words("{} {}", Strong(Safe("The function is not known:")), join_texts("; ", [*map(worded, diagnosis.notes)]))


def where_to_look(report: Report, suspect: ComparedSuspect) -> Text:
    """Return a hint like "Look first at `Parser.tokenize`, which this commit changed.", or the effect."""
    who = ""
    if suspect.touched is not None:
        one = report.diagnosis is not None and report.diagnosis.commit is not None
        who = f", which {'this commit changed' if one else 'was changed in between'}"
    sure = "" if suspect.q_value is not None else " by totals alone, without certainty"
    if not only_diagnosis(report):
        doubt = "; its call trees are not certain" if sure else ""
        place = words("Look first at {}{}{}.", Name(suspect.method), Safe(who), Safe(doubt))
        notes = () if report.diagnosis is None else report.diagnosis.notes
        return join_texts(" ", [place, *(words("{}.", worded(note)) for note in notes if note.code is Caveat.RUN_BY)])
    between = Safe(f"{who}{', ' if who else ' '}{suspect_effect(suspect)}{sure}")
    return Strong(words("{}{}.", Name(suspect.method), between))


def diagnosis_folds(report: Report, *, repository_url: str | None) -> Iterator[Fold]:
    comparison = report.diagnosis
    if comparison is None or not comparison.services:
        return
    suspects = shown_suspects(comparison)
    parts = [*_picture(comparison), *_suspects(comparison, most=SUSPECT_ROWS, repository_url=repository_url)]
    summary = Safe(f"Why: the call tree, {_summary(comparison, suspects)}")
    yield Fold(summary=summary, parts=(*parts, *_size_of_comparison(comparison)), opened=True)
    if to_test := _to_test(comparison):
        summary = Safe(f"Impact: {count_of(len(to_test), 'service')} to test again")
        yield Fold(summary=summary, parts=(_impact(comparison),), opened=True)


def _picture(comparison: TreeComparison) -> Iterator[Picture]:
    service = pictured(comparison, next(iter(shown_suspects(comparison)), None))
    if service is not None:
        title = words("Slower paths of {}", Name(service.service, 60))
        picture = call_tree_picture(comparison, service)
        yield Picture(title=title, markdown=picture, html=partial(tree_and_flame, comparison, service))


def _summary(comparison: TreeComparison, suspects: Sequence[ComparedSuspect]) -> str:
    if comparison.answer is Answer.SLOWER:
        return count_of(len(suspects), "suspect")
    if comparison.answer is Answer.NOT_SLOWER:
        return f"no {bound(comparison.services)}"
    return f"{UNDECIDED}, {count_of(len(suspects), 'method')} may be slower" if suspects else UNDECIDED


FUNCTIONS: Final = 8
_COUNTED: Final = ("share", "function", "own before", "after", "calls", "")


def culprit_nodes(diagnosis: CulpritDiagnosis, *, repository_url: str | None) -> Iterator[DocumentNode]:
    """Yield the place, the path to it, the methods with their numbers, and the services to test again."""
    if diagnosis.counted:
        yield paragraph(Safe("The change by function, in instructions, compared with its parent:"))
        yield _without_empty_columns(_COUNTED, [_call_row(function) for function in diagnosis.counted[:CULPRIT_ROWS]])
    if diagnosis.comparison is not None:
        yield from _slower(diagnosis.comparison, repository_url=repository_url)
    elif diagnosis.doubt is not None and not diagnosis.counted:
        yield paragraph(words("Which methods got slower is not known: {}.", worded(diagnosis.doubt)))
    if diagnosis.changed:
        places = [
            words("{} ({})", Name(one.qualified_name), Name(f"{one.path}:{one.changed_line or one.first_line}"))
            for one in diagnosis.changed[:FUNCTIONS]
        ]
        count = len(diagnosis.changed) + diagnosis.more
        rest = Safe(f" and {count - len(places):,} more" if count > len(places) else "")
        changed = Safe(count_of(count, "function"))
        commit = CommitLink(diagnosis.commit, repository_url)
        yield paragraph(words("{} changed {}: {}{}.", commit, changed, join_texts(", ", places), rest))


def _without_empty_columns(names: Sequence[str], rows: Sequence[tuple[Text, ...]]) -> Table:
    """Return a table without the last columns if they are empty in all rows."""
    filled = max(place for row in rows for place, cell in enumerate(row, start=1) if cell)
    return grid(names[:filled], [row[:filled] for row in rows])


def _call_row(method: ComparedSuspect) -> tuple[Text, ...]:
    """Return a row that begins with our own number, because a name may look like a command to GitHub's runner."""
    before, after = amounts(method.baseline, method.target, method.unit, own=True)
    one_sided = ""
    if method.baseline is None or method.target is None:
        one_sided = unseen(method.baseline or method.target, after=method.target is None)
    remarks: list[Text] = [Safe(one_sided)] if one_sided else []
    if len(method.path) > 1 and (one_sided or method.cause is not ChangeCause.TIME_PER_CALL):
        remarks.append(words("called by {}", Name(method.path[-2], 60)))
    if method.touched is not None:
        line = "" if method.touched.first_line is None else f":{method.touched.first_line}"
        remarks.append(words("changed in {}", Name(f"{method.touched.file}{line}")))
    numbers = map(Safe, (before, after, calls(method.baseline, method.target)))
    return Safe(percent(method.parts.own_time)), Name(method.method, 60), *numbers, join_texts("; ", remarks)


def _slower(comparison: TreeComparison, *, repository_url: str | None) -> Iterator[DocumentNode]:
    suspects = shown_suspects(comparison)
    if suspects:
        yield paragraph(_first(suspects[0], comparison))
        yield paragraph(_path(suspects[0], comparison))
    yield from _suspects(comparison, most=CULPRIT_ROWS, repository_url=repository_url)
    if pictures := tuple(_picture(comparison)):
        yield Fold(summary=Safe("The call tree, compared with the parent's"), parts=pictures)
    yield from _size_of_comparison(comparison)
    if _to_test(comparison):
        yield _impact(comparison, title="Services to test again")


def _first(suspect: ComparedSuspect, comparison: TreeComparison) -> Text:
    """Return a sentence like "`Parser.tokenize` takes 61% longer; this commit changed it.", with its certainty."""
    changed = "; this commit changed it" if suspect.touched is not None else ""
    sure = "" if comparison.answer is Answer.SLOWER else " (without certainty)"
    return words(
        "The likely place: {} {}{}.", Name(suspect.method), Safe(suspect_effect(suspect)), Safe(changed + sure)
    )


_METHODS: Final = 20


def costs_folds(report: Report) -> Iterator[Fold]:
    if report.costs is None:
        return
    costs = report.costs
    large = tuple(suspect for suspect in costs.suspects if not suspect.tiny) or costs.suspects

    def row(suspect: MethodSuspect) -> TableRow:
        (spent,) = quantities((suspect.self_ms,), costs.unit)
        services = [
            words("{} {}", Name(service.service, 40), Safe(percent(service.self_share))) for service in suspect.services
        ]
        if more := len(services[TEXT_LIMITS.named_services :]):
            services[TEXT_LIMITS.named_services :] = [words("{} more", more)]
        numbers = (amount(spent), Safe(f"{suspect.calls:,}"), Safe(f"{suspect.score:.2f}"))
        return TableRow((Name(suspect.method), *numbers, join_texts(", ", services)))

    title = Safe("Only this revision: the methods that cost most, not those that got slower")
    part = replace(table(_COSTS, large[:_METHODS], row, title=title, shown=Shown.TABLE), total=costs.methods)
    where = f"{count_of(costs.methods, 'method')} in {count_of(costs.services, 'service')}"
    yield Fold(summary=Safe(f"Where the time goes: {where}"), parts=(part,))
