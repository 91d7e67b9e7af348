"""Compare two revisions' trees: an answer per service, suspects, impacted services."""

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from perf_culprit.arrays import Floats
from perf_culprit.errors import DataError
from perf_culprit.explain.aligned_trees import (
    AlignedNode,
    AlignedTree,
    Observed,
    ObservedNode,
    aligned,
    observed_log,
    observed_profile,
    relative_change,
    spread,
)
from perf_culprit.explain.diagnosis_constants import CONFIDENCE, FEWEST_TO_TRIM, MUCH, NOTABLE, RUN_TO_RUN, TRIFLE
from perf_culprit.explain.method_names import match_method
from perf_culprit.explain.ranking import rank_suspects
from perf_culprit.explain.significance import basis_of, largest_gains, moments
from perf_culprit.explain.slower_methods import Judged, JudgedMethod, Searched, test_trees
from perf_culprit.explain.suspects import rank
from perf_culprit.explain.tree_methods import TestedRow, is_relative, total_row
from perf_culprit.model.call_tree import CallNode, CallTree, Certainty, ChangeKind, ImpactedService, Profile, Touched
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.minimum_effect import DEFAULTS, DataKind, reaches
from perf_culprit.model.reason import Caveat, Doubt, Reason, because
from perf_culprit.model.report import (
    Answer,
    Basis,
    ComparedNode,
    NodeAmount,
    NodeState,
    ServiceComparison,
    SuspectReason,
    SuspectShare,
    TreeComparison,
)
from perf_culprit.model.work_limits import WORK_LIMITS
from perf_culprit.read.logs.log_reader import ReadLog
from perf_culprit.read.logs.reading_settings import ComparisonSettings, RankingSettings
from perf_culprit.stats.two_groups import satterthwaite, welch


# Map methods to the services that run them: the services to test again when a suspect changes [Z15].
def inverted_index(services: Sequence[Observed]) -> dict[str, tuple[ImpactedService, ...]]:
    """Map each method to its services, with the shares of its own time and of its callees, largest first."""
    ranked = rank_suspects([_call_tree(one) for one in services if one.nodes], RankingSettings(minimum_self_ms=0.0))
    return {suspect.method: suspect.services for suspect in ranked}


def shares_in(methods: Collection[str], services: Sequence[Observed]) -> tuple[SuspectShare, ...]:
    """Return each service's share of time inside any of `methods`, callees included, counted once; largest first."""
    shares = [SuspectShare(service=one.service, share=_share(one, methods)) for one in services]
    return tuple(sorted((one for one in shares if one.share > 0), key=lambda one: (-one.share, one.service)))


def _share(observed: Observed, methods: Collection[str]) -> float:
    inside: list[bool] = []
    time = 0.0
    for node in observed.nodes:
        above = node.parent is not None and inside[node.parent]
        hit = node.method in methods
        inside.append(above or hit)
        if hit and not above:
            time += node.elapsed.mean
    return min(1.0, time / observed.total) if observed.total > 0 else 0.0


def _call_tree(observed: Observed) -> CallTree:
    """A call of the service, the mean of all."""
    nodes = (
        CallNode(
            method=node.method,
            parent=node.parent,
            calls=1,
            elapsed_ms=node.elapsed.mean,
            self_ms=max(0.0, node.own.mean),
            longest_ms=0.0,
        )
        for node in observed.nodes
    )
    return CallTree(service=observed.service, calls=1, variants=1, nodes=tuple(nodes))


@dataclass(frozen=True, kw_only=True, slots=True)
class TreeJudgement:
    answer: Answer
    visible: float | None
    aligned: float
    doubts: tuple[Reason, ...]

    @property
    def is_slower_whole(self) -> bool:
        """Whether the whole is so much slower that chance is unlikely, although no single method is proven slower."""
        return any(
            doubt.code in (Doubt.WHOLE_SLOWER, Doubt.MORE_SAMPLES) and float(str(doubt.arguments["change"])) >= MUCH
            for doubt in self.doubts
        )


def judge_tree(one: Searched, settings: ComparisonSettings) -> TreeJudgement:
    gains = largest_gains(one.own_tests) / max(one.tree.baseline.total, 1e-12)
    gains[[method.method.is_loading for method in one.methods]] = np.nan
    visible = None if np.isnan(gains).all() else min(max(TRIFLE, float(np.nanmax(gains))), _largest_of_whole(one.tree))
    aligned = _share_in_both(one)
    doubts = tuple(_doubts(one, visible, aligned, settings))
    if visible is not None and visible > NOTABLE:
        doubts = (*doubts, _noisy(one, gains, visible))
    is_certain = basis_of(one.tree.baseline, one.tree.target) is not Basis.TOTALS
    is_new = any(SuspectReason.ADDED in judgement.reasons for judgement in one.judged)
    if is_certain and (is_new or any(method.own_is_slower or method.is_slower for method in one.methods)):
        answer = Answer.SLOWER
    else:
        answer = Answer.UNDECIDED if doubts else Answer.NOT_SLOWER
    return TreeJudgement(
        answer=answer,
        visible=None if visible is None or visible > 1 else visible,
        aligned=aligned,
        doubts=() if answer is Answer.SLOWER else doubts,
    )


def _doubts(one: Searched, visible: float | None, aligned: float, settings: ComparisonSettings) -> Iterator[Reason]:
    tree = one.tree
    if basis_of(tree.baseline, tree.target) is Basis.TOTALS:
        yield because(Doubt.UNKNOWN_WEIGHTS if is_relative(tree) else Doubt.ONE_REPETITION, wanted=FEWEST_TO_TRIM)
        return
    if aligned < 1 - MUCH:
        yield because(Doubt.NOT_ALIGNED, aligned=aligned)
    if (change := _whole_change(one, settings)) is not None:
        yield because(Doubt.MORE_SAMPLES if is_relative(tree) else Doubt.WHOLE_SLOWER, change=change)
    if _is_all_slower(one):
        yield because(Doubt.ALL_SLOWER, factor=one.common.factor)
    if visible is None:
        if tree.baseline.whole and tree.target.whole:
            yield because(Doubt.FEW_SAMPLES, baseline=round(tree.baseline.whole), target=round(tree.target.whole))
        else:
            yield because(Doubt.ONE_REPETITION, wanted=FEWEST_TO_TRIM)


def _is_all_slower(one: Searched) -> bool:
    """Whether all methods are slower by one factor that exceeds the differences between one side's repetitions."""
    factor = one.common.factor
    if is_relative(one.tree) or factor < 1 + RUN_TO_RUN:
        return False
    return factor >= 1 + MUCH or _p_value(total_row(one.tree)) < 1 - CONFIDENCE


def _noisy(one: Searched, gains: Floats, visible: float) -> Reason:
    """The reason that names the excluded change, the number of decided methods, and what would decide the others."""
    tree = one.tree
    repetitions = min(tree.baseline.repetitions, tree.target.repetitions)
    more = math.ceil((visible / NOTABLE) ** 2)
    tested = gains[~np.isnan(gains)]
    excluded = {} if visible > 1 else {"visible": visible}
    samples = min(tree.baseline.whole or 0, tree.target.whole or 0) / repetitions
    worst = one.methods[int(np.nanargmax(gains))].method.own
    machine = (one.common.spread + one.common.variance) * max(worst.baseline.mean, worst.target.mean) ** 2
    if more > WORK_LIMITS.advised_times:
        wanted = {"much": more}
    elif samples and 2 * machine < float(one.own_tests.error[int(np.nanargmax(gains))]) ** 2:
        wanted = {"more": more, "now": round(samples)}
    else:
        wanted = {"wanted": max(FEWEST_TO_TRIM, repetitions * more)}
    return because(
        Doubt.NOISY_METHODS,
        decided=int((tested <= NOTABLE).sum()),
        methods=len(tested),
        limit=NOTABLE,
        **excluded,
        **wanted,
    )


def _largest_of_whole(tree: AlignedTree) -> float:
    """An upper bound of the whole's gain, for times: no method gained more, unless another one compensated it."""
    sides = tree.target.totals, tree.baseline.totals
    if is_relative(tree) or min(map(len, sides)) < 2 or min(map(min, sides)) <= 0:
        return math.inf
    logs = [np.log(side) for side in sides]
    errors = [np.array([one.var(ddof=1) / len(one)]) for one in logs]
    freedom = satterthwaite(errors[0], np.array([len(logs[0]) - 1.0]), errors[1], np.array([len(logs[1]) - 1.0]))
    gain = logs[0].mean() - logs[1].mean() + special.stdtrit(freedom, CONFIDENCE) * np.sqrt(errors[0] + errors[1])
    return max(TRIFLE, float(np.expm1(min(gain[0], 1.0))))


def _share_in_both(one: Searched) -> float:
    """The share of each side's own time in methods of both sides; the smaller share."""
    both = [tested.method.own for tested in one.methods if not _is_one_sided(tested, one.tree)]
    sides = (
        (sum(row.baseline.mean for row in both), one.tree.baseline.total),
        (sum(row.target.mean for row in both), one.tree.target.total),
    )
    return min(1.0, *(shared / total if total > 0 else 1.0 for shared, total in sides))


def _is_one_sided(one: JudgedMethod, tree: AlignedTree) -> bool:
    """Whether only one revision has the method, and not by chance: samples of one side often miss rare methods."""
    if one.method.is_in_both or one.method.is_loading:
        return False
    is_sampled = tree.baseline.whole and tree.target.whole
    return not is_sampled or any(q is not None and q < 1 - CONFIDENCE for q in (one.q_value, one.self_q_value))


def _whole_change(one: Searched, settings: ComparisonSettings) -> float | None:
    """The growth of the whole beyond the methods' common factor, if it may be more than chance; else None.

    For shares, compare the numbers of samples: they are the time if both sides did the same work.
    """
    tree = one.tree
    sides = tree.target.wholes, tree.baseline.wholes
    if not is_relative(tree):
        factor = max(1.0, one.common.factor)
        change = tree.target.total / (tree.baseline.total * factor) - 1 if tree.baseline.total > 0 else 0.0
        row = total_row(tree)
    elif all(map(sum, sides)):
        row = TestedRow(target=spread(sides[0]), baseline=spread(sides[1]))
        change = row.target.mean / row.baseline.mean - 1
    else:
        return None
    smallest = DEFAULTS[DataKind.BENCHMARK] if is_relative(tree) else settings.minimum_effect
    return change if reaches(change, smallest, upwards=True) and _p_value(row) < 1 - CONFIDENCE else None


def _p_value(row: TestedRow) -> float:
    if min(row.target.count, row.baseline.count) < 2:
        return 0.0
    return float(welch(moments([row.target]), moments([row.baseline])).p_value[0])


def compare_profiles(
    baseline: Sequence[Profile],
    target: Sequence[Profile],
    *,
    settings: ComparisonSettings | None = None,
    touched: Touched | None = None,
) -> TreeComparison:
    """Compare profiles. Raises: DataError if no service is in both revisions, or one has different units."""
    settings = settings or ComparisonSettings()
    sides = [[observed_profile(one, same_work=settings.same_work) for one in side] for side in (baseline, target)]
    return compare_observed(*sides, settings=settings, touched=touched)


def compare_logs(
    baseline: ReadLog, target: ReadLog, *, settings: ComparisonSettings | None = None, touched: Touched | None = None
) -> TreeComparison:
    """Compare logs, read with squares; a service's calls are the repetitions. Raises as `compare_profiles`."""
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
    searched = test_trees(trees, settings)
    observed = [after for _, after in pairs]
    judgements = [judge_tree(one, settings) for one in searched]
    uncertain = {number for number, one in enumerate(judgements) if one.is_slower_whole}
    suspects = rank(searched, touched=touched, impact=inverted_index(observed), uncertain=uncertain)
    methods = [method.method for one in searched for method in one.methods]
    one_sided = {tested.method.name for one in searched for tested in one.methods if _is_one_sided(tested, one.tree)}
    before = {one.name for one in methods if one.is_in_baseline or one.name not in one_sided}
    after = {one.name for one in methods if one.is_in_target or one.name not in one_sided}
    named = {one.service for one in observed} | {one.service for one, _ in pairs}
    added, removed = (
        tuple(sorted(names)[: FILE_LIMITS.compared_methods]) for names in (after - before, before - after)
    )
    of_interest = {name for one in suspects for name in one.path} | {*added, *removed}
    return TreeComparison(
        services=tuple(map(_service, searched, judgements)),
        suspects=suspects[: FILE_LIMITS.compared_methods],
        impacted=shares_in({one.method for one in suspects if one.reasons}, observed),
        added_methods=added,
        removed_methods=removed,
        touched_methods={} if touched is None else _touched_methods(trees, of_interest, touched),
        added_services=tuple(one.service for one in target if one.service not in named)[: FILE_LIMITS.compared_methods],
        removed_services=tuple(one.service for one in baseline if one.service not in named)[
            : FILE_LIMITS.compared_methods
        ],
        base=touched.base if touched is not None else None,
        head=touched.head if touched is not None else None,
        touched=None if touched is None else sum(function.changes_code for function in touched.functions),
        alpha=settings.alpha,
        minimum_effect=settings.minimum_effect,
        notes=(*notes, *_notes(trees), *(touched.notes if touched is not None else ())),
    )


def _touched_methods(trees: Sequence[AlignedTree], names: Collection[str], touched: Touched) -> dict[str, ChangeKind]:
    """Map methods to what the commits did with their source, by file and line or by the qualified name."""
    sides = [[one for one in touched.functions if (one.kind is ChangeKind.DELETED) == gone] for gone in (False, True)]
    kinds = {}
    for node in {node.method: node for tree in trees for node in tree.nodes if node.method in names}.values():
        written = replace(touched, functions=tuple(sides[node.target is None]), unresolved=())
        match = match_method(node.method, touched=written, file=node.side.file, line=node.side.line)
        if match is not None and match.certainty is not Certainty.BARE_NAME:
            kinds[node.method] = match.functions[0].kind
    return kinds


def _pairs(baseline: Sequence[Observed], target: Sequence[Observed]) -> list[tuple[Observed, Observed]]:
    """Pair services by name; single services are paired despite different names, such as those of processes."""
    before = {one.service: one for one in baseline}
    pairs = [(before[one.service], one) for one in target if one.service in before]
    if not pairs and len(baseline) == len(target) == 1:
        pairs = [(baseline[0], target[0])]
    if not pairs:
        raise DataError(
            f"no service is in both revisions; such as {_service_names(baseline)} and {_service_names(target)}",
            next_step="record the same services, benchmarks or processes on both revisions",
        )
    for one, other in pairs:
        if one.unit != other.unit:
            raise DataError(
                f"{one.service[:60]!r} counts {one.unit[:20]!r} in one revision and {other.unit[:20]!r} in the other",
                next_step="record both revisions with the same tool and event",
            )
    return pairs


def _service_names(services: Sequence[Observed]) -> str:
    return repr(services[0].service[:60]) if services else "none"


def _notes(trees: Sequence[AlignedTree]) -> list[Reason]:
    bases = {basis_of(tree.baseline, tree.target) for tree in trees}
    fewest = min(min(tree.baseline.repetitions, tree.target.repetitions) for tree in trees)
    notes = []
    if Basis.TOTALS in bases:
        notes.append(because(Caveat.TOTALS_ALONE))
    if Basis.COUNTS in bases:
        notes.append(because(Caveat.ONE_PROFILE))
    if Basis.SAMPLES in bases and fewest < FEWEST_TO_TRIM:
        notes.append(because(Caveat.FEW_REPETITIONS, count=fewest))
    return notes


def _service(searched: Searched, judgement: TreeJudgement) -> ServiceComparison:
    tree = searched.tree
    rows = _places_to_keep(searched)
    sides, is_share = (tree.baseline, tree.target), is_relative(tree)
    totals = [one.whole / one.repetitions if one.whole and is_share else one.total for one in sides]
    places = {i: place for place, i in enumerate(rows)}
    return ServiceComparison(
        service=tree.target.service,
        unit=tree.target.unit,
        basis=basis_of(tree.baseline, tree.target),
        baseline_repetitions=tree.baseline.repetitions,
        target_repetitions=tree.target.repetitions,
        nodes=tuple(_node(tree.nodes[i], searched.judged[i], places.get(tree.nodes[i].parent)) for i in rows),
        hidden_nodes=len(tree.nodes) - len(rows),
        answer=judgement.answer,
        visible=judgement.visible,
        aligned=judgement.aligned,
        common_factor=searched.common.factor if searched.common.methods else None,
        baseline_total=totals[0],
        target_total=totals[1],
        doubts=judgement.doubts,
    )


def _places_to_keep(searched: Searched) -> list[int]:
    """The nodes to keep if there are too many: tested ones first, then the largest, each with its ancestors."""
    nodes, results = searched.tree.nodes, searched.judged
    if len(nodes) <= FILE_LIMITS.compared_nodes:
        return list(range(len(nodes)))

    def size(i: int) -> tuple[bool, float]:
        sides = (nodes[i].baseline, nodes[i].target)
        return results[i].state is NodeState.NOT_TESTED, -max(side.elapsed.mean for side in sides if side is not None)

    places: set[int] = set()
    for chosen in sorted(range(len(nodes)), key=lambda i: (*size(i), i)):
        above = []
        i = chosen
        while i >= 0 and i not in places:
            above.append(i)
            i = nodes[i].parent
        if len(places) + len(above) > FILE_LIMITS.compared_nodes:
            break
        places.update(above)
    return sorted(places)


def _node(node: AlignedNode, judgement: Judged, parent: int | None) -> ComparedNode:
    sides = _amount(node.baseline), _amount(node.target)
    return ComparedNode(
        method=node.method,
        parent=parent,
        baseline=sides[0],
        target=sides[1],
        state=judgement.state,
        relative_change=relative_change(*sides),
        confidence_interval=judgement.interval if node.is_in_both else None,
        p_value=judgement.p_value,
        q_value=judgement.q_value,
        self_q_value=judgement.self_q_value,
        cause=judgement.cause,
        changed_calls=judgement.changed_calls,
        reasons=tuple(judgement.reasons),
    )


def _amount(node: ObservedNode | None) -> NodeAmount | None:
    if node is None:
        return None
    return NodeAmount(elapsed=node.elapsed.mean, self_time=max(0.0, node.own.mean), calls=node.calls)
