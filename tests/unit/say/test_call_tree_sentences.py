"""The sentences of a diagnosis claim no more than profiles and logs, as tools write them, hold."""

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from perf_culprit.explain.compare_trees import compare_logs, compare_profiles
from perf_culprit.model.call_tree import Touched
from perf_culprit.model.report import Answer, TreeComparison
from perf_culprit.read.logs.log_reader import ReadLog, read_log
from perf_culprit.read.logs.reading_settings import ReadingSettings
from perf_culprit.read.profiles.profile_reading import read_profiles
from perf_culprit.say.call_trees import tree_comparison_text
from tests.support.execution_logs import LABELLED, Execution, call, log

RUNS = 5


def spied(folder: Path, side: str, stacks: Mapping[str, int], *, runs: int = RUNS) -> list[str]:
    """Write collapsed stacks with py-spy's frames: Poisson's counts around the given ones."""
    files = []
    for run in range(runs):
        rng = np.random.default_rng([run, len(side)])
        path = folder / f"{side}{run}.txt"
        path.write_text("".join(f"{stack} {rng.poisson(count)}\n" for stack, count in stacks.items()), "utf-8")
        files.append(str(path))
    return files


def compared(
    folder: Path, before: Mapping[str, int], after: Mapping[str, int], *, touched: Touched | None = None
) -> TreeComparison:
    sides = (read_profiles(spied(folder, name, one)).profiles for name, one in (("a", before), ("bb", after)))
    return compare_profiles(*sides, touched=touched)


def logged(path: Path, *, slow: float, of_query: float = 92.0, calls: int, seed: int, noise: float = 0.3) -> ReadLog:
    """Write calls of `order` that take 100 ms: `Dao.find` 4.6 ms times `slow` with `noise`, `Dao.query`, and a rest."""
    rng = np.random.default_rng(seed)
    executions: list[Execution] = []
    for i in range(calls):
        find = 4.6 * slow * rng.lognormal(-(noise**2) / 2, noise)
        query, rest = (one * rng.lognormal(0, 0.1) for one in (of_query, 3.4))
        rows = [("1", "Shop.order", find + query + rest), ("1.1", "Dao.find", find), ("1.2", "Dao.query", query)]
        executions += call(f"c{i}", rows, second=i)
    path.write_bytes(log(executions))
    return read_log([str(path)], pattern=LABELLED, settings=ReadingSettings(squares=True), workers=1)


def test_the_headline_over_a_change_that_was_not_found_is_the_bound(tmp_path: Path) -> None:
    """The method takes 2.3 of 100 ms more, which so few calls do not show."""
    sides = [
        logged(tmp_path / f"{slow}.log", slow=slow, calls=60, seed=seed, noise=1.0)
        for slow, seed in ((1.0, 1), (1.5, 2))
    ]
    comparison = compare_logs(*sides)
    assert comparison.answer is Answer.NOT_SLOWER
    text = tree_comparison_text(comparison)
    assert "othing got slower" not in text
    bound = re.match(r"No method takes ([0-9.]+)% of the whole more, 1 service compared", text)
    assert bound is not None, text
    assert 2.3 <= float(bound[1]) <= 10
    assert f"no method takes {bound[1]}% of the whole more" in text.partition("What was compared")[2]


def test_a_service_that_got_faster_is_not_called_slower(tmp_path: Path) -> None:
    sides = [
        logged(tmp_path / f"{slow}.log", slow=slow, of_query=query, calls=300, seed=3)
        for slow, query in ((1.0, 92.0), (2.0, 40.0))
    ]
    comparison = compare_logs(*sides)
    assert [one.method for one in comparison.suspects] == ["Dao.find"]
    (line,) = re.findall(r"^- shop: .*", tree_comparison_text(comparison), re.MULTILINE)
    assert line.endswith("%), but a method in it got slower"), line
    assert "(\N{MINUS SIGN}4" in line
