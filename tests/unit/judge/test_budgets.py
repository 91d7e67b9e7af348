"""Absolute limits: exceeded, kept or unsure, by the metric's direction and in its unit."""

import json
from pathlib import Path

import pytest
from msgspec import structs
from pydantic import ValidationError

from perf_culprit.cli.entry import main
from perf_culprit.config.policy_settings import BudgetConfig, PolicySettings
from perf_culprit.errors import ConfigError
from perf_culprit.judge.budgets import checked_budgets
from perf_culprit.model.report import BudgetCheck, BudgetState, decode_report
from perf_culprit.model.run import Benchmark, Direction, Run, Summary

SIX_ABOUT_100 = (97.0, 99.0, 100.0, 100.0, 101.0, 103.0)


def checked(
    limit: str | float,
    *,
    samples: tuple[float, ...] = SIX_ABOUT_100,
    unit: str = "ms",
    direction: Direction = Direction.LOWER_IS_BETTER,
    **others: object,
) -> BudgetCheck:
    benchmark = Benchmark(name="parse", unit=unit, direction=direction, samples=samples)
    budget = BudgetConfig(match="par*", limit=limit, because="a frame lasts that long")
    run = Run(benchmarks=(structs.replace(benchmark, **others),))
    (check,) = checked_budgets(run, PolicySettings(budgets=(budget,)))
    return check


@pytest.mark.parametrize(
    ("limit", "state"),
    [("90 ms", BudgetState.OVER), ("100 ms", BudgetState.UNSURE), ("110 ms", BudgetState.WITHIN)],
)
def test_the_run_s_own_noise_decides_whether_it_is_sure(limit: str, state: BudgetState) -> None:
    check = checked(limit)
    assert check.state is state
    assert (check.value, check.because) == (100.0, "a frame lasts that long")
    assert 97 <= check.low < 100 < check.high <= 103


@pytest.mark.parametrize(("limit", "state"), [("90", BudgetState.WITHIN), ("110", BudgetState.OVER)])
def test_where_more_is_better_it_is_the_least(limit: str, state: BudgetState) -> None:
    assert checked(limit, unit="ops/s", direction=Direction.HIGHER_IS_BETTER).state is state


@pytest.mark.parametrize(
    ("limit", "unit", "expected"),
    [
        ("0.1 s", "ms", 100.0),
        ("100us", "ns/op", 1e5),
        ("2 MiB", "B", 2**21),
        (3.0, "widgets", 3.0),
        ("1.5 kB", "B", 1500),
    ],
)
def test_the_limit_is_read_in_the_unit_of_the_metric(limit: str | float, unit: str, expected: float) -> None:
    assert checked(limit, unit=unit).limit == pytest.approx(expected)


def test_processes_count_and_not_their_samples() -> None:
    """Two processes that disagree leave the budget unsure, however many samples each has."""
    samples = (*[90.0] * 50, *[110.0] * 50)
    assert checked("95 ms", samples=samples, group_sizes=(50, 50)).state is BudgetState.UNSURE


def test_a_tool_s_own_error_and_a_single_number() -> None:
    summary = Summary(value=100.0, statistic="mean", count=10, standard_deviation=20.0)
    assert checked("95 ms", samples=(), summary=summary).state is BudgetState.UNSURE
    assert checked("95 ms", samples=(100.0,)).state is BudgetState.OVER


@pytest.mark.parametrize(
    ("limit", "unit", "direction", "message"),
    [
        ("2 MiB", "ms", Direction.LOWER_IS_BETTER, "write the limit in ms"),
        ("2 MiB", "", Direction.LOWER_IS_BETTER, "write the limit without a unit"),
        ("2 ms", "ms", Direction.UNKNOWN, "set `direction` of these benchmarks"),
    ],
)
def test_a_limit_that_says_nothing_is_refused(limit: str, unit: str, direction: Direction, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        checked(limit, unit=unit, direction=direction)
    assert message in str(caught.value.next_step)


@pytest.mark.parametrize("given", [{"limit": "2 MiB"}, {"limit": "few", "because": "x"}, {"limit": "1", "because": ""}])
def test_a_budget_without_limit_or_reason_is_refused(given: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        BudgetConfig(**given)


def test_the_first_that_matches_applies_and_the_exceeded_come_first() -> None:
    run = Run(
        benchmarks=tuple(Benchmark(name=name, unit="ms", samples=(value,)) for name, value in (("a", 1.0), ("b", 9.0)))
    )
    budgets = tuple(BudgetConfig(match=match, limit="5 ms", because=match) for match in ("a", "*"))
    checks = checked_budgets(run, PolicySettings(budgets=budgets))
    assert [(check.benchmark, check.because, check.state) for check in checks] == [
        ("b", "*", BudgetState.OVER),
        ("a", "a", BudgetState.WITHIN),
    ]
    assert checked_budgets(run, PolicySettings()) == ()


@pytest.mark.parametrize(
    ("limit", "state"), [("9 ms", BudgetState.OVER), ("10.5 ms", BudgetState.UNSURE), ("20 ms", BudgetState.WITHIN)]
)
def test_the_command_says_the_sentence_and_fails(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    limit: str | float,
    state: BudgetState,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("config.yml").write_text(f"budgets: [{{limit: {limit}, because: a frame is drawn in that}}]\n")
    times = [0.0100, 0.0102, 0.0104, 0.0106, 0.0108, 0.0110, 0.0112, 0.0114]
    result = {"command": "draw", "mean": 0.0107, "times": times, "exit_codes": [0] * len(times)}
    for name in ("old", "new"):
        Path(f"{name}.json").write_text(json.dumps({"results": [result]}))
    asked = ["compare", "old.json", "new.json", "--config", "config.yml", "--json", "report.json"]
    assert main(asked) == (1 if state is BudgetState.OVER else 0)
    shown = capsys.readouterr().out
    report = decode_report(Path("report.json").read_bytes(), place="report.json")
    assert [check.state for check in report.budgets] == [state]
    assert ("a frame is drawn in that" in shown) is (state is not BudgetState.WITHIN)
    assert ("1 of 1 budget exceeded; " in shown and "This fails the check." in shown) is (state is BudgetState.OVER)
    assert ("not sure" in shown) is (state is BudgetState.UNSURE)
    assert report.is_consistent
