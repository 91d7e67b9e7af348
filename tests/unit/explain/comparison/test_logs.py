"""Two execution logs: every call of a service is a repetition."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from perf_culprit.explain.aligned_trees import observed_log, spread
from perf_culprit.explain.compare_trees import compare_logs
from perf_culprit.model.reason import Caveat, because
from perf_culprit.model.report import Basis, NodeState, SuspectReason
from perf_culprit.read.logs.log_reader import ReadLog, read_log
from perf_culprit.read.logs.reading_settings import ReadingSettings
from tests.support.compared_trees import by_path
from tests.support.execution_logs import LABELLED, Execution, call, log

SETTINGS = ReadingSettings(squares=True)
Row = tuple[str, str, float]


def written(path: Path, rows_of: Callable[[np.random.Generator], list[Row]], *, calls: int, seed: int) -> ReadLog:
    rng = np.random.default_rng(seed)
    executions: list[Execution] = []
    for i in range(calls):
        executions += call(f"c{i}", rows_of(rng), second=i)
    path.write_bytes(log(executions))
    return read_log([str(path)], pattern=LABELLED, settings=SETTINGS, workers=1)


def order(find_ms: float) -> Callable[[np.random.Generator], list[Row]]:
    def rows(rng: np.random.Generator) -> list[Row]:
        find = [find_ms * rng.lognormal(0, 0.3) for _ in range(2)]
        price = 3 * rng.lognormal(0, 0.3)
        own = 2 * rng.lognormal(0, 0.3)
        rare = [("1.4", "Audit.fail", 1.0)] if rng.random() < 0.01 else []
        whole = sum(find) + price + own + (1.0 if rare else 0.0)
        return [
            ("1", "Shop.order", whole),
            ("1.1", "Dao.find", find[0]),
            ("1.2", "Dao.find", find[1]),
            ("1.3", "Tax.price", price),
            *rare,
        ]

    return rows


def test_calls_are_the_samples(tmp_path: Path) -> None:
    before = written(tmp_path / "before.log", order(5.0), calls=300, seed=1)
    after = written(tmp_path / "after.log", order(6.0), calls=200, seed=2)
    result = compare_logs(before, after)
    service = result.services[0]
    assert (service.basis, service.baseline_repetitions, service.target_repetitions) == (Basis.SAMPLES, 300, 200)
    nodes = by_path(result)
    assert nodes["Shop.order"].state is nodes["Shop.order>Dao.find"].state is NodeState.SLOWER
    assert nodes["Shop.order>Tax.price"].state is NodeState.UNDECIDED
    find = nodes["Shop.order>Dao.find"]
    assert find.relative_change == pytest.approx(0.2, abs=0.06)
    assert find.target is not None
    assert find.target.calls == 2
    assert result.suspects[0].method == "Dao.find"
    # A branch that 1% of the calls take is not a change of shape.
    assert SuspectReason.CHANGED_CALLS not in nodes["Shop.order"].reasons
    assert [one.service for one in result.suspects[0].services] == ["shop"]
    assert result.impacted[0].share == pytest.approx(0.7, abs=0.05)
    assert because(Caveat.ONE_STATE) in result.notes


def test_means_and_spreads_are_those_of_the_calls(tmp_path: Path) -> None:
    finds: list[float] = []
    owns: list[float] = []

    def rows(rng: np.random.Generator) -> list[Row]:
        made = order(5.0)(rng)
        rounded = [round(elapsed_ms, 3) for _, _, elapsed_ms in made]
        finds.append(rounded[1] + rounded[2])
        owns.append(rounded[0] - sum(rounded[1:]))
        return made

    (observed,) = observed_log(written(tmp_path / "a.log", rows, calls=150, seed=4))
    find = next(node for node in observed.nodes if node.method == "Dao.find")
    assert (find.elapsed.mean, find.elapsed.squares) == pytest.approx(
        (np.mean(finds), np.var(finds) * len(finds)), rel=1e-6
    )
    root = observed.nodes[0]
    assert (root.own.mean, root.own.squares) == pytest.approx((np.mean(owns), np.var(owns) * len(owns)), rel=1e-5)
    assert spread(finds).squares == pytest.approx(find.elapsed.squares, rel=1e-6)


def test_p_value_is_scipys(tmp_path: Path) -> None:
    made: list[list[float]] = [[], []]

    def kept(side: int, find_ms: float) -> Callable[[np.random.Generator], list[Row]]:
        def rows(rng: np.random.Generator) -> list[Row]:
            result = order(find_ms)(rng)
            made[side].append(round(result[0][2], 3))
            return result

        return rows

    before = written(tmp_path / "before.log", kept(0, 5.0), calls=80, seed=1)
    after = written(tmp_path / "after.log", kept(1, 5.5), calls=60, seed=2)
    expected = max(stats.f_oneway(*made).pvalue, stats.ttest_ind(*made, equal_var=False).pvalue)
    assert by_path(compare_logs(before, after))["Shop.order"].p_value == pytest.approx(expected, rel=1e-6)


def test_blocks_and_order_do_not_change_the_answer(tmp_path: Path) -> None:
    before = written(tmp_path / "before.log", order(5.0), calls=300, seed=1)
    after = written(tmp_path / "after.log", order(6.0), calls=200, seed=2)
    names = [str(tmp_path / "after.log")]
    small = read_log(names, pattern=LABELLED, settings=SETTINGS, workers=1, block_bytes=4_000)
    whole, pieces = (by_path(compare_logs(before, one)) for one in (after, small))
    assert whole.keys() == pieces.keys()
    for path, node in whole.items():
        assert pieces[path].state is node.state
        if node.p_value is not None:
            assert pieces[path].p_value == pytest.approx(node.p_value, rel=1e-6)


def test_a_log_read_without_squares_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(log(call("c1", [("1", "Shop.order", 1.0)])))
    plain = read_log([str(path)], pattern=LABELLED, settings=ReadingSettings())
    with pytest.raises(ValueError, match="without squares"):
        compare_logs(plain, plain)


def rare(report_ms: float, share: float = 0.05) -> Callable[[np.random.Generator], list[Row]]:
    """A service of some 10 ms, of whose calls few run a report that takes longer."""

    def rows(rng: np.random.Generator) -> list[Row]:
        own = 10 * rng.lognormal(0, 0.1)
        report = report_ms * rng.lognormal(0, 0.1) if rng.random() < share else 0.0
        return [("1", "Shop.order", own + report), *([("1.1", "Shop.report", report)] if report else [])]

    return rows


def slower_methods(directory: Path, before_ms: float, after_ms: float, seed: int, share: float = 0.05) -> set[str]:
    before = written(directory / "before.log", rare(before_ms), calls=400, seed=2 * seed)
    after = written(directory / "after.log", rare(after_ms, share), calls=400, seed=2 * seed + 1)
    return {one.method for one in compare_logs(before, after).suspects if one.q_value is not None}


def test_a_method_of_few_calls_is_tested_over_its_own_executions(tmp_path: Path) -> None:
    slower = [slower_methods(tmp_path, 10.0, 15.0, seed) for seed in range(10)]
    assert sum("Shop.report" in methods for methods in slower) == 10


def test_unchanged_methods_of_few_calls_are_not_slower(tmp_path: Path) -> None:
    # The rate is 1%: five of 60 would happen once in 3,000 times.
    assert sum(bool(slower_methods(tmp_path, 10.0, 10.0, seed)) for seed in range(60)) < 5


def test_p_values_of_unchanged_methods_of_few_calls_are_not_small(tmp_path: Path) -> None:
    p_values = []
    for seed in range(40):
        logs = [written(tmp_path / f"{side}.log", rare(10.0), calls=400, seed=2 * seed + side) for side in range(2)]
        (service,) = compare_logs(*logs).services
        p_values += [one.p_value for one in service.nodes if one.method == "Shop.report"]
    # The number of executions, not of all calls, is what the test is over. Six of 40 at 5% happen once in 100 times.
    assert sum(p_value < 0.05 for p_value in p_values if p_value is not None) < 6


def test_a_method_that_more_calls_run_is_slower(tmp_path: Path) -> None:
    assert "Shop.report" in slower_methods(tmp_path, 10.0, 10.0, 1, share=0.8)
