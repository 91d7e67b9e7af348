"""Execution logs: parts merge in any grouping, order of lines and scale of times change nothing, text stays inert."""

import json
from functools import reduce
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perf_culprit.explain.ranking import distance_score, minimum_self_ms, rank_suspects
from perf_culprit.model.call_tree import (
    CallNode,
    CallTree,
    Diagnosis,
    LineFault,
    LogReading,
    UnusedLine,
    encode_diagnosis,
)
from perf_culprit.read.logs.log_partial import Part, finish, merge
from perf_culprit.read.logs.reading_settings import RankingSettings, ReadingSettings
from perf_culprit.read.logs.service_calls import response_times, statistics
from perf_culprit.say.diagnosis_text import diagnosis_text
from tests.support.execution_logs import Execution, drawn_calls, line, log, part_of, paths, trees_of

seeded = settings(derandomize=True, deadline=None, max_examples=60)


def comparable(part: Part) -> object:
    whole = finish(part)
    return (
        {service: (tree.calls, tree.variants, paths(tree)) for service, tree in trees_of(part).items()},
        {
            service: (one.times.calls, one.times.windows, [slow.negative_ms for slow in one.times.slowest])
            for service, one in whole.services.items()
        },
        {service: pytest.approx(one.times.deviations, abs=1e-6) for service, one in whole.services.items()},
        whole.lines,
        whole.unused,
    )


@seeded
@given(drawn_calls(), st.data())
def test_parts_of_any_cut_and_any_grouping_give_the_whole(calls: list[list[Execution]], data: st.DataObject) -> None:
    lines = [line(execution) for executions in calls for execution in executions]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(lines)), max_size=5)))
    # Calls do not interleave here, so that any horizon does.
    horizon = data.draw(st.integers(1, 30))
    parts = [part_of(b"".join(lines[start:end]), horizon=horizon) for start, end in pairwise([0, *cuts, len(lines)])]
    from_left = reduce(merge, parts)
    from_right = reduce(lambda right, left: merge(left, right), reversed(parts))
    whole = comparable(part_of(b"".join(lines)))
    assert comparable(from_left) == whole
    assert comparable(from_right) == whole


@seeded
@given(drawn_calls(), st.randoms(use_true_random=False))
def test_any_order_of_lines_gives_the_same_trees(calls: list[list[Execution]], chance: Random) -> None:
    lines = [line(execution) for executions in calls for execution in executions]
    ordered = comparable(part_of(b"".join(lines)))
    chance.shuffle(lines)
    assert comparable(part_of(b"".join(lines))) == ordered


@seeded
@given(drawn_calls(), st.integers(1, 8))
def test_self_times_add_up_and_a_longer_scale_keeps_the_order(calls: list[list[Execution]], scale: int) -> None:
    trees = list(trees_of(part_of(log(execution for executions in calls for execution in executions))).values())
    for tree in trees:
        assert sum(node.self_ms for node in tree.nodes) == pytest.approx(tree.total_ms)
    longer = [
        CallTree(
            service=tree.service,
            calls=tree.calls,
            variants=tree.variants,
            nodes=tuple(
                CallNode(
                    method=node.method,
                    parent=node.parent,
                    calls=node.calls,
                    elapsed_ms=node.elapsed_ms * 2**scale,
                    self_ms=node.self_ms * 2**scale,
                    longest_ms=node.longest_ms * 2**scale,
                )
                for node in tree.nodes
            ),
        )
        for tree in trees
    ]
    for suspect, later in zip(
        rank_suspects(trees, RankingSettings()), rank_suspects(longer, RankingSettings()), strict=True
    ):
        assert (suspect.method, suspect.score, suspect.tiny) == (later.method, later.score, later.tiny)


@seeded
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.floats(0, 1))
def test_a_score_is_between_0_and_the_largest_share(shares: list[float], weight: float) -> None:
    score = distance_score(shares, fluctuation_weight=weight)
    assert -1e-9 <= score <= max(shares) + 1e-9


@seeded
@given(st.text(max_size=40), st.text(max_size=40))
def test_foreign_names_are_inert_in_text_and_whole_in_json(method: str, service: str) -> None:
    hostile = f"{method}\x1b[2J\n::error::\u202e##[x]"
    node = CallNode(method=hostile, parent=None, calls=1, elapsed_ms=3, self_ms=3, longest_ms=3)
    trees = (CallTree(service=service, calls=1, variants=1, nodes=(node,)),)
    times = response_times([(3.0, 5.0, hostile.encode())], settings=ReadingSettings())
    diagnosis = Diagnosis(
        suspects=rank_suspects(trees, RankingSettings()),
        services=(statistics(service, times, all_calls=1, variants=1, settings=ReadingSettings()),),
        reading=LogReading(
            lines=1,
            executions=1,
            unused={LineFault.NO_MATCH: 1},
            examples=(UnusedLine(fault=LineFault.NO_MATCH, line=1, text=hostile),),
            headless_calls=0,
            cut_calls=0,
            truncated_files=(hostile,),
        ),
        fluctuation_weight=1,
        minimum_self_ms=minimum_self_ms(trees, RankingSettings()),
    )
    text = diagnosis_text(diagnosis)
    assert "##[" not in text
    for shown in text.splitlines():
        assert shown.isprintable()
        assert not shown.lstrip().startswith("::")
    document = json.loads(encode_diagnosis(diagnosis))
    assert document["suspects"][0]["method"] == hostile
    assert document["services"][0]["service"] == service
