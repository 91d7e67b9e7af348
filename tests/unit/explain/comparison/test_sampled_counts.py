"""Sampled stacks as counts: their chance variation, renamed threads, other machines, and no alarm from noise."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from scipy import stats

from perf_culprit.errors import DataError
from perf_culprit.explain.compare_trees import compare_profiles
from perf_culprit.model.call_tree import Profile
from perf_culprit.model.notable_calls import shown_suspects
from perf_culprit.model.reason import ProfileNote
from perf_culprit.model.report import Answer, TreeComparison
from perf_culprit.read.profiles.profile_reading import read_profiles
from tests.support.compared_trees import Tree, by_path

PERIOD_S = 0.01


def speedscope(path: Path, counts: Mapping[str, int], *, thread: str = 'Thread 481 "MainThread"') -> str:
    """A speedscope file as py-spy writes it: one weight per sample, all of the same duration."""
    names = list(dict.fromkeys(name for stack in counts for name in stack.split(">")))
    samples = [
        [names.index(name) for name in stack.split(">")] for stack, count in counts.items() for _ in range(count)
    ]
    part = {"type": "sampled", "name": thread, "unit": "seconds", "samples": samples}
    document = {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "shared": {"frames": [{"name": name, "file": "app.py"} for name in names]},
        "profiles": [part | {"weights": [PERIOD_S] * len(samples)}],
    }
    path.write_text(json.dumps(document))
    return str(path)


def recorded(folder: Path, runs: Sequence[Mapping[str, int]]) -> tuple[Profile, ...]:
    folder.mkdir(exist_ok=True)
    names = (f'Thread {number} "{"" if number % 2 else "MainThread"}"' for number in range(len(runs)))
    return read_profiles(
        [
            speedscope(folder / f"{i}.json", run, thread=name)
            for i, (run, name) in enumerate(zip(runs, names, strict=True))
        ]
    ).profiles


def drawn(rng: np.random.Generator, means: Mapping[str, float], runs: int = 5) -> list[dict[str, int]]:
    return [{path: int(rng.poisson(mean)) for path, mean in means.items()} for _ in range(runs)]


def compared(folder: Path, before: Sequence[Mapping[str, int]], after: Sequence[Mapping[str, int]]) -> TreeComparison:
    return compare_profiles(recorded(folder / "before", before), recorded(folder / "after", after))


FEW = {f"main>m{i}": 20.0 for i in range(12)}


def test_a_repetition_without_a_sample_is_no_evidence(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    sides = drawn(rng, FEW), drawn(rng, FEW)
    for side, rare in zip(sides, ((2, 0, 0, 0, 4), (1, 3, 1, 1, 7)), strict=True):
        for run, count in zip(side, rare, strict=True):
            run["main>rare"] = count
    result = compared(tmp_path, *sides)
    p_value = by_path(result)["app.py:main>app.py:rare"].p_value
    assert p_value is not None
    assert p_value > 0.05
    assert shown_suspects(result) == ()


@pytest.mark.parametrize(("before", "after"), [(40, 100), (5, 30), (0, 25), (300, 360)])
def test_the_p_value_is_that_of_two_poisson_counts(tmp_path: Path, before: int, after: int) -> None:
    """Compare with the exact conditional test. Repetitions vary by Poisson noise alone."""
    rng = np.random.default_rng(7)
    same = {f"main>m{i}": 40.0 for i in range(60)}
    sides = [drawn(rng, same), drawn(rng, same)]
    for side, count in zip(sides, (before, after), strict=True):
        for run, part in zip(side, rng.multinomial(count, [0.2] * 5), strict=True):
            run["main>one"] = int(part)
    result = compared(tmp_path, *sides)
    # The method itself makes the total grow, and times are compared, not shares.
    expected = stats.binomtest(after, before + after, 0.5).pvalue
    p_value = by_path(result)["app.py:main>app.py:one"].p_value
    assert p_value is not None
    assert np.log(p_value) == pytest.approx(np.log(expected), rel=0.25)


@pytest.mark.parametrize("runs", [1, 3, 5])
def test_few_samples_of_many_functions_raise_no_alarm(tmp_path: Path, runs: int) -> None:
    """150 functions with 170 samples per run, and no change."""
    weights = np.random.default_rng(0).pareto(1.2, 150) + 0.1
    means = {f"main>f{i}": 170 * weight / weights.sum() for i, weight in enumerate(weights)}
    alarms = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        result = compared(tmp_path, drawn(rng, means, runs), drawn(rng, means, runs))
        alarms += bool(shown_suspects(result))
        assert result.added_methods == result.removed_methods == ()
        assert result.services[0].aligned > 0.99
    assert alarms == 0


def test_one_thread_under_two_names_is_one_service(tmp_path: Path) -> None:
    result = compared(tmp_path, *[drawn(np.random.default_rng(seed), FEW) for seed in (1, 2)])
    assert [(one.service, one.baseline_repetitions) for one in result.services] == [("Thread *", 5)]


def test_a_file_that_lacks_a_service_is_named(tmp_path: Path) -> None:
    names = [speedscope(tmp_path / f"{i}.json", {"main": 5}, thread=name) for i, name in enumerate(("a", "a", "b"))]
    notes = read_profiles(names).notes
    assert [(note.code, note.arguments["count"], note.arguments["files"]) for note in notes] == [
        (ProfileNote.SERVICE_IN_SOME, 2, 3),
        (ProfileNote.SERVICE_IN_SOME, 1, 3),
    ]


def test_pprof_as_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "raw.txt").write_text("PeriodType: cpu nanoseconds\nPeriod: 10000000\nSamples:\nsamples/count cpu/ns\n")
    with pytest.raises(DataError, match="pprof's text form"):
        read_profiles([str(tmp_path / "raw.txt")])


SERVICES = {"order": "abcd", "pay": "efb", "find": "ghif"}
COST_MS = dict(zip("abcdefghi", (4.0, 7.0, 1.0, 12.0, 3.0, 9.0, 5.0, 2.0, 6.0), strict=True))


def services(machine: float, *, planted: str = "", seed: int) -> list[Profile]:
    """Nine methods of three services: too few per service to show the machine, which slows each by about `machine`."""
    rng = np.random.default_rng(seed)
    state = {name: machine * (1 + 0.02 * rng.standard_normal()) * (1.5 if name == planted else 1) for name in COST_MS}
    trees = [
        Tree(own={service: 0.1} | {f"{service}>{name}": COST_MS[name] * state[name] for name in names}, service=service)
        for service, names in SERVICES.items()
    ]
    return [tree.profile(rng, 10) for tree in trees]


@pytest.mark.parametrize("machine", [1.15, 1.3])
def test_a_slower_machine_makes_no_suspect(machine: float) -> None:
    result = compare_profiles(services(1.0, seed=1), services(machine, seed=2))
    assert result.answer is Answer.UNDECIDED
    assert shown_suspects(result) == ()
    factors = {one.common_factor for one in result.services}
    assert len(factors) == 1
    assert factors.pop() == pytest.approx(machine, rel=0.04)


@pytest.mark.parametrize("machine", [0.77, 1.0, 1.3])
@pytest.mark.parametrize("planted", ["a", "d", "f"])
def test_a_slower_method_is_alone_on_any_machine(machine: float, planted: str) -> None:
    suspects = shown_suspects(compare_profiles(services(1.0, seed=1), services(machine, planted=planted, seed=2)))
    assert [one.method for one in suspects] == [planted]


def test_a_method_of_many_services_tells_of_the_machine_once() -> None:
    """Eleven of nineteen places belong to one slower method. Counted by place, the machine would be slower."""

    def side(slow: float, seed: int) -> list[Profile]:
        rng = np.random.default_rng(seed)
        own = [{f"s{i}": 0.001, f"s{i}>tokenize": 5.0 * slow} | {f"s{i}>m{i}": 4.0} for i in range(8)]
        own += [{f"s{i}": 0.001, f"s{i}>tokenize": 5.0 * slow} for i in range(8, 11)]
        return [Tree(own=each, service=f"s{i}").profile(rng, 10) for i, each in enumerate(own)]

    result = compare_profiles(side(1.0, 1), side(1.5, 2))
    assert result.services[0].common_factor == pytest.approx(1.0, abs=0.03)
    assert [one.method for one in shown_suspects(result)] == ["tokenize"]


def test_long_unchanged_profiles_are_denied(tmp_path: Path) -> None:
    """1,500 samples per run and five runs per side."""
    means = {f"main>m{i}": 1_500 * share for i, share in enumerate((0.3, 0.2, 0.15, 0.1, 0.1, 0.05, 0.05, 0.03, 0.02))}
    rng = np.random.default_rng(3)
    (service,) = compared(tmp_path, drawn(rng, means), drawn(rng, means)).services
    assert service.answer is Answer.NOT_SLOWER
    assert service.visible is not None
    assert service.visible < 0.05


def test_times_without_their_samples_stay_times() -> None:
    profile = Tree(own={"main": 5.0, "main>a": 3.0}).profile(np.random.default_rng(1), 3)
    assert compare_profiles([profile], [replace(profile)]).services[0].unit == "ms"
