"""One order of suspects over all services: every part of the score is visible and has an effect."""

from dataclasses import replace

import numpy as np
import pytest
from msgspec import structs

from perf_culprit.explain.compare_trees import compare_profiles
from perf_culprit.explain.tree_methods import is_standard
from perf_culprit.model.call_tree import Caller, Certainty, ChangeKind, Profile, Touched, TouchedFunction
from perf_culprit.model.report import ScoreParts, SuspectReason
from tests.support.compared_trees import Tree, sampled

PARSE = {"parse": 1.0, "parse>tokenize": 4.0, "parse>tokenize>compile": 0.1, "parse>build": 3.0}


def profiles(own: dict[str, float], calls: dict[str, float] | None = None, *, service: str = "test") -> Profile:
    tree = Tree(own=own, calls=calls or {}, service=service)
    return tree.profile(np.random.default_rng(len(own)), 20)


def touched(*names: str, kind: ChangeKind = ChangeKind.CHANGED) -> Touched:
    functions = [
        TouchedFunction(path="src/parser.py", qualified_name=name, kind=kind, first_line=10, last_line=20)
        for name in names
    ]
    return Touched(base="a" * 40, head="b" * 40, functions=tuple(functions))


def test_every_part_of_the_score() -> None:
    before, after = profiles(PARSE), profiles(PARSE | {"parse>tokenize>compile": 8.1})
    suspect = compare_profiles([before], [after]).suspects[0]
    assert suspect.method == "compile"
    assert suspect.parts.own_time == pytest.approx(1, abs=0.1)
    parts = suspect.parts
    assert parts == ScoreParts(
        own_time=parts.own_time, origin=parts.origin, branch=parts.branch, slowdown=parts.slowdown, touched=0.0
    )
    assert suspect.score == parts.origin
    assert min(parts.origin, parts.branch, parts.slowdown) > 0.9


def test_who_was_touched_comes_before_who_only_lies_on_the_path() -> None:
    before, after = profiles(PARSE, {"parse>tokenize>compile": 1}), profiles(PARSE, {"parse>tokenize>compile": 80})
    alone = compare_profiles([before], [after])
    # Each of its calls takes as long as before. It is called more often, which begins in its caller.
    assert [one.method for one in alone.suspects] == ["tokenize", "compile", "parse"]
    with_commit = compare_profiles([before], [after], touched=touched("tokenize"))
    tokenize = next(one for one in with_commit.suspects if one.method == "tokenize")
    assert tokenize.parts.touched == 0.5
    assert tokenize.reasons == (SuspectReason.ORIGIN, SuspectReason.CALLS_MORE_OFTEN, SuspectReason.TOUCHED)
    assert tokenize.touched is not None
    assert (tokenize.touched.file, tokenize.touched.first_line) == ("src/parser.py", 10)
    assert tokenize.touched.certainty is Certainty.BARE_NAME
    assert tokenize.score == pytest.approx((tokenize.parts.origin + 2 * 0.5 * tokenize.parts.slowdown) / 3)
    assert (with_commit.touched, with_commit.head) == (1, "b" * 40)


def test_cosmetic_changes_touch_nothing() -> None:
    before, after = profiles(PARSE), profiles(PARSE | {"parse>tokenize": 8.0})
    result = compare_profiles([before], [after], touched=touched("tokenize", kind=ChangeKind.COSMETIC))
    assert result.suspects[0].touched is None
    assert result.touched == 0


def test_a_method_of_many_slower_services_comes_before_one_of_a_single_service() -> None:
    before, after = [], []
    for i in range(4):
        name = f"s{i}"
        base = {name: 5.0, f"{name}>shared": 2.0, f"{name}>own{i}": 2.0}
        before.append(profiles(base, service=name))
        slow = base | {f"{name}>shared": 3.0} | ({f"{name}>own{i}": 4.0} if i == 0 else {})
        after.append(profiles(slow, service=name))
    result = compare_profiles(before, after)
    shared, *others = result.suspects
    assert shared.method == "shared"
    assert shared.parts.own_time > 0.75
    assert next(one for one in others if one.method == "own0").parts.own_time == pytest.approx(2 / 3 / 4, abs=0.05)
    assert [one.service for one in shared.services] == ["s1", "s2", "s3", "s0"]
    assert {one.service for one in result.impacted} == {"s0", "s1", "s2", "s3"}


def test_a_recursion_counts_once() -> None:
    before = {"f": 1.0, "f>f": 1.0, "f>f>f": 1.0}
    slow = dict.fromkeys(before, 2.0)
    suspect = compare_profiles([profiles(before)], [profiles(slow)]).suspects[0]
    assert suspect.parts.slowdown == pytest.approx(1.0, abs=0.01)
    assert suspect.baseline is not None
    assert suspect.baseline.elapsed == pytest.approx(3.0, rel=0.05)


def test_shares_rank_too() -> None:
    before = sampled({"main": 0, "main>a": 500, "main>b": 500})
    after = sampled({"main": 0, "main>a": 500, "main>b": 1000})
    suspect = compare_profiles([before], [after]).suspects[0]
    assert (suspect.method, suspect.unit) == ("b", "share")
    assert suspect.parts.own_time == pytest.approx(1.0)


def test_the_order_does_not_depend_on_that_of_the_input() -> None:
    services = [("s1", 3.0), ("s2", 4.0), ("s3", 5.0)]
    before = [profiles({name: 2.0, f"{name}>work": 2.0}, service=name) for name, _ in services]
    after = [profiles({name: 2.0, f"{name}>work": slow}, service=name) for name, slow in services]
    one, other = compare_profiles(before, after), compare_profiles(before[::-1], after[::-1])
    assert [suspect.method for suspect in one.suspects] == [suspect.method for suspect in other.suspects]
    assert [round(a.score - b.score, 12) for a, b in zip(one.suspects, other.suspects, strict=True)] == [0, 0, 0, 0]


def test_touched_methods_that_show_the_slowdown_come_before_those_above_them() -> None:
    before, after = profiles(PARSE), profiles(PARSE | {"parse>tokenize>compile": 8.1})
    comparison = compare_profiles([before], [after], touched=touched("compile", "parse"))
    assert [one.method for one in comparison.suspects] == ["compile", "parse", "tokenize"]
    # If no touched method shows the slowdown itself, the touched caller comes first: it may call it differently.
    above = compare_profiles([before], [after], touched=touched("parse"))
    assert above.suspects[0].method == "parse"


def test_who_calls_what_was_touched_comes_before_the_rest_and_says_so() -> None:
    """The changed function itself is in no profile: it is too quick, or written in C."""
    before, after = profiles(PARSE), profiles(PARSE | {"parse>tokenize": 7.0, "parse>build": 5.0})
    caller = Caller(path="src/parser.py", qualified_name="build", first_line=30, last_line=40, called_names=("hidden",))
    with_caller = replace(touched("hidden"), callers=(caller,))
    alone = compare_profiles([before], [after], touched=touched("hidden"))
    comparison = compare_profiles([before], [after], touched=with_caller)
    assert [one.method for one in alone.suspects][:2] == ["tokenize", "build"]
    build, tokenize = comparison.suspects[:2]
    assert (build.method, tokenize.method) == ("build", "tokenize")
    assert SuspectReason.CALLS_TOUCHED in build.reasons
    assert SuspectReason.CALLS_TOUCHED not in tokenize.reasons


@pytest.mark.parametrize("file", ["copy.py", "/usr/lib/python3.11/json/decoder.py", "<frozen _collections_abc>"])
def test_what_the_standard_library_takes_longer_for_is_its_callers_doing(file: str) -> None:
    def side(copying: float) -> Profile:
        profile = profiles(PARSE | {"parse>tokenize>copy": copying})
        nodes = (
            structs.replace(node, calls=None, file=file if node.method == "copy" else "parser.py")
            for node in profile.nodes
        )
        return structs.replace(profile, nodes=tuple(nodes))

    suspects = [one for one in compare_profiles([side(1.0)], [side(9.0)]).suspects if one.reasons]
    assert [one.method for one in suspects] == ["tokenize", "copy"]
    assert SuspectReason.ORIGIN in suspects[0].reasons


@pytest.mark.parametrize(
    ("file", "standard"),
    [
        ("shop/copy.py", False),
        ("/srv/shop/json/decoder.py", False),
        ("/usr/lib/python3.11/site-packages/json/x.py", False),
        ("json/decoder.py", True),
        ("C:/Python311/Lib/copy.py", True),
        (None, False),
    ],
)
def test_where_the_standard_library_is(file: str | None, standard: bool) -> None:
    assert is_standard(file) is standard


def test_who_calls_what_nobody_called_before_comes_first_though_stacks_count_no_calls() -> None:
    before = {"main": 0, "main>check": 0, "main>check>unique": 40, "main>check>read": 900, "main>check>find": 60}
    new = {"main>check>unique>equal": 2_000, "main>check>unique>equal>compare": 1_500}
    comparison = compare_profiles([sampled(before)], [sampled(before | new)])
    first, *others = comparison.suspects
    assert first.method == "unique"
    assert SuspectReason.CHANGED_CALLS in first.reasons
    # The row of the method that began to call them stands for its new callees.
    assert not {"equal", "compare"} & {one.method for one in others}


def test_who_calls_all_else_a_hundred_times_as_often_comes_first_though_stacks_count_no_calls() -> None:
    rng = np.random.default_rng(3)
    work = {"main>call>parse": 2.0} | {f"main>call>parse>step{i}": 5.0 for i in range(12)}

    def side(times: float) -> Profile:
        own = {"main": 300.0, "main>call": 1.0} | {path: own * times for path, own in work.items()}
        return Tree(own=own, noise=0.05, counted=False).profile(rng, 5)

    suspects = compare_profiles([side(1.0)], [side(100.0)]).suspects
    assert suspects[0].method == "call"
