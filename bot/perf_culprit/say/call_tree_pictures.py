"""Compared call trees in the comment: the likely place, Mermaid's picture, the flame graph."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from perf_culprit.model.call_tree import MethodSuspect
from perf_culprit.model.report import (
    Answer,
    ComparedNode,
    ComparedSuspect,
    Conclusion,
    NodeState,
    Report,
    ServiceComparison,
    SuspectShare,
    TreeComparison,
)
from perf_culprit.say.call_tree_text import (
    added_or_removed,
    amounts,
    answer,
    calls,
    certainty,
    change,
    count,
    own_change,
    shown_suspects,
    why,
)
from perf_culprit.say.charts import bar
from perf_culprit.say.document import (
    NOTHING,
    Bullets,
    Column,
    Commit,
    Drawn,
    Fold,
    Name,
    Part,
    Picture,
    Row,
    Said,
    Strong,
    joined,
    table,
    words,
)
from perf_culprit.say.headlines import only_diagnosis
from perf_culprit.say.inert import Safe, clean, fill, inline_data, unbroken
from perf_culprit.say.numbers import amount, counted, percent, quantities, significant
from perf_culprit.say.reason_text import worded

# Compared call trees as Mermaid's text, which GitHub draws; foreign names cannot leave their labels.

# More boxes are no picture. GitHub's Mermaid takes 50,000 characters and 500 edges.
MOST_NODES: Final = 24
LABEL_LIMIT: Final = 48
# Anything else in a label is written by its number, as Mermaid's entity: quotes, brackets, Markdown, HTML and the
# characters that Mermaid itself puts in the place of entities.
_PLAIN: Final = re.compile(r"[A-Za-z0-9 ]")
_SLOW: Final = (NodeState.SLOWER, NodeState.ADDED)
_CLASSES: Final = (
    "  classDef slow stroke:#d29922,stroke-width:2px",
    "  classDef suspect stroke:#cf222e,stroke-width:4px",
    "  classDef touched stroke-dasharray:3 3",
)


def label(text: str) -> str:
    """The text for a quoted label, every other character than letters, digits and spaces as an entity."""
    # "ﬂ°" is what Mermaid itself puts in the place of an entity's start: of a name it would show another character.
    text = text.replace("\N{LATIN SMALL LIGATURE FL}", "fl")
    return "".join(one if _PLAIN.fullmatch(one) else f"#{ord(one)};" for one in text)


def call_tree_picture(comparison: TreeComparison, service: ServiceComparison) -> Safe:
    """A fenced block: the slower paths, what they call, suspects with thick, changed code with dotted borders."""
    touched = touched_methods(comparison)
    places = chosen(service)
    lines = ["```mermaid", "flowchart LR"]
    for i in places:
        node = service.nodes[i]
        words = node_words(node, is_touched=node.method in touched)
        lines.append(f'  n{i}["{label(" ".join(words))}"]')
        if node.parent is not None:
            lines.append(f"  n{node.parent} --> n{i}")
    for name, hits in (
        ("slow", [i for i in places if service.nodes[i].state is NodeState.SLOWER and not service.nodes[i].reasons]),
        ("suspect", [i for i in places if service.nodes[i].reasons]),
        ("touched", [i for i in places if service.nodes[i].method in touched]),
    ):
        if hits:
            lines.append(f"  class {','.join(f'n{i}' for i in hits)} {name}")
    return Safe("\n".join([*lines, *_CLASSES, "```"]))


def touched_methods(comparison: TreeComparison) -> frozenset[str]:
    """Whose code was changed."""
    return frozenset(one.method for one in comparison.suspects if one.touched is not None)


def node_words(node: ComparedNode, *, is_touched: bool) -> tuple[str, str]:
    """The method, and what became of it."""
    words = []
    if node.state is NodeState.ADDED:
        words.append("new")
    elif node.state is NodeState.REMOVED:
        words.append("gone")
    elif node.relative_change is not None:
        own = own_change(node.baseline, node.target)
        words.append(percent(node.relative_change, signed=True).replace(" ", "\N{NO-BREAK SPACE}"))
        if own is not None:
            words.append(f"(own time {own})".replace(" ", "\N{NO-BREAK SPACE}"))
    before, after = (None if side is None else side.calls for side in (node.baseline, node.target))
    if before and after and not 0.99 < after / before < 1.01:
        words.append(f"· {count(before)} → {count(after)} calls")
    if is_touched:
        words.append("· changed")
    return clean(node.method, limit=LABEL_LIMIT), " ".join(words)


def chosen(service: ServiceComparison) -> Sequence[int]:
    """Callers before callees. Suspects with the way to them come first, then slower ones, then what these call."""
    nodes = service.nodes

    def rank(i: int) -> tuple[int, float]:
        node = nodes[i]
        above = None if node.parent is None else nodes[node.parent]
        order = 0 if node.reasons else 1 if node.state is NodeState.SLOWER else 2
        if order == 2 and (node.state is NodeState.FASTER or (above is not None and above.state not in _SLOW)):
            order = 3
        sides = (node.baseline, node.target)
        return order, -max((side.elapsed for side in sides if side is not None), default=0.0)

    kept: set[int] = set()
    for i in sorted((i for i in range(len(nodes)) if rank(i)[0] < 3), key=lambda i: (*rank(i), i)):
        way: list[int] = []
        place: int | None = i
        while place is not None and place not in kept and len(way) <= MOST_NODES:
            way.append(place)
            place = nodes[place].parent
        if len(kept) + len(way) <= MOST_NODES:
            kept.update(way)
    return sorted(kept)


# The difference of two revisions as a flame graph: drawn in a page, and in two columns for flamegraph.pl.

# Flame graphs draw whole numbers: microseconds, millionths of a share, or what was counted.
_SCALES: Final = {"ms": 1_000.0, "share": 1_000_000.0}
_NAME_LIMIT: Final = 500


def flame_section(comparison: TreeComparison) -> Safe:
    """HTML; names are data of its script, never markup. Services lie below a root of their own where they are many.

    Each node is [name, parent, time with callees before and after, own time before and after, 1 for a suspect].
    """
    units = {one.unit for one in comparison.services}
    nodes: list[list[str | int | float]] = []
    above = -1
    if len(comparison.services) > 1:
        totals = [sum(one[place] for one in map(_totals, comparison.services)) for place in (0, 1)]
        nodes.append(["all services", above, *totals, 0, 0, 0])
        above = 0
    for service in comparison.services:
        top = len(nodes)
        nodes.append([clean(service.service, limit=_NAME_LIMIT), above, *_totals(service), 0, 0, 0])
        for node in service.nodes:
            parent = top if node.parent is None else top + 1 + node.parent
            sides = (node.baseline, node.target)
            elapsed = [0.0 if side is None else side.elapsed for side in sides]
            own = [0.0 if side is None else max(0.0, side.self_time) for side in sides]
            nodes.append([clean(node.method, limit=_NAME_LIMIT), parent, *elapsed, *own, int(bool(node.reasons))])
    data = inline_data({"unit": units.pop() if len(units) == 1 else "", "nodes": nodes})
    return Safe(fill("flame.html.j2", data=data))


def collapsed_difference(comparison: TreeComparison) -> bytes:
    """`service;caller;callee 120 310` per path: own time before and after, as difffolded.pl writes it."""
    lines = []
    for service in comparison.services:
        paths: list[str] = []
        for node in service.nodes:
            above = _frame(service.service) if node.parent is None else paths[node.parent]
            paths.append(f"{above};{_frame(node.method)}")
            before, after = _own(node, service)
            if before or after:
                lines.append(f"{paths[-1]} {before} {after}\n")
    return "".join(lines).encode("utf-8", "replace")


def _totals(service: ServiceComparison) -> tuple[float, float]:
    roots = [node for node in service.nodes if node.parent is None]
    before = sum(node.baseline.elapsed for node in roots if node.baseline is not None)
    return before, sum(node.target.elapsed for node in roots if node.target is not None)


def _own(node: ComparedNode, service: ServiceComparison) -> tuple[int, int]:
    scale = _SCALES.get(service.unit, 1.0)
    before, after = (0.0 if side is None else max(0.0, side.self_time) for side in (node.baseline, node.target))
    return round(before * scale), round(after * scale)


def _frame(name: str) -> str:
    """A stack's frame: neither the separator nor a line break."""
    return "".join(c if c.isprintable() and c != ";" else "_" for c in name) or "_"


# What the comment says of compared call trees: the likely place first, the picture and the tables folded.

SUSPECT_ROWS: Final = 20
EXPLAINED: Final = 5
SERVICE_ROWS: Final = 50
NAMES: Final = 10
NOTES: Final = 10
# From here on percents are hard to read.
MANY_TIMES: Final = 9.0
_SUSPECTS: Final = (
    Column(name="suspect"),
    Column(name="own time before", right=True),
    Column(name="after", right=True),
    Column(name="change with callees"),
    Column(name="calls", right=True),
    Column(name="changed by"),
)
_IMPACT: Final = (Column(name="service"), Column(name="share of its time in the suspects"))
_COSTS: Final = (
    Column(name="method"),
    Column(name="own time", right=True),
    Column(name="executions", right=True),
    Column(name="score", right=True),
    Column(name="test again when it changes (own time there)"),
)


def first_suspect(report: Report) -> ComparedSuspect | None:
    """Where to look: of a regression, and where only the call trees show one. Elsewhere no news."""
    if report.diagnosis is None:
        return None
    if report.conclusion is not Conclusion.REGRESSION and not only_diagnosis(report):
        return None
    return next(iter(shown_suspects(report.diagnosis)), None)


def through(report: Report, *, repository_url: str | None) -> Said | None:
    """The commit for the headline, where it is known and suspects were found."""
    diagnosis = report.diagnosis
    is_regression = report.conclusion is Conclusion.REGRESSION
    if diagnosis is None or diagnosis.commit is None or not is_regression or first_suspect(report) is None:
        return None
    return words("most likely through {}", Commit(diagnosis.commit, repository_url))


def where_to_look(report: Report, suspect: ComparedSuspect) -> Said:
    """Such as "`Parser.tokenize` takes 61% longer; this commit changed it."."""
    changed = ""
    if suspect.touched is not None:
        one = report.diagnosis is not None and report.diagnosis.commit is not None
        changed = "; this commit changed it" if one else "; it was changed in between"
    sure = "" if suspect.q_value is not None else " (by totals alone, without certainty)"
    place = words("{} {}{}.", Name(suspect.method), Safe(effect(suspect)), Safe(changed))
    return words("{}{}", Strong(place), Safe(sure))


def diagnosis_folds(report: Report, *, repository_url: str | None) -> Iterator[Fold]:
    diagnosis = report.diagnosis
    if diagnosis is None:
        return
    suspects = shown_suspects(diagnosis)
    parts = tuple(_tree_parts(diagnosis, suspects, repository_url=repository_url))
    yield Fold(summary=Safe(f"Why: the call tree, {_FOUND[diagnosis.answer](suspects)}"), parts=parts)
    if diagnosis.impacted:
        summary = Safe(f"Impact: {counted(len(diagnosis.impacted), 'service')} to test again")
        yield Fold(summary=summary, parts=(table(_IMPACT, diagnosis.impacted, _impact_row, most=SERVICE_ROWS),))


def _tree_parts(
    diagnosis: TreeComparison, suspects: Sequence[ComparedSuspect], *, repository_url: str | None
) -> Iterator[Part]:
    service = pictured(diagnosis, suspects[0] if suspects else None)
    if service is not None:
        title = words("Slower paths of {}", Name(service.service, 60))
        yield Picture(title=title, markdown=call_tree_picture(diagnosis, service))
    if suspects:
        yield table(_SUSPECTS, suspects, partial(_suspect_row, diagnosis, repository_url), most=SUSPECT_ROWS)
        explained = [words("{}: {}", Name(one.method), Safe(why(one))) for one in suspects[:EXPLAINED] if why(one)]
        yield Bullets(items=explained, total=len(explained), title=Safe("Why these"))
    for heading, names in added_or_removed(diagnosis).items():
        yield Bullets(items=[*map(Name, names[:NAMES])], total=len(names), title=Safe(heading))
    answers = [words("{}: {}", Name(one.service, 60), answer(one)) for one in diagnosis.services[:NAMES]]
    yield Bullets(items=answers, total=len(diagnosis.services), title=Safe("What was compared"))
    if diagnosis.notes:
        notes = [*map(worded, diagnosis.notes[:NOTES])]
        yield Bullets(items=notes, total=len(diagnosis.notes), title=Safe("Notes on the call trees"))


_FOUND: Final[Mapping[Answer, Callable[[Sequence[ComparedSuspect]], str]]] = {
    Answer.SLOWER: lambda suspects: counted(len(suspects), "suspect"),
    Answer.NOT_SLOWER: lambda _: "no method got slower",
    Answer.UNDECIDED: lambda suspects: (
        f"undecided, {counted(len(suspects), 'method')} may be slower" if suspects else "undecided"
    ),
}


def _suspect_row(diagnosis: TreeComparison, repository_url: str | None, suspect: ComparedSuspect) -> Row:
    touched: Said = NOTHING
    if suspect.touched is not None:
        line = "" if suspect.touched.first_line is None else f":{suspect.touched.first_line}"
        touched = Name(f"{suspect.touched.file}{line}", 80)
        if diagnosis.commit:
            touched = words("{}, {}", Commit(diagnosis.commit, repository_url), touched)
    before, after = map(unbroken, amounts(suspect.baseline, suspect.target, suspect.unit, own=True))
    changed = joined(", ", map(unbroken, (change(suspect), certainty(suspect))))
    counted_calls = unbroken(calls(suspect.baseline, suspect.target))
    return Row((Name(suspect.method), before, after, changed, counted_calls, touched))


def _impact_row(one: SuspectShare) -> Row:
    return Row((Name(one.service), words("{} {}", Drawn(bar(one.share)), Safe(percent(one.share)))))


_METHODS: Final = 20
_MOST_SERVICES: Final = 3


def costs_folds(report: Report) -> Iterator[Fold]:
    if report.costs is None:
        return
    costs = report.costs
    large = tuple(suspect for suspect in costs.suspects if not suspect.tiny) or costs.suspects

    def row(suspect: MethodSuspect) -> Row:
        (spent,) = quantities((suspect.self_ms,), costs.unit)
        services = [words("{} {}", Name(one.service, 40), Safe(percent(one.self_share))) for one in suspect.services]
        if more := len(services[_MOST_SERVICES:]):
            services[_MOST_SERVICES:] = [words("{} more", more)]
        numbers = (amount(spent), Safe(f"{suspect.calls:,}"), Safe(f"{suspect.score:.2f}"))
        return Row((Name(suspect.method), *numbers, joined(", ", services)))

    title = Safe("Of this revision alone: what costs most, not what got slower.")
    part = replace(table(_COSTS, large[:_METHODS], row, title=title), total=costs.methods)
    where = f"{counted(costs.methods, 'method')} in {counted(costs.services, 'service')}"
    yield Fold(summary=Safe(f"Where the time goes: {where}"), parts=(part,))


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
    own = own_change(suspect.baseline, suspect.target)
    callees = "" if own is None else f" with callees, own time {own}"
    if suspect.unit == "share":
        return f"takes a {size} larger share of the time{callees}"
    if suspect.relative_change >= MANY_TIMES:
        return f"takes {significant(1 + suspect.relative_change)} times as long{callees}"
    return f"takes {size} {'longer' if suspect.relative_change >= 0 else 'less time'}{callees}"
