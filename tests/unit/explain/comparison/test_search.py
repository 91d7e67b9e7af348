"""The search through two revisions' trees: METHODS 6.5, changed shapes, calls, and the rate of false alarms."""

from collections.abc import Sequence
from operator import mul
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from scipy import stats

from perf_culprit.explain.compare_trees import compare_profiles
from perf_culprit.model.call_tree import Profile, ProfileNode
from perf_culprit.model.reason import Caveat, Doubt, because
from perf_culprit.model.report import Answer, Basis, ChangeCause, NodeState, SuspectReason, TreeComparison
from perf_culprit.read.logs.reading_settings import ComparisonSettings
from perf_culprit.read.profiles.profile_reading import combine
from perf_culprit.say.call_tree_words import answer_words
from perf_culprit.stats.multiplicity import benjamini_hochberg
from tests.support.compared_trees import Tree, by_path, reasons, sampled, slower

# METHODS 6.5: foo calls bar and doo, doo calls fem and others, fem calls qux and wug (three times).
EXAMPLE = {
    "foo": 1.0,
    "foo>bar": 5.0,
    "foo>doo": 1.0,
    "foo>doo>fem": 4.0,
    "foo>doo>other": 3.0,
    "foo>doo>fem>qux": 2.0,
    "foo>doo>fem>wug": 1.0,
}
CALLS = {"foo>doo>fem>wug": 3.0}


def compared(
    before: dict[str, float],
    after: dict[str, float],
    *,
    calls_before: dict[str, float] | None = None,
    calls_after: dict[str, float] | None = None,
    repetitions: int = 20,
    seed: int = 1,
    noise: float = 0.02,
) -> TreeComparison:
    rng = np.random.default_rng(seed)
    one = Tree(own=before, calls=calls_before or {}, noise=noise).profile(rng, repetitions)
    other = Tree(own=after, calls=calls_after or {}, noise=noise).profile(rng, repetitions)
    return compare_profiles([one], [other])


def test_worked_example_of_methods_6_5() -> None:
    result = compared(EXAMPLE, EXAMPLE | {"foo>doo>fem": 6.0}, calls_before=CALLS, calls_after=CALLS)
    assert slower(result) == ["foo", "foo>doo", "foo>doo>fem"]
    states = {path: node.state for path, node in by_path(result).items()}
    assert states["foo>bar"] == states["foo>doo>fem>qux"] == states["foo>doo>fem>wug"] == NodeState.UNDECIDED
    assert result.suspects[0].method == "fem"
    assert result.suspects[0].path == ("foo", "doo", "fem")
    assert result.suspects[0].reasons == (SuspectReason.PATH_END, SuspectReason.OWN_TIME, SuspectReason.ORIGIN)
    assert reasons(result)["foo"] == reasons(result)["doo"] == ()


def test_two_wild_repetitions_deny_nothing() -> None:
    (service,) = compared(EXAMPLE, EXAMPLE, repetitions=2, noise=1).services
    assert service.answer is Answer.UNDECIDED
    (doubt,) = (doubt for doubt in service.doubts if doubt.code is Doubt.NOISY_METHODS)
    decided, methods = (doubt.arguments[name] for name in ("decided", "methods"))
    assert isinstance(decided, int)
    assert isinstance(methods, int)
    assert decided < methods == 7


def test_a_method_is_found_below_one_that_is_not_slower() -> None:
    after = EXAMPLE | {"foo>bar": 9.0, "foo>doo>fem>qux": 4.0, "foo>doo>other": 1.0}
    result = compared(EXAMPLE, after, calls_before=CALLS, calls_after=CALLS)
    assert slower(result) == ["foo", "foo>bar", "foo>doo>fem", "foo>doo>fem>qux"]
    assert by_path(result)["foo>doo"].state is NodeState.UNDECIDED
    assert {one.method for one in result.suspects[:2]} == {"bar", "qux"}


def test_a_constant_share_above_hides_nothing() -> None:
    before = sampled({"main": 0, "main>h": 0, "main>h>a": 500, "main>h>b": 500, "main>c": 10})
    after = sampled({"main": 0, "main>h": 0, "main>h>a": 500, "main>h>b": 1500, "main>c": 20})
    result = compare_profiles([before], [after])
    assert result.answer is Answer.SLOWER
    assert result.suspects[0].method == "b"
    assert by_path(result)["main>h"].state is not NodeState.SLOWER


def other_names(profile: Profile, names: dict[str, str]) -> Profile:
    nodes = tuple(replace(node, method=names.get(node.method, node.method)) for node in profile.nodes)
    return replace(profile, nodes=nodes)


@pytest.mark.parametrize(
    "names",
    [
        {"foo": "<frozen runpy>:_run_code"},
        {"fem": "dao.py:find_order", "qux": "Lambda$14/0x0000"},
    ],
    ids=["root", "moved"],
)
def test_other_names_of_the_same_methods_are_aligned(names: dict[str, str]) -> None:
    rng = np.random.default_rng(1)
    moved = {"fem": "orders.py:find_order", "qux": "Lambda$15/0x0001"} if "qux" in names else {}
    before = other_names(Tree(own=EXAMPLE).profile(rng), names)
    after = other_names(Tree(own=EXAMPLE | {"foo>doo>fem": 9.0}).profile(rng), moved)
    result = compare_profiles([before], [after])
    assert result.answer is Answer.SLOWER
    assert result.suspects[0].method == moved.get("fem", "fem")
    assert result.services[0].aligned == 1.0
    assert (result.added_methods, result.removed_methods) == ((), ())


def test_what_is_not_aligned_is_undecided() -> None:
    before = compared(EXAMPLE, {f"x{path.replace('>', '>x')}": own for path, own in EXAMPLE.items()})
    (service,) = before.services
    assert service.aligned < 0.2
    assert before.answer is not Answer.NOT_SLOWER


def test_two_noisy_repetitions_never_say_that_nothing_got_slower() -> None:
    result = compared(EXAMPLE, EXAMPLE | {"foo>doo>fem": 12.0}, repetitions=2, noise=0.6)
    assert result.answer is Answer.UNDECIDED
    assert {doubt.code for doubt in result.services[0].doubts} <= {Doubt.NOISY_METHODS, Doubt.WHOLE_SLOWER}
    assert result.services[0].doubts


@pytest.mark.parametrize(("repetitions", "noise"), [(2, 0.3), (5, 0.03), (5, 0.15), (10, 0.1)])
def test_no_method_gained_more_than_is_said(repetitions: int, noise: float) -> None:
    """The bound holds for all methods together in 95% of cases, so rarely more than 4 of 30 are above it."""
    gain, total = 1.4, sum(EXAMPLE.values())
    said_less = 0
    for seed in range(30):
        after = EXAMPLE | {"foo>bar": 5.0 + gain}
        (service,) = compared(EXAMPLE, after, repetitions=repetitions, noise=noise, seed=seed).services
        said_less += service.visible is not None and service.visible < gain / total
    assert said_less <= 4


def samples_of(rng: np.random.Generator, own: dict[str, float], repetitions: int = 8) -> Profile:
    return combine([sampled({path: int(rng.poisson(mean)) for path, mean in own.items()}) for _ in range(repetitions)])


@pytest.mark.parametrize(
    ("before", "factor", "answer", "doubts"),
    [
        (40_000.0, 1.0, Answer.NOT_SLOWER, []),
        (40_000.0, 1.3, Answer.UNDECIDED, [Doubt.MORE_SAMPLES]),
        (2.0, 1.0, Answer.UNDECIDED, [Doubt.NOISY_METHODS]),
    ],
    ids=["equal", "everything slower", "20% could hide"],
)
def test_equal_shares_deny_nothing_that_they_cannot_show(
    before: float, factor: float, answer: Answer, doubts: list[Doubt]
) -> None:
    """Shares cannot show a program that is slower everywhere, and few samples cannot show a slowdown of 10%."""
    rng = np.random.default_rng(4)
    own = {"main": 0.0} | {f"main>{name}": before for name in "abcdefghij"}
    sides = [samples_of(rng, {path: mean * by for path, mean in own.items()}) for by in (1.0, factor)]
    (service,) = compare_profiles([sides[0]], [sides[1]]).services
    assert (service.answer, [doubt.code for doubt in service.doubts]) == (answer, doubts)


def _halved(values: Sequence[float]) -> tuple[float, ...]:
    return tuple(value * (i % 2) for i, value in enumerate(values))


def test_repetitions_without_samples_of_what_is_rare_hide_nothing() -> None:
    """Ten rare methods have no sample in every other repetition, so none of them shows a repetition's own state."""
    rare = [f"main>rare{i}" for i in range(10)]
    sides: list[Profile] = []
    for slow in (300.0, 900.0):
        rng = np.random.default_rng(3)
        profile = samples_of(rng, {"main": 1.0, "main>slow": slow, "main>as_before": 400.0} | dict.fromkeys(rare, 4.0))
        nodes = [
            replace(node, elapsed_ms=_halved(node.elapsed_ms), self_ms=_halved(node.self_ms))
            if node.method.startswith("rare")
            else node
            for node in profile.nodes
        ]
        sides.append(replace(profile, nodes=tuple(nodes)))
    result = compare_profiles(sides[:1], sides[1:])
    assert (result.answer, result.suspects[0].method) == (Answer.SLOWER, "slow")


def test_where_no_share_grew_for_sure_what_grew_most_is_listed() -> None:
    sides = [
        combine([sampled({"main": 0, "main>slow": by * slow, "main>other": by * (100 - slow)}) for slow in shares])
        for by, shares in ((1, (10, 80, 10)), (4, (90, 20, 90)))
    ]
    result = compare_profiles(sides[:1], sides[1:])
    assert (result.answer, [one.method for one in result.suspects]) == (Answer.UNDECIDED, ["slow"])


def test_one_outlier_hides_nothing() -> None:
    rng = np.random.default_rng(1)
    before, after = (Tree(own=EXAMPLE | {"foo>doo>fem": own}).profile(rng, 10) for own in (1.0, 3.0))
    nodes = list(before.nodes)
    place: int | None = next(i for i, node in enumerate(nodes) if node.method == "fem")
    while place is not None:
        node = nodes[place]
        own = node.self_ms if node.method != "fem" else (node.self_ms[0] + 400.0, *node.self_ms[1:])
        nodes[place] = replace(node, elapsed_ms=(node.elapsed_ms[0] + 400.0, *node.elapsed_ms[1:]), self_ms=own)
        place = node.parent
    result = compare_profiles([replace(before, nodes=tuple(nodes))], [after])
    assert result.answer is Answer.SLOWER
    assert result.suspects[0].method == "fem"


def many(*, slow: float, machine: float = 1.0) -> dict[str, float]:
    """A program of 30 methods; `machine` slows all of them."""
    own = {"main": 0.1} | {f"main>m{i}": 1.0 + i / 10 for i in range(30)}
    own["main>m7"] *= slow
    return {path: time * machine for path, time in own.items()}


def test_a_slower_machine_is_no_slower_method() -> None:
    result = compared(many(slow=1), many(slow=1, machine=1.3))
    assert (result.answer, result.suspects) == (Answer.UNDECIDED, ())
    assert [doubt.code for doubt in result.services[0].doubts] == [Doubt.ALL_SLOWER]
    assert result.services[0].common_factor == pytest.approx(1.3, rel=0.02)
    with_culprit = compared(many(slow=1), many(slow=2, machine=1.3))
    assert [one.method for one in with_culprit.suspects if one.reasons] == ["m7"]


def test_what_runs_of_one_side_differ_by_is_no_slower_machine() -> None:
    """Each run has its own machine state, 1 to 1.3 times as slow. The sides' means differ by 6%."""
    sides: list[Profile] = []
    for states in ((1.0, 1.3, 1.1, 1.25, 1.05), (1.1, 1.3, 1.15, 1.3, 1.2)):
        profile = Tree(own=many(slow=1), noise=0.01).profile(np.random.default_rng(len(sides)), len(states))
        nodes = [
            replace(one, **{name: tuple(map(mul, getattr(one, name), states)) for name in ("elapsed_ms", "self_ms")})
            for one in profile.nodes
        ]
        sides.append(replace(profile, nodes=tuple(nodes)))
    (service,) = compare_profiles(sides[:1], sides[1:]).services
    assert service.answer is Answer.NOT_SLOWER
    assert "of the whole more beyond the 6" in answer_words(service)


@pytest.mark.parametrize("counted", [True, False])
@pytest.mark.parametrize("machine", [6.0, 20.0])
def test_a_machine_many_times_as_slow_is_no_slower_method_either(machine: float, counted: bool) -> None:
    def side(factor: float, seed: int) -> Profile:
        own = many(slow=1, machine=factor)
        return Tree(own=own, noise=0.1, counted=counted).profile(np.random.default_rng(seed), 5)

    result = compare_profiles([side(1.0, 1)], [side(machine, 2)])
    assert (result.answer, result.suspects) == (Answer.UNDECIDED, ())
    assert result.services[0].common_factor == pytest.approx(machine, rel=0.1)


def test_methods_that_are_called_as_often_tell_the_machine_from_longer_inputs() -> None:
    """Two thirds of the methods are called more often, and each of their calls takes longer: most methods changed."""
    calls = {f"main>m{i}": 4.0 for i in range(10, 30)}
    before = many(slow=1)
    after = {path: own * (5 if path in calls else 1) for path, own in before.items()}
    target = Tree(own=after, calls=calls).profile(np.random.default_rng(2))
    result = compare_profiles([Tree(own=before).profile(np.random.default_rng(1))], [target])
    assert result.services[0].common_factor == pytest.approx(1.0, rel=0.02)
    assert {one.method for one in result.suspects if one.reasons} >= {f"m{i}" for i in range(10, 30)}


def test_what_another_method_gained_back_makes_no_share_slower() -> None:
    faster = {path: round(300 * own) for path, own in (many(slow=1) | {"main>m29": 0.1}).items()}
    before = sampled({path: round(300 * own) for path, own in (many(slow=1) | {"main>m29": 60.0}).items()})
    assert compare_profiles([before], [sampled(faster)]).suspects == ()


@pytest.mark.parametrize(("gained_ms", "state"), [(0.001, NodeState.NOT_TESTED), (0.1, NodeState.SLOWER)])
def test_a_microsecond_beside_milliseconds_is_no_suspect(gained_ms: float, state: NodeState) -> None:
    before = {"foo": 1.0, "foo>big": 5.0, "foo>tiny": gained_ms}
    result = compared(before, before | {"foo>big": 10.0, "foo>tiny": 2 * gained_ms})
    assert slower(result)[:2] == ["foo", "foo>big"]
    assert by_path(result)["foo>tiny"].state is state


def test_shares_are_means_over_services_with_a_slower_method() -> None:
    """A service that got slower by chance alone does not reduce the suspect's share."""
    rng = np.random.default_rng(3)
    before, after = (
        [
            Tree(own={"foo": 1.0, "foo>bar": bar}, service="slow").profile(rng),
            Tree(own={"other": 5.0}, service="noisy").profile(rng),
        ]
        for bar in (5.0, 10.0)
    )
    result = compare_profiles(before, after)
    assert result.suspects[0].method == "bar"
    assert result.suspects[0].parts.own_time > 0.9


def logs(before: Profile, after: Profile, *nodes: ProfileNode) -> list[np.ndarray]:
    """Logarithms of the nodes' elapsed times, each increased by a thousandth of the larger total."""
    nothing = 0.001 * max(float(np.mean(side.nodes[0].elapsed_ms)) for side in (before, after))
    return [np.log(np.array(node.elapsed_ms) + nothing) for node in nodes]


def test_p_values_of_few_repetitions_agree_with_scipy_and_q_values_hold_inside_a_family() -> None:
    rng = np.random.default_rng(3)
    before = Tree(own=EXAMPLE, noise=0.05).profile(rng, 4)
    after = Tree(own=EXAMPLE | {"foo>doo>fem": 6.0}, noise=0.05).profile(rng, 4)
    result = by_path(compare_profiles([before], [after]))
    expected = [
        float(stats.ttest_ind(*logs(before, after, one, other)).pvalue)
        for one, other in zip(before.nodes, after.nodes, strict=True)
    ]
    assert [node.p_value for node in result.values()] == pytest.approx(expected, rel=1e-9)
    told = [node.q_value for node in result.values()]
    # Four families of tests share the rate.
    assert told == pytest.approx(np.minimum(4 * stats.false_discovery_control(expected), 1.0), rel=1e-9)
    assert told == pytest.approx(np.minimum(4 * benjamini_hochberg(np.array(expected)), 1.0).tolist())


def test_trimmed_p_values_are_yuens_with_a_margin() -> None:
    rng = np.random.default_rng(4)
    before, after = (Tree(own={"foo": own}, noise=0.05).profile(rng, 10) for own in (1.0, 1.05))
    p_value = compare_profiles([before], [after]).services[0].nodes[0].p_value
    sides = logs(before, after, before.nodes[0], after.nodes[0])
    yuen = float(stats.ttest_ind(*sides, trim=0.2, equal_var=True).pvalue)
    assert p_value is not None
    assert yuen < p_value < 2 * yuen


def test_a_method_with_changed_calls_that_got_slower_is_a_suspect_and_so_is_what_is_below_it() -> None:
    after = EXAMPLE | {"foo>doo>log": 4.0, "foo>doo>fem": 4.4}
    result = compared(EXAMPLE, after, calls_before=CALLS, calls_after=CALLS)
    nodes = by_path(result)
    assert nodes["foo>doo"].changed_calls
    assert SuspectReason.CHANGED_CALLS in nodes["foo>doo"].reasons
    assert nodes["foo>doo>fem"].state is NodeState.SLOWER
    assert nodes["foo>doo>log"].state is NodeState.ADDED
    assert nodes["foo>doo>log"].reasons == (SuspectReason.ADDED,)
    assert result.added_methods == ("log",)
    assert reasons(result)["foo"] == ()


def test_a_newly_called_trifle_hides_no_slower_method_beside_it() -> None:
    after = EXAMPLE | {"foo>log": 0.001, "foo>doo>fem": 8.0}
    result = compared(EXAMPLE, after, calls_before=CALLS, calls_after=CALLS)
    assert slower(result) == ["foo", "foo>doo", "foo>doo>fem"]
    assert SuspectReason.CHANGED_CALLS not in reasons(result)["foo"]
    assert "log" not in reasons(result) or SuspectReason.ADDED not in reasons(result)["log"]


def test_a_removed_method_whose_work_moved_into_its_caller() -> None:
    before = {"foo": 1.0, "foo>helper": 2.0}
    result = compared(before, {"foo": 6.0})
    assert by_path(result)["foo>helper"].state is NodeState.REMOVED
    assert result.removed_methods == ("helper",)
    assert reasons(result)["foo"] == (
        SuspectReason.PATH_END,
        SuspectReason.OWN_TIME,
        SuspectReason.ORIGIN,
        SuspectReason.CHANGED_CALLS,
    )


def test_more_calls_are_told_from_slower_calls() -> None:
    before = {"parse": 1.0, "parse>tokenize": 4.0, "parse>tokenize>compile": 0.1, "parse>build": 3.0}
    path = "parse>tokenize>compile"
    more = compared(before, before, calls_before={path: 1}, calls_after={path: 40})
    assert by_path(more)[path].cause is ChangeCause.MORE_CALLS
    assert SuspectReason.CALLS_MORE_OFTEN in reasons(more)["tokenize"]
    longer = compared(before, before | {path: 4.0})
    assert by_path(longer)[path].cause is ChangeCause.TIME_PER_CALL
    assert SuspectReason.CALLS_MORE_OFTEN not in reasons(longer)["tokenize"]
    both = compared(before, before | {path: 0.4}, calls_before={path: 1}, calls_after={path: 10})
    assert by_path(both)[path].cause is ChangeCause.BOTH


def test_totals_alone_give_ratios_and_no_certainty() -> None:
    result = compared(EXAMPLE, EXAMPLE | {"foo>doo>fem": 6.0}, repetitions=1, noise=0.0)
    assert result.services[0].basis is Basis.TOTALS
    assert slower(result) == ["foo", "foo>doo", "foo>doo>fem"]
    assert all(node.q_value is None and node.confidence_interval is None for node in by_path(result).values())
    assert result.suspects[0].method == "fem"
    assert result.suspects[0].q_value is None
    assert because(Caveat.TOTALS_ALONE) in result.notes


def test_sampled_profiles_are_compared_by_shares() -> None:
    before = sampled({"main": 10, "main>parse": 400, "main>parse>scan": 300, "main>render": 800})
    after = sampled({"main": 20, "main>parse": 800, "main>parse>scan": 1_800, "main>render": 1_600})
    result = compare_profiles([before], [after])
    nodes = by_path(result)
    assert (result.services[0].basis, result.services[0].unit) == (Basis.COUNTS, "share")
    assert slower(result) == ["main>parse", "main>parse>scan"]
    scan = nodes["main>parse>scan"]
    assert scan.baseline is not None
    assert scan.baseline.elapsed == pytest.approx(300 / 1510)
    assert nodes["main>render"].state is NodeState.FASTER
    assert result.suspects[0].method == "scan"


def test_counts_of_the_same_work_are_times() -> None:
    before = sampled({"main": 10, "main>parse": 400, "main>render": 800})
    after = sampled({"main": 10, "main>parse": 800, "main>render": 810})
    result = compare_profiles([before], [after], settings=ComparisonSettings(same_work=True))
    assert result.services[0].unit == "samples"
    assert slower(result) == ["main", "main>parse"]


def test_a_rare_path_of_a_sampled_profile_is_no_change_of_shape() -> None:
    before = sampled({"main": 0, "main>parse": 400, "main>parse>gc": 1, "main>render": 800})
    after = sampled({"main": 0, "main>parse": 900, "main>parse>io": 2, "main>render": 800})
    result = compare_profiles([before], [after])
    assert not by_path(result)["main>parse"].changed_calls
    assert SuspectReason.CHANGED_CALLS not in reasons(result)["parse"]
    assert {SuspectReason.PATH_END, SuspectReason.OWN_TIME} <= set(reasons(result)["parse"])


def test_a_new_path_right_below_the_root_of_shares_is_a_suspect() -> None:
    before = sampled({"main": 0, "main>parse": 900})
    after = sampled({"main": 0, "main>parse": 900, "main>audit": 300})
    texts = reasons(compare_profiles([before], [after]))
    assert list(texts) == ["audit"]
    assert SuspectReason.ADDED in texts["audit"]


def test_no_change_has_no_suspects() -> None:
    result = compared(EXAMPLE, EXAMPLE)
    assert (slower(result), result.suspects, result.impacted) == ([], (), ())


@pytest.mark.slow  # 600 comparisons of trees of 31 paths
@pytest.mark.parametrize("repetitions", [(5, 5), (4, 20)])
def test_of_equal_revisions_the_search_seldom_says_slower(repetitions: tuple[int, int]) -> None:
    """Own time and time with callees are two families at half of alpha each, so at most alpha of trials may alarm."""
    rng = np.random.default_rng(11)
    paths = ["r"]
    for path in paths:
        if path.count(">") < 4:
            paths += [f"{path}>{name}" for name in ("a", "b")]
    tree = Tree(own=dict.fromkeys(paths, 1.0), noise=0.3)
    trials, alpha = 300, 0.05
    settings = ComparisonSettings(alpha=alpha, minimum_effect=0.0)
    alarms = sum(
        bool(
            compare_profiles(
                [tree.profile(rng, repetitions[0])], [tree.profile(rng, repetitions[1])], settings=settings
            ).suspects
        )
        for _ in range(trials)
    )
    # Two-sided tests: half of the false discoveries are "faster". The bound is the 99.9% quantile.
    assert alarms <= stats.binom.ppf(0.999, trials, alpha)
    assert alarms > 0


def test_a_path_that_comes_and_goes_accuses_nobody() -> None:
    """A call graph split into paths: in two of five repetitions `x` is called through `u`, with the same time."""

    def profile(seed: int, *, by_u: Sequence[int]) -> Profile:
        rng = np.random.default_rng(seed)
        x, rest = (mean * (1 + 0.02 * rng.standard_normal(5)) for mean in (40.0, 100.0))
        moved = np.isin(np.arange(5), by_u)
        nothing = np.zeros(5)
        rows: list[tuple[str, int | None, Any, Any]] = [
            ("r", None, x + rest, rest),
            ("g", 0, x, nothing),
            ("x", 1, x * ~moved, x * ~moved),
        ]
        if by_u:
            rows += [("u", 1, x * moved, nothing), ("x", 3, x * moved, x * moved)]
        else:
            rows += [("u", 0, nothing + 0.001, nothing + 0.001)]
        nodes = tuple(
            ProfileNode(method=name, parent=parent, elapsed_ms=tuple(whole), self_ms=tuple(own), calls=2.0)
            for name, parent, whole, own in rows
        )
        return Profile(service="test", repetitions=5, nodes=nodes)

    result = compare_profiles([profile(1, by_u=())], [profile(2, by_u=(1, 3))])
    assert reasons(result) == {}
    assert result.answer is not Answer.SLOWER
