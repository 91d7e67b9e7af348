"""The number that an execution becomes: the one by which executions of a round differ least."""

import numpy as np
import pytest

from perf_culprit.arrays import Floats
from perf_culprit.judge.execution_values import REDUCTIONS, ExecutionValues, execution_values
from perf_culprit.stats.ragged import Ragged

ROUNDS = np.repeat(np.arange(5), 4)


def reduced(
    samples: Floats, *, rounds: np.ndarray | None = ROUNDS, kind: list[int] | None = None, orientation: float = 1.0
) -> ExecutionValues:
    """`samples` (benchmarks, executions, samples)."""
    size, units, count = samples.shape
    rows, columns = np.repeat(np.arange(size), units), np.tile(np.arange(units), size)
    ragged = Ragged(samples.ravel(), np.full(size * units, count, np.intp))
    kinds = np.zeros(size, np.intp) if kind is None else np.array(kind)
    return execution_values(ragged, (rows, columns), rounds=rounds, kind=kinds, orientation=np.full(size, orientation))


def heavy_above(benchmarks: int = 4) -> Floats:
    """Samples of a crowded machine: a floor that repeats, and delays that do not."""
    rng = np.random.default_rng(1)
    return 1 + rng.exponential(1, (benchmarks, 20, 1)) * rng.exponential(0.3, (benchmarks, 20, 15))


def gaussian() -> Floats:
    return np.random.default_rng(2).normal(1, 0.1, (4, 20, 15))


@pytest.mark.parametrize(("samples", "expected"), [(heavy_above(), "minimum"), (gaussian(), "mean")])
def test_the_number_that_differs_least_within_rounds_is_taken(samples: Floats, expected: str) -> None:
    result = reduced(samples)
    assert result.reduction == (expected,) * 4
    by_numpy = {"minimum": samples.min(axis=2), "mean": samples.mean(axis=2)}[expected]
    np.testing.assert_allclose(result.values, by_numpy)


def test_the_median_stays_where_nothing_is_clearly_better() -> None:
    samples = np.exp(np.random.default_rng(3).normal(0, 0.01, (4, 20, 1)) + np.zeros((4, 20, 15)))
    result = reduced(samples)
    assert result.reduction == ("median",) * 4
    np.testing.assert_array_equal(result.values, np.median(samples, axis=2))


def test_the_sides_have_no_part_in_the_choice() -> None:
    samples = heavy_above()
    order = np.concatenate([np.random.default_rng(4).permutation(4) + 4 * block for block in range(5)])
    mixed = reduced(samples[:, order])
    assert mixed.reduction == reduced(samples).reduction
    np.testing.assert_array_equal(mixed.values, reduced(samples).values[:, order])


def test_rates_are_mirrored() -> None:
    """The largest rate is that of the shortest time."""
    times = heavy_above()
    of_times, of_rates = reduced(times), reduced(1 / times, orientation=-1.0)
    assert of_times.reduction == of_rates.reduction == ("minimum",) * 4
    np.testing.assert_allclose(1 / of_rates.values, of_times.values)


def test_each_kind_chooses_for_itself() -> None:
    result = reduced(np.concatenate([heavy_above(), gaussian()]), kind=[0] * 4 + [1] * 4)
    assert result.reduction == ("minimum",) * 4 + ("mean",) * 4


@pytest.mark.parametrize(
    ("samples", "options"),
    [
        pytest.param(heavy_above(), {"rounds": None}, id="files"),
        pytest.param(heavy_above()[:, :12], {"rounds": ROUNDS[:12]}, id="three rounds"),
        pytest.param(heavy_above(), {"orientation": 0.0}, id="counts"),
        pytest.param(heavy_above()[:, :, :1], {}, id="one sample"),
        pytest.param(heavy_above() - 1.5, {}, id="below zero"),
    ],
)
def test_otherwise_it_is_the_median(samples: Floats, options: dict[str, object]) -> None:
    result = reduced(samples, **options)  # type: ignore[arg-type]
    assert set(result.reduction) == {"median"}
    np.testing.assert_array_equal(result.values, np.median(samples, axis=2))


def test_the_names_are_those_of_the_reductions() -> None:
    rows = Ragged(np.array([1.0, 2.0, 3.0, 10.0]), np.array([4]))
    values = {name: reduce(rows)[0] for name, reduce in REDUCTIONS.items()}
    assert values == {"median": 2.5, "mean": 4.0, "first quartile": 1.75, "minimum": 1.0}
