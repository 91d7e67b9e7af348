"""The facts in files tell which of them share a machine and a stretch of time."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from perf_culprit.judge.run_blocks import Blocks, blocks_of
from perf_culprit.model.finding import Baseline, BaselineSource
from perf_culprit.model.run import CI_RUN, HOST, Environment, Origin, Run

START = datetime(2026, 11, 1, tzinfo=UTC)


def file(minute: float | None = None) -> Run:
    return Run(time=None if minute is None else START + timedelta(minutes=minute))


def on(component: str, value: str) -> Run:
    return Run(environment=Environment(components={component: value}))


def blocks(baseline: list[Run], target: list[Run], source: BaselineSource = BaselineSource.FILES) -> Blocks:
    origins: tuple[Origin, ...] = tuple(run.origin for run in target)
    joined = target[0] if len(target) == 1 else replace(target[0], origins=origins)
    return blocks_of(Baseline(runs=tuple(baseline), source=source), joined)


def test_files_without_facts_are_one_block_a_side() -> None:
    assert blocks([file()] * 3, [file()] * 2) == ((0, 0, 0), (1, 1))


@pytest.mark.parametrize("component", [HOST, "boot", CI_RUN])
def test_another_machine_start_or_job_is_another_block(component: str) -> None:
    baseline = [on(component, "a"), on(component, "a"), on(component, "b")]
    assert blocks(baseline, [on(component, "c"), on(component, "d")]) == ((0, 0, 1), (2, 3))


def test_a_pause_separates_files_of_one_machine_and_a_minute_does_not() -> None:
    assert blocks([file(0), file(1), file(1441)], [file(2882), file(2883)]) == ((0, 0, 1), (2, 2))


def test_sides_in_a_row_on_one_machine_are_one_block_each() -> None:
    assert blocks([file(0), file(1)], [file(2), file(3)]) == ((0, 0), (1, 1))


def test_sides_that_took_turns_on_one_machine_are_rounds() -> None:
    in_turn = blocks([file(0), file(3), file(4), file(7)], [file(1), file(2), file(5), file(6)])
    assert in_turn == ((0, 2, 2, 4), (0, 0, 2, 2))
    assert blocks([file(0), file(2), file(4)], [file(1), file(3), file(5)]) == ((0, 2, 4), (0, 2, 4))


def test_each_night_with_both_sides_is_a_round() -> None:
    assert blocks([file(0), file(1440)], [file(1), file(1441)]) == ((0, 2), (0, 2))


def test_stored_runs_are_blocks_of_their_own_and_the_target_is_one() -> None:
    assert blocks([file()] * 3, [file()] * 2, BaselineSource.HISTORY) == ((0, 1, 2), (3, 3))
