"""METHODS 3 across versions: consecutive comparisons, the matrix's outcomes, transient regressions."""

from collections.abc import Sequence

import numpy as np
import pytest

from perf_culprit.judge.deviation_matrix import deviation_matrix
from perf_culprit.model.finding import Verdict
from perf_culprit.model.run import Benchmark, Direction, Metric, Run, Summary
from perf_culprit.model.series import Outcome, Row, TransientRegression, Version
from tests.support.noisy_runs import THROUGHPUT, TIME, run_of

SEED = 51


def row_of(levels: Sequence[float], *, samples: int = 50, metric: Metric = TIME, minimum_effect: float = 0.05) -> Row:
    """The matrix row of versions with these levels, with outliers in one sample of ten."""
    rng = np.random.default_rng(SEED)
    versions = []
    for number, level in enumerate(levels):
        values = level * rng.normal(1, 0.02, samples) * np.where(rng.random(samples) < 0.1, 8.0, 1.0)
        versions.append(Version(name=f"v{number}", run=run_of(values[None], metric=metric)))
    (row,) = deviation_matrix(versions, minimum_effect=minimum_effect).rows
    return row


def changes(row: Row) -> dict[str, str]:
    return {cell.version: cell.verdict for cell in row.cells if cell.verdict != "no_change"}


def test_deviation_matrix_silent() -> None:
    row = row_of([100.0] * 12)
    assert changes(row) == {}
    assert row.transient_regressions == ()
    assert {cell.outcome for cell in row.cells} <= {Outcome.OVERLAP, Outcome.SIGNIFICANT_OVERLAP}
    assert all(cell.gap == 0 for cell in row.cells)


def test_deviation_matrix_fires() -> None:
    """The source's example: `Paint` falls from 0.25 to 0.07 ms."""
    row = row_of([0.25, 0.25, 0.07, 0.07])
    assert changes(row) == {"v2": Verdict.IMPROVEMENT}
    cell = row.cells[1]
    assert cell.outcome is Outcome.DEVIATION
    assert cell.relative_change == pytest.approx(-0.72, abs=0.02)
    assert cell.gap is not None
    assert 0.6 < cell.gap < 0.72
    assert row.first == "v0"


def test_two_regressions_undone_at_once_are_one_digression() -> None:
    """The source's example: `V8.ScriptCompiler` gets worse twice and then returns to its first level."""
    row = row_of([10, 10, 14, 14, 19, 19, 10, 10])
    assert changes(row) == {"v2": Verdict.REGRESSION, "v4": Verdict.REGRESSION, "v6": Verdict.IMPROVEMENT}
    assert row.transient_regressions == (TransientRegression(start="v2", end="v6"),)


def test_a_digression_within_a_regression_leaves_the_regression() -> None:
    row = row_of([10, 14, 14, 19, 14, 14, 10])
    assert row.transient_regressions == (
        TransientRegression(start="v3", end="v4"),
        TransientRegression(start="v1", end="v6"),
    )


def test_an_improvement_to_another_level_is_no_digression() -> None:
    assert row_of([10, 14, 14, 12, 12]).transient_regressions == ()
    assert row_of([10, 14, 14, 7, 7]).transient_regressions == ()
    assert row_of([10, 7, 10]).transient_regressions == ()


def test_direction_decides_what_is_worse() -> None:
    assert changes(row_of([100, 80], metric=THROUGHPUT)) == {"v1": Verdict.REGRESSION}
    unknown = Metric(name="threads", unit="", direction=Direction.UNKNOWN)
    row = row_of([100, 80], metric=unknown)
    assert row.cells[0].outcome is Outcome.DEVIATION
    assert changes(row) == {}


def test_methods_3_practical_significance() -> None:
    row = row_of([100, 104], samples=800)
    assert row.cells[0].outcome is Outcome.DEVIATION
    assert row.cells[0].verdict == "no_change"
    assert changes(row_of([100, 104], samples=800, minimum_effect=0.02)) == {"v1": Verdict.REGRESSION}


def test_significant_overlap_is_told_from_overlap() -> None:
    samples = [200.0 + i for i in range(101)]
    names = ("a", "b", "c")
    versions = [
        Version(name=name, run=run_of([[sample + shift for sample in samples]]))
        for name, shift in zip(names, (0, 23, 25), strict=True)
    ]
    (row,) = deviation_matrix(versions).rows
    assert [cell.outcome for cell in row.cells] == [Outcome.SIGNIFICANT_OVERLAP, Outcome.OVERLAP]


def test_versions_without_enough_samples_are_passed_over_and_named() -> None:
    versions = [
        Version(name="a", run=run_of([[10.0, 10.1, 10.2, 9.9, 9.8]])),
        Version(name="b", run=run_of([[30.0] * 4])),
        Version(name="c", run=Run(benchmarks=())),
        Version(
            name="d", run=Run(benchmarks=(Benchmark.of(name="bench_00000", metric=TIME, summary=Summary(value=3.0)),))
        ),
        Version(name="e", run=run_of([[30.0, 30.1, 30.2, 29.9, 29.8], [1.0] * 3])),
    ]
    full, empty = deviation_matrix(versions).rows
    assert changes(full) == {"e": Verdict.REGRESSION}
    assert full.too_few == ("b",)
    assert (empty.first, empty.cells, empty.too_few) == (None, (), ("e",))


def test_constant_zero_and_negative_samples() -> None:
    versions = [
        Version(name=f"v{number}", run=run_of([[level] * 6])) for number, level in enumerate((0.0, 0.0, 3.0, -3.0))
    ]
    (row,) = deviation_matrix(versions).rows
    assert [cell.verdict for cell in row.cells] == ["no_change", "regression", "improvement"]
    assert [cell.relative_change for cell in row.cells] == [None, None, -2.0]


def test_nothing_gives_an_empty_matrix() -> None:
    assert deviation_matrix([]).rows == ()
