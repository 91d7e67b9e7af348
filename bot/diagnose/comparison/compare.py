"""The stage: both revisions' trees in, one comparison out."""

from collections.abc import Sequence
from typing import Final

from bot.diagnose.comparison.align import AlignedNode, AlignedTree, aligned, change
from bot.diagnose.comparison.answer import Judgement, judge
from bot.diagnose.comparison.impact import inverted_index, shares_in
from bot.diagnose.comparison.methods import Method
from bot.diagnose.comparison.observed import Observed, ObservedNode, observed_log, observed_profile
from bot.diagnose.comparison.rank import rank
from bot.diagnose.comparison.search import TRIFLE, Judged, Searched, search
from bot.diagnose.comparison.significance import basis_of
from bot.diagnose.log import ReadLog
from bot.diagnose.settings import ComparisonSettings
from bot.errors import DataError
from bot.model.profile import Profile
from bot.model.reason import Caveat, Reason, because
from bot.model.touched import Touched
from bot.model.tree_comparison import Basis, ComparedNode, NodeAmount, NodeState, ServiceComparison, TreeComparison

# A page of JSON per thousand: larger trees lose the paths that took least time in both revisions.
MAX_NODES: Final = 10_000
MAX_NAMES: Final = 1_000
MAX_SUSPECTS: Final = 1_000
FEW_REPETITIONS: Final = 5


def compare_profiles(
    baseline: Sequence[Profile],
    target: Sequence[Profile],
    *,
    settings: ComparisonSettings | None = None,
    touched: Touched | None = None,
) -> TreeComparison:
    """Raises: DataError where the revisions have no service in common, or count one in different units."""
    settings = settings or ComparisonSettings()
    sides = [[observed_profile(one, same_work=settings.same_work) for one in side] for side in (baseline, target)]
    return compare_observed(*sides, settings=settings, touched=touched)


def compare_logs(
    baseline: ReadLog, target: ReadLog, *, settings: ComparisonSettings | None = None, touched: Touched | None = None
) -> TreeComparison:
    """The calls of a service are the repetitions; both logs must have been read with squares. Raises as above."""
    sides = (observed_log(baseline), observed_log(target))
    return compare_observed(
        *sides, settings=settings or ComparisonSettings(), touched=touched, notes=(because(Caveat.ONE_STATE),)
    )


def compare_observed(
    baseline: Sequence[Observed],
    target: Sequence[Observed],
    *,
    settings: ComparisonSettings,
    touched: Touched | None = None,
    notes: Sequence[Reason] = (),
) -> TreeComparison:
    pairs = _pairs(baseline, target)
    trees = [aligned(*pair) for pair in pairs]
    searched = search(trees, settings)
    observed = [after for _, after in pairs]
    judgements = [judge(one, settings) for one in searched]
    uncertain = {number for number, one in enumerate(judgements) if one.is_slower_whole}
    suspects = rank(searched, touched=touched, impact=inverted_index(observed), uncertain=uncertain)
    methods = [method.method for one in searched for method in one.methods if _is_told(method.method, one.tree)]
    before = {one.name for one in methods if one.is_in_baseline}
    after = {one.name for one in methods if one.is_in_target}
    named = {one.service for one in observed} | {one.service for one, _ in pairs}
    return TreeComparison(
        services=tuple(map(_service, searched, judgements)),
        suspects=suspects[:MAX_SUSPECTS],
        impacted=shares_in({one.method for one in suspects if one.reasons}, observed),
        added_methods=tuple(sorted(after - before)[:MAX_NAMES]),
        removed_methods=tuple(sorted(before - after)[:MAX_NAMES]),
        added_services=tuple(one.service for one in target if one.service not in named)[:MAX_NAMES],
        removed_services=tuple(one.service for one in baseline if one.service not in named)[:MAX_NAMES],
        base=touched.base if touched is not None else None,
        head=touched.head if touched is not None else None,
        touched=None if touched is None else sum(function.changes_code for function in touched.functions),
        alpha=settings.alpha,
        minimum_effect=settings.minimum_effect,
        notes=(*notes, *_notes(trees), *(touched.notes if touched is not None else ())),
    )


def _is_told(method: Method, tree: AlignedTree) -> bool:
    """Of sampled profiles rare methods are in one side by chance; where calls are counted, none is."""
    if tree.nodes[method.places[0]].side.calls is not None:
        return True
    amounts = ((method.total.target.mean, tree.target.total), (method.total.baseline.mean, tree.baseline.total))
    return any(amount >= TRIFLE * total for amount, total in amounts)


def _pairs(baseline: Sequence[Observed], target: Sequence[Observed]) -> list[tuple[Observed, Observed]]:
    """By name; two lonely services are the same one under two names, such as a process's."""
    before = {one.service: one for one in baseline}
    pairs = [(before[one.service], one) for one in target if one.service in before]
    if not pairs and len(baseline) == len(target) == 1:
        pairs = [(baseline[0], target[0])]
    if not pairs:
        raise DataError(
            f"no service is in both revisions; such as {_shown(baseline)} and {_shown(target)}",
            next_step="record the same services, benchmarks or processes on both revisions",
        )
    for one, other in pairs:
        if one.unit != other.unit:
            raise DataError(
                f"{one.service[:60]!r} counts {one.unit[:20]!r} in one revision and {other.unit[:20]!r} in the other",
                next_step="record both revisions with the same tool and event",
            )
    return pairs


def _shown(services: Sequence[Observed]) -> str:
    return repr(services[0].service[:60]) if services else "none"


def _notes(trees: Sequence[AlignedTree]) -> list[Reason]:
    bases = {basis_of(tree.baseline, tree.target) for tree in trees}
    fewest = min(min(tree.baseline.repetitions, tree.target.repetitions) for tree in trees)
    notes = []
    if Basis.TOTALS in bases:
        notes.append(because(Caveat.TOTALS_ALONE))
    if Basis.COUNTS in bases:
        notes.append(because(Caveat.ONE_PROFILE))
    if Basis.SAMPLES in bases and fewest < FEW_REPETITIONS:
        notes.append(because(Caveat.FEW_REPETITIONS, count=fewest))
    return notes


def _service(searched: Searched, judgement: Judgement) -> ServiceComparison:
    tree = searched.tree
    kept = _kept(searched)
    places = {i: place for place, i in enumerate(kept)}
    return ServiceComparison(
        service=tree.target.service,
        unit=tree.target.unit,
        basis=basis_of(tree.baseline, tree.target),
        baseline_repetitions=tree.baseline.repetitions,
        target_repetitions=tree.target.repetitions,
        nodes=tuple(_node(tree.nodes[i], searched.judged[i], places.get(tree.nodes[i].parent)) for i in kept),
        hidden_nodes=len(tree.nodes) - len(kept),
        answer=judgement.answer,
        visible=judgement.visible,
        aligned=judgement.aligned,
        common_factor=searched.common.factor if searched.common.methods else None,
        baseline_total=tree.baseline.whole or tree.baseline.total,
        target_total=tree.target.whole or tree.target.total,
        doubts=judgement.doubts,
    )


def _kept(searched: Searched) -> list[int]:
    """Where there are too many paths, what was looked at and then the largest; a path is never kept without its own."""
    nodes, judged = searched.tree.nodes, searched.judged
    if len(nodes) <= MAX_NODES:
        return list(range(len(nodes)))

    def size(i: int) -> tuple[bool, float]:
        sides = (nodes[i].baseline, nodes[i].target)
        untested = judged[i].state is NodeState.NOT_TESTED
        return untested, -max(side.elapsed.mean for side in sides if side is not None)

    kept: set[int] = set()
    for chosen in sorted(range(len(nodes)), key=lambda i: (*size(i), i)):
        above = []
        i = chosen
        while i >= 0 and i not in kept:
            above.append(i)
            i = nodes[i].parent
        if len(kept) + len(above) > MAX_NODES:
            break
        kept.update(above)
    return sorted(kept)


def _node(node: AlignedNode, judged: Judged, parent: int | None) -> ComparedNode:
    sides = _amount(node.baseline), _amount(node.target)
    return ComparedNode(
        method=node.method,
        parent=parent,
        baseline=sides[0],
        target=sides[1],
        state=judged.state,
        relative_change=change(*sides),
        confidence_interval=None if judged.state in _ONE_SIDED else judged.interval,
        p_value=judged.p_value,
        q_value=judged.q_value,
        self_q_value=judged.self_q_value,
        cause=judged.cause,
        changed_calls=judged.changed_calls,
        reasons=tuple(judged.reasons),
    )


_ONE_SIDED: Final = (NodeState.ADDED, NodeState.REMOVED)


def _amount(node: ObservedNode | None) -> NodeAmount | None:
    if node is None:
        return None
    return NodeAmount(elapsed=node.elapsed.mean, self_time=max(0.0, node.own.mean), calls=node.calls)
