"""Two revisions' call trees compared, as JSON (tree-comparison v1): what `diagnose --baseline … --json` writes.

The same object stands in a report as its `diagnosis`.
"""

from functools import cache
from typing import Final, Literal

from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass

from bot.codec.reason import ReasonEntry, no_sentence, reason_entry, reason_of
from bot.codec.wire import WIRE_CONFIG, decode
from bot.errors import DataError
from bot.model.call_tree import ImpactedService
from bot.model.finding import Interval
from bot.model.touched import Certainty
from bot.model.tree_comparison import (
    Answer,
    Basis,
    ChangeCause,
    ComparedNode,
    ComparedSuspect,
    NodeAmount,
    NodeState,
    ScoreParts,
    ServiceComparison,
    SuspectReason,
    SuspectShare,
    TouchedCode,
    TreeComparison,
)

TREE_COMPARISON_FORMAT: Final = "perf-culprit-tree-comparison"
SCHEMA_NAME: Final = "tree-comparison-v1"


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class AmountEntry:
    """Means per repetition in the service's unit, with callees and without."""

    elapsed: float
    self_time: float
    calls: float | None = None


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class ChangeIntervalEntry:
    low: float
    high: float
    level: float


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class NodeEntry:
    """One path of methods. `parent`: the index of the caller's path in the same list, before this one."""

    method: str
    state: NodeState
    parent: int | None = None
    baseline: AmountEntry | None = None
    target: AmountEntry | None = None
    relative_change: float | None = None
    confidence_interval: ChangeIntervalEntry | None = None
    p_value: float | None = None
    q_value: float | None = None
    self_q_value: float | None = None
    cause: ChangeCause | None = None
    changed_calls: bool = False
    reasons: tuple[SuspectReason, ...] = ()


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class ServiceEntry:
    """`unit`: of all amounts; "share" where each is a share of the whole.

    `visible`: a single method that gained this share of the whole would have been seen. `aligned`: the share of time in
    methods that both revisions have. `common_factor`: what all methods changed by. `doubts`: why it is undecided.
    """

    service: str
    unit: str
    basis: Basis
    baseline_repetitions: int
    target_repetitions: int
    nodes: tuple[NodeEntry, ...]
    hidden_nodes: int = 0
    answer: Answer = Answer.UNDECIDED
    visible: float | None = None
    aligned: float = 1.0
    common_factor: float | None = None
    baseline_total: float = 0.0
    target_total: float = 0.0
    doubts: tuple[ReasonEntry, ...] = ()


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class ScoreEntry:
    """Each from 0 to 1; the score weighs them 0.2, 0.3, 0.1, 0.1 and 0.3."""

    own_time: float
    origin: float
    branch: float
    slowdown: float
    touched: float


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class TouchedEntry:
    file: str
    name: str
    certainty: Certainty
    first_line: int | None = None
    last_line: int | None = None


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class ImpactEntry:
    service: str
    self_share: float
    children_share: float
    self_ms_per_call: float


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class SuspectEntry:
    method: str
    score: float
    parts: ScoreEntry
    reasons: tuple[SuspectReason, ...]
    service: str
    unit: str
    path: tuple[str, ...]
    baseline: AmountEntry | None = None
    target: AmountEntry | None = None
    relative_change: float | None = None
    q_value: float | None = None
    cause: ChangeCause | None = None
    services: tuple[ImpactEntry, ...] = ()
    touched: TouchedEntry | None = None
    file: str | None = None
    line: int | None = None


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class ShareEntry:
    service: str
    share: float


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class TreeComparisonFile:
    """The whole file. `format` and `version` make it known by content."""

    format: Literal["perf-culprit-tree-comparison"]
    version: Literal[1]
    services: tuple[ServiceEntry, ...]
    suspects: tuple[SuspectEntry, ...]
    impacted: tuple[ShareEntry, ...] = ()
    added_methods: tuple[str, ...] = ()
    removed_methods: tuple[str, ...] = ()
    added_services: tuple[str, ...] = ()
    removed_services: tuple[str, ...] = ()
    commit: str | None = None
    base: str | None = None
    head: str | None = None
    touched: int | None = None
    alpha: float
    minimum_effect: float
    notes: tuple[str, ...] = ()


@cache
def tree_comparison_adapter() -> TypeAdapter[TreeComparisonFile]:
    return TypeAdapter(TreeComparisonFile)


def encode_tree_comparison(comparison: TreeComparison) -> bytes:
    """Fields that say nothing are left out: a tree has thousands of nodes."""
    file = tree_comparison_entry(comparison)
    return tree_comparison_adapter().dump_json(file, indent=1, exclude_defaults=True) + b"\n"


def decode_tree_comparison(data: bytes, *, place: str) -> TreeComparison:
    """The comparison in `data`; a DataError with file and place where it is none."""
    return tree_comparison(decode(tree_comparison_adapter(), data, place=place, what=SCHEMA_NAME), place=place)


def tree_comparison_entry(comparison: TreeComparison) -> TreeComparisonFile:
    return TreeComparisonFile(
        format="perf-culprit-tree-comparison",
        version=1,
        services=tuple(
            ServiceEntry(
                service=_writable(one.service),
                unit=_writable(one.unit),
                basis=one.basis,
                baseline_repetitions=one.baseline_repetitions,
                target_repetitions=one.target_repetitions,
                nodes=tuple(map(_node_entry, one.nodes)),
                hidden_nodes=one.hidden_nodes,
                answer=one.answer,
                visible=one.visible,
                aligned=one.aligned,
                common_factor=one.common_factor,
                baseline_total=one.baseline_total,
                target_total=one.target_total,
                doubts=tuple(reason_entry(doubt, no_sentence) for doubt in one.doubts),
            )
            for one in comparison.services
        ),
        suspects=tuple(map(_suspect_entry, comparison.suspects)),
        impacted=tuple(ShareEntry(service=_writable(one.service), share=one.share) for one in comparison.impacted),
        added_methods=tuple(map(_writable, comparison.added_methods)),
        removed_methods=tuple(map(_writable, comparison.removed_methods)),
        added_services=tuple(map(_writable, comparison.added_services)),
        removed_services=tuple(map(_writable, comparison.removed_services)),
        commit=comparison.commit,
        base=comparison.base,
        head=comparison.head,
        touched=comparison.touched,
        alpha=comparison.alpha,
        minimum_effect=comparison.minimum_effect,
        notes=tuple(map(_writable, comparison.notes)),
    )


def tree_comparison(file: TreeComparisonFile, *, place: str) -> TreeComparison:
    return TreeComparison(
        services=tuple(_service(entry, f"{place}: services.{i}") for i, entry in enumerate(file.services)),
        suspects=tuple(map(_suspect, file.suspects)),
        impacted=tuple(SuspectShare(service=entry.service, share=entry.share) for entry in file.impacted),
        added_methods=file.added_methods,
        removed_methods=file.removed_methods,
        added_services=file.added_services,
        removed_services=file.removed_services,
        commit=file.commit,
        base=file.base,
        head=file.head,
        touched=file.touched,
        alpha=file.alpha,
        minimum_effect=file.minimum_effect,
        notes=file.notes,
    )


def _node_entry(node: ComparedNode) -> NodeEntry:
    interval = node.confidence_interval
    return NodeEntry(
        method=_writable(node.method),
        state=node.state,
        parent=node.parent,
        baseline=_amount_entry(node.baseline),
        target=_amount_entry(node.target),
        relative_change=node.relative_change,
        confidence_interval=None
        if interval is None
        else ChangeIntervalEntry(low=interval.low, high=interval.high, level=interval.level),
        p_value=node.p_value,
        q_value=node.q_value,
        self_q_value=node.self_q_value,
        cause=node.cause,
        changed_calls=node.changed_calls,
        reasons=node.reasons,
    )


def _service(entry: ServiceEntry, place: str) -> ServiceComparison:
    for i, node in enumerate(entry.nodes):
        if node.parent is not None and not 0 <= node.parent < i:
            raise DataError(
                f"its parent {node.parent} does not come before it",
                place=f"{place}.nodes.{i}.parent",
                next_step="write the file again with this version of perf-culprit",
            )
    return ServiceComparison(
        service=entry.service,
        unit=entry.unit,
        basis=entry.basis,
        baseline_repetitions=entry.baseline_repetitions,
        target_repetitions=entry.target_repetitions,
        nodes=tuple(map(_node, entry.nodes)),
        hidden_nodes=entry.hidden_nodes,
        answer=entry.answer,
        visible=entry.visible,
        aligned=entry.aligned,
        common_factor=entry.common_factor,
        baseline_total=entry.baseline_total,
        target_total=entry.target_total,
        doubts=tuple(map(reason_of, entry.doubts)),
    )


def _node(entry: NodeEntry) -> ComparedNode:
    interval = entry.confidence_interval
    return ComparedNode(
        method=entry.method,
        parent=entry.parent,
        baseline=_amount(entry.baseline),
        target=_amount(entry.target),
        state=entry.state,
        relative_change=entry.relative_change,
        confidence_interval=None
        if interval is None
        else Interval(low=interval.low, high=interval.high, level=interval.level),
        p_value=entry.p_value,
        q_value=entry.q_value,
        self_q_value=entry.self_q_value,
        cause=entry.cause,
        changed_calls=entry.changed_calls,
        reasons=entry.reasons,
    )


def _suspect_entry(suspect: ComparedSuspect) -> SuspectEntry:
    parts, touched = suspect.parts, suspect.touched
    return SuspectEntry(
        method=_writable(suspect.method),
        score=suspect.score,
        parts=ScoreEntry(
            own_time=parts.own_time,
            origin=parts.origin,
            branch=parts.branch,
            slowdown=parts.slowdown,
            touched=parts.touched,
        ),
        reasons=suspect.reasons,
        service=_writable(suspect.service),
        unit=_writable(suspect.unit),
        path=tuple(map(_writable, suspect.path)),
        baseline=_amount_entry(suspect.baseline),
        target=_amount_entry(suspect.target),
        relative_change=suspect.relative_change,
        q_value=suspect.q_value,
        cause=suspect.cause,
        services=tuple(
            ImpactEntry(
                service=_writable(one.service),
                self_share=one.self_share,
                children_share=one.children_share,
                self_ms_per_call=one.self_ms_per_call,
            )
            for one in suspect.services
        ),
        touched=None
        if touched is None
        else TouchedEntry(
            file=_writable(touched.file),
            name=_writable(touched.name),
            certainty=touched.certainty,
            first_line=touched.first_line,
            last_line=touched.last_line,
        ),
        file=None if suspect.file is None else _writable(suspect.file),
        line=suspect.line,
    )


def _suspect(entry: SuspectEntry) -> ComparedSuspect:
    parts, touched = entry.parts, entry.touched
    return ComparedSuspect(
        method=entry.method,
        score=entry.score,
        parts=ScoreParts(
            own_time=parts.own_time,
            origin=parts.origin,
            branch=parts.branch,
            slowdown=parts.slowdown,
            touched=parts.touched,
        ),
        reasons=entry.reasons,
        service=entry.service,
        unit=entry.unit,
        path=entry.path,
        baseline=_amount(entry.baseline),
        target=_amount(entry.target),
        relative_change=entry.relative_change,
        q_value=entry.q_value,
        cause=entry.cause,
        services=tuple(
            ImpactedService(
                service=one.service,
                self_share=one.self_share,
                children_share=one.children_share,
                self_ms_per_call=one.self_ms_per_call,
            )
            for one in entry.services
        ),
        touched=None
        if touched is None
        else TouchedCode(
            file=touched.file,
            name=touched.name,
            certainty=touched.certainty,
            first_line=touched.first_line,
            last_line=touched.last_line,
        ),
        file=entry.file,
        line=entry.line,
    )


def _amount_entry(amount: NodeAmount | None) -> AmountEntry | None:
    return (
        None if amount is None else AmountEntry(elapsed=amount.elapsed, self_time=amount.self_time, calls=amount.calls)
    )


def _amount(entry: AmountEntry | None) -> NodeAmount | None:
    return None if entry is None else NodeAmount(elapsed=entry.elapsed, self_time=entry.self_time, calls=entry.calls)


def _writable(text: str) -> str:
    """Names may hold bytes that were no UTF-8; JSON cannot."""
    return text.encode("utf-8", "replace").decode("utf-8")
