from typing import Any

import pytest

from perf_culprit.model.bisection import ChangeFacts, CommitRange, PlannedSearch, StoredNoise
from perf_culprit.say.bisection_steps import LISTED_STEPS, plan_text

RANGE = CommitRange(good="a" * 40, bad="b" * 40, commits=("b" * 40,), parents=((),))
PLAN: dict[str, Any] = {"commit_range": RANGE, "subjects": {}, "executions": (1, 2), "budget": 400}


def planned(**other: Any) -> str:
    return plan_text(PlannedSearch(**PLAN | other))


def test_the_plan_counts_and_lists() -> None:
    commits = tuple(f"{number:040x}" for number in range(1, 61))
    parents = (*(((number - 1,) if number else ()) for number in range(59)), (58, 3))
    commit_range = CommitRange(
        good="a" * 40,
        bad=commits[-1],
        commits=commits,
        parents=parents,
        reverts=((5, 2),),
        unchanged=(1,),
        merge_bases=("b" * 40,),
    )
    subjects = {commits[0]: "First\x1b[2J", commits[1]: "Second"}
    lines = planned(commit_range=commit_range, subjects=subjects, executions=(50, 150)).splitlines()
    assert lines[0] == (
        "60 candidates after aaaaaaa up to 0000000: 1 merge, 1 without a change of what the build reads, 1 revert"
    )
    assert lines[1] == "good is not an ancestor of bad: the merge base bbbbbbb is measured first"
    assert "\x1b" not in lines[3]
    assert lines[4] == "  0000000  Second  (unchanged)"
    assert f"  … and {60 - LISTED_STEPS} more" in lines
    assert "about 50 executions" in lines[-3]
    assert "budget 400" in lines[-3]
    assert lines[-2].startswith("How many minutes: unknown")


def test_the_noise_of_the_history_gives_costs_by_step() -> None:
    noise = StoredNoise(
        benchmark="parse `x`\n", metric="time", spread=0.031, runs=12, executions=((0.05, 210), (0.3, 1050))
    )
    text = planned(noise=(noise,))
    assert (
        "parse `x` (time): 3.1% from run to run in 12 stored runs; executions for +5% about 210, +30% about 1,050"
        in text
    )


def test_the_minutes_are_those_that_stored_executions_took() -> None:
    text = planned(executions=(50, 150), seconds=12.3)
    assert "12.3 s an execution with builds: about 11 to 31 minutes, at most 82." in text


def test_a_history_without_runs_says_so() -> None:
    assert "too few runs" in planned(noise=())
    assert "too few runs" not in planned()


def test_the_plan_lists_the_chances_that_it_starts_from() -> None:
    text = planned(subjects={"b" * 40: "Only"}, prior={"b" * 40: 0.25})
    line = next(line for line in text.splitlines() if line.endswith("Only"))
    assert "25" in line


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        (ChangeFacts(churn=1200), "1,200 lines of code"),
        (ChangeFacts(churn=1, changes_dependency=True), "dependencies or the build, 1 line of code"),
        (ChangeFacts(only_documents=True), "documents or tests only"),
        (ChangeFacts(clean_merge=True), "a clean merge"),
        (ChangeFacts(), "no line of code"),
    ],
)
def test_each_chance_has_its_reason(facts: ChangeFacts, why: str) -> None:
    commit = "b" * 40
    text = planned(prior={commit: 0.25}, facts={commit: facts})
    assert f"({why})" in next(line for line in text.splitlines() if line.startswith("  bbbbbbb"))
    assert "executes: it looks when it begins" in text
    assert "executes" not in planned()
