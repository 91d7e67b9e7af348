"""The sentences of a diagnosis claim no more than profiles and logs, as tools write them, hold."""

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from perf_culprit.explain.compare_trees import compare_logs, compare_profiles
from perf_culprit.explain.ranking import rank_profiles
from perf_culprit.model.call_tree import ChangeKind, Touched, TouchedFunction
from perf_culprit.model.report import Answer, SuspectReason, SuspectShare, TreeComparison
from perf_culprit.read.logs.log_reader import ReadLog, read_log
from perf_culprit.read.logs.reading_settings import RankingSettings, ReadingSettings
from perf_culprit.read.profiles.profile_reading import read_profiles
from perf_culprit.say.call_trees import tree_comparison_text
from perf_culprit.say.reason_text import sentence
from tests.support.diagnosed_reports import diagnosis
from tests.support.execution_logs import LABELLED, Execution, call, log

RUNS = 5
GOLDEN = Path(__file__).parents[2] / "golden" / "profiles"


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


SCAN = "main (shop/app.py:1);scan (shop/app.py:9);line_offset (shop/text.py:3)"
PARSE = "main (shop/app.py:1);parse (shop/app.py:20)"


def test_a_method_on_a_new_path_is_not_new(tmp_path: Path) -> None:
    before = {SCAN: 300, PARSE: 700}
    comparison = compared(tmp_path, before, before | {f"{PARSE};line_offset (shop/text.py:3)": 900})
    text = tree_comparison_text(comparison)
    suspect = next(one for one in comparison.suspects if "line_offset" in one.method)
    assert SuspectReason.ADDED in suspect.reasons
    assert "new" not in text
    assert "on a path that was not sampled before, below a slower method" in text


def functions(*some: tuple[str, ChangeKind]) -> Touched:
    changed = [
        TouchedFunction(path="shop/text.py", qualified_name=name, kind=kind, first_line=first, last_line=first + 9)
        for first, (name, kind) in zip(range(1, 99, 10), some, strict=False)
    ]
    return Touched(base="a" * 40, head="b" * 40, functions=tuple(changed))


def test_added_and_removed_methods_are_those_of_the_source(tmp_path: Path) -> None:
    before = {PARSE: 900, f"{PARSE};old (shop/text.py:11)": 400, f"{PARSE};rare (shop/text.py:50)": 300}
    after = {PARSE: 900, f"{PARSE};fresh (shop/text.py:1)": 500, f"{PARSE};kept (shop/text.py:40)": 400}
    touched = functions(("fresh", ChangeKind.ADDED), ("old", ChangeKind.DELETED))
    headings = ("Methods added", "Methods removed", "Methods not sampled before", "Methods no longer sampled")
    text = tree_comparison_text(compared(tmp_path, before, after, touched=touched))
    listed = [re.findall(rf"{heading}:\n- text.py:(\w+)\n", text) for heading in headings]
    assert listed == [["fresh"], ["old"], ["kept"], ["rare"]]
    assert not re.search(r"\b(new|gone)\b", text)
    without = tree_comparison_text(compared(tmp_path, before, after))
    assert "Methods added" not in without
    assert "Methods removed" not in without


@pytest.mark.parametrize(("commit", "by"), [("b" * 40, "by the commit"), (None, "in between")])
def test_a_changed_method_above_the_suspects_is_named(tmp_path: Path, commit: str | None, by: str) -> None:
    """`prime` takes no longer itself, and a part of its callees: it is no suspect."""
    prime = "main (shop/app.py:1);prime (shop/text.py:3)"
    before = {prime: 500, f"{prime};look (shop/app.py:40);match (shop/app.py:60)": 300}
    after = {prime: 500, f"{prime};look (shop/app.py:40);match (shop/app.py:60)": 1500}
    touched = functions(("prime", ChangeKind.CHANGED))
    comparison = replace(compared(tmp_path, before, after, touched=touched), commit=commit)
    only = tuple(one for one in comparison.suspects if "match" in one.method)
    text = tree_comparison_text(replace(comparison, suspects=only))
    assert f"1 suspect, none of them changed {by}, but 1 method that calls them" in text
    assert "app.py:main → text.py:prime, changed → app.py:look" in text


@pytest.mark.parametrize("samples", [8, 40])
def test_advice_can_be_followed(tmp_path: Path, samples: int) -> None:
    """Nobody records 150 times as many samples."""
    stacks = {f"{PARSE};m{i} (shop/text.py:{i}0)": samples // 4 for i in range(4)}
    (service,) = compared(tmp_path, stacks, stacks).services
    (doubt,) = service.doubts
    text = sentence(doubt)
    if samples == 8:
        assert "record" not in text
        assert "a longer input, counts (`measure --metric instructions`), or one function alone" in text
    else:
        assert re.search(r"record \d+ times as many samples a run \(now \d+\)", text), text


def test_a_thread_is_no_service_to_test_again() -> None:
    sides = (read_profiles([str(GOLDEN / "pyspy.speedscope.json")] * runs).profiles for runs in (2, 3))
    comparison = compare_profiles(*sides)
    assert {one.service for one in comparison.services} == {"Thread *"}
    impacted = (SuspectShare(service="Thread *", share=0.5),)
    assert "test again" not in tree_comparison_text(replace(comparison, impacted=impacted))


def test_services_to_test_again_say_by_how_much_they_got_slower() -> None:
    text = tree_comparison_text(diagnosis())
    table = text.partition("Services to test again:")[2]
    assert re.search(r"search .* 16\.1% .*\(\+9\.8%\)", table), table
    (alone, *_) = diagnosis().services
    assert "test again" not in tree_comparison_text(replace(diagnosis(), services=(alone,)))


@pytest.mark.parametrize("name", ["pyspy.txt", "pyspy.speedscope.json", "sums.callgrind", "shop.pstats"])
def test_times_are_those_of_one_run(name: str) -> None:
    """Five recordings of one run take no longer than one."""
    one, five = (read_profiles([str(GOLDEN / name)] * runs, trusted=True) for runs in (1, 5))
    compared = compare_profiles(one.profiles, five.profiles).services[0]
    assert compared.target_total == pytest.approx(compared.baseline_total)
    once, often = (rank_profiles(reading, RankingSettings()) for reading in (one, five))
    by_name = {again.method: again for again in often.suspects}
    for method in once.suspects:
        again = by_name[method.method]
        assert again.calls == method.calls
        assert (again.self_ms, again.longest_ms) == pytest.approx((method.self_ms, method.longest_ms))
        assert [of.self_ms_per_call for of in again.services] == pytest.approx(
            [of.self_ms_per_call for of in method.services]
        )
    assert [tree.total_ms for tree in often.trees] == pytest.approx([tree.total_ms for tree in once.trees])
