"""Sampled stacks: counts of samples, periods or times, and agreement with the tools' own numbers."""

import json
from pathlib import Path

import numpy as np
import pytest

from perf_culprit.errors import DataError
from perf_culprit.explain.compare_trees import compare_profiles
from perf_culprit.model.call_tree import Profile, ProfileReading, RecordFault
from perf_culprit.model.reason import Doubt, ProfileNote, because
from perf_culprit.model.report import Answer, Basis
from perf_culprit.read.profiles.profile_reading import read_profiles
from tests.support.readings import only_profile, own_costs


def reading(tmp_path: Path, text: str | bytes) -> ProfileReading:
    path = tmp_path / "stacks.txt"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_profiles([str(path)])


def times(read: ProfileReading) -> dict[str, tuple[float, float]]:
    """The elapsed time and self time by path."""
    paths: list[str] = []
    (profile,) = read.profiles
    for node in profile.nodes:
        paths.append(node.method if node.parent is None else f"{paths[node.parent]};{node.method}")
    return {path: (node.elapsed_ms[0], node.self_ms[0]) for path, node in zip(paths, profile.nodes, strict=True)}


def test_counts_are_self_and_add_up_towards_the_root(tmp_path: Path) -> None:
    read = reading(tmp_path, "main;find 3\nmain;find;scan line 4\nmain 1\nmain;find 2\n")
    assert times(read) == {"main": (10, 1), "main;find": (9, 5), "main;find;scan line": (4, 4)}
    assert (read.profiles[0].unit, read.profiles[0].nodes[0].calls) == ("samples", None)
    assert (read.records, read.unused) == (4, ())


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_what_windows_writes(tmp_path: Path, encoding: str) -> None:
    assert times(reading(tmp_path, "main;größe 3\r\nmain 1\r\n".encode(encoding))) == {
        "main": (4, 1),
        "main;größe": (3, 3),
    }


def test_places_in_names_are_files_and_lines(tmp_path: Path) -> None:
    read = reading(tmp_path, "main (app.py:3);find (shop/dao.py:12) 3\nmain (app.py:9);find (shop/dao.py:10) 1\n")
    assert times(read) == {"app.py:main": (4, 0), "app.py:main;dao.py:find": (4, 4)}
    assert (read.profiles[0].nodes[1].file, read.profiles[0].nodes[1].line) == ("shop/dao.py", 10)


def test_what_is_no_stack_is_counted_and_shown(tmp_path: Path) -> None:
    read = reading(tmp_path, "main 1\n" * 5 + "# a remark\n\nmain -4\nmain 1e400\nmain nan\nlonely\n 12\n")
    assert times(read) == {"main": (5, 5)}
    assert dict(read.unused) == {RecordFault.NUMBER: 3, RecordFault.MALFORMED: 2}
    assert (read.examples[0].place[-2:], read.examples[0].text) == (":8", "main -4")


def test_stacks_too_deep_keep_their_time_with_the_deepest_caller(tmp_path: Path) -> None:
    read = reading(tmp_path, ";".join(f"f{i}" for i in range(12_000)) + " 5\n")
    (profile,) = read.profiles
    assert len(profile.nodes) == 10_000
    assert (profile.nodes[0].elapsed_ms, profile.nodes[-1].self_ms) == ((5,), (5,))
    assert dict(read.unused) == {RecordFault.TOO_DEEP: 1}


def test_nothing_measured_is_an_error_with_an_example(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"stacks\.txt: holds no measured execution"):
        reading(tmp_path, "main 0\n")


def counted_reading(path: Path, counts: dict[str, float]) -> ProfileReading:
    path.write_text("".join(f"{stack} {count:.0f}\n" for stack, count in counts.items()))
    return read_profiles([str(path)])


def stacks(seed: int, samples: int = 400) -> dict[str, float]:
    rng = np.random.default_rng(seed)
    return {f"main;m{i}": float(1 + rng.poisson(samples / (i + 2))) for i in range(20)}


def test_a_period_is_divided(tmp_path: Path) -> None:
    counts = stacks(1)
    plain = counted_reading(tmp_path / "a", counts).profiles[0]
    with_period = counted_reading(tmp_path / "b", {stack: 10_101_010 * count for stack, count in counts.items()})
    assert with_period.profiles[0].unit == plain.unit == "samples"
    assert with_period.profiles[0].nodes[3].self_ms == pytest.approx(plain.nodes[3].self_ms)
    assert with_period.notes == (because(ProfileNote.PERIOD_DIVIDED, period=10_101_010.0),)


@pytest.mark.parametrize(
    "counts",
    [
        {"main;a": 500, "main;b": 500, "main;c": 10},
        {"main;a": 3, "main;b": 9},
        # Counts that are all multiples of one number, once taken for a period on one side only: 10 -> 13,000 samples.
        {"main;a": 1000, "main;b": 1000},
        {"main;a": 5000},
    ],
)
def test_a_handful_of_counts_with_a_small_divisor_are_counts(tmp_path: Path, counts: dict[str, float]) -> None:
    (profile,) = counted_reading(tmp_path / "a", counts).profiles
    assert profile.unit == "samples"
    assert sum(node.self_ms[0] for node in profile.nodes) == sum(counts.values())


def random_times(seed: int) -> dict[str, float]:
    """Nanoseconds by stack that no period divides, like inferno's weighted counts of perf's samples."""
    rng = np.random.default_rng(seed)
    return {stack: float(round(count * rng.lognormal(14, 0.3))) for stack, count in stacks(seed).items()}


def test_times_are_never_tested_as_counts(tmp_path: Path) -> None:
    for seed in range(20):
        before, after = (counted_reading(tmp_path / "a", random_times(2 * seed + side)) for side in range(2))
        comparison = compare_profiles(before.profiles, after.profiles)
        (service,) = comparison.services
        assert (service.answer, service.basis) == (Answer.UNDECIDED, Basis.TOTALS)
        assert service.doubts[0].code is Doubt.UNKNOWN_WEIGHTS
        assert all(node.p_value is None for node in service.nodes)


def test_repetitions_of_times_are_tested_as_shares(tmp_path: Path) -> None:
    sides = []
    for side in range(2):
        names = []
        for i in range(6):
            slow = {stack: 3 * time if side and stack == "main;m4" else time for stack, time in random_times(7).items()}
            rng = np.random.default_rng(10 * side + i)
            names.append(str(tmp_path / f"{side}-{i}"))
            counted_reading(Path(names[-1]), {stack: time * rng.lognormal(0, 0.03) for stack, time in slow.items()})
        sides.append(read_profiles(names).profiles)
    comparison = compare_profiles(*sides)
    assert comparison.answer is Answer.SLOWER
    assert comparison.suspects[0].method == "m4"


def test_austins_processes_threads_and_lines_are_no_methods(tmp_path: Path) -> None:
    path = tmp_path / "austin"
    path.write_text(
        "P4711;T0:1;/src/shop/dao.py:find:12;/src/shop/dao.py:scan:40 3\nP4711;T0:1;/src/shop/dao.py:find:13 2\n"
    )
    (profile,) = read_profiles([str(path)]).profiles
    assert [(node.method, node.line, node.self_ms[0]) for node in profile.nodes] == [
        ("dao.py:find", 12, 2),
        ("dao.py:scan", 40, 3),
    ]


FOLDER = Path(__file__).parents[3] / "golden" / "profiles"


def paths(profile: Profile) -> dict[str, tuple[float, float]]:
    named: list[str] = []
    for node in profile.nodes:
        named.append(node.method if node.parent is None else f"{named[node.parent]};{node.method}")
    return {name: (node.elapsed_ms[0], node.self_ms[0]) for name, node in zip(named, profile.nodes, strict=True)}


def test_pyinstruments_root_takes_what_it_says() -> None:
    profile = only_profile("pyinstrument.json")
    document = json.loads((FOLDER / "pyinstrument.json").read_text())
    assert profile.nodes[0].elapsed_ms[0] == pytest.approx(1e3 * document["root_frame"]["time"])
    assert sum(own_costs(profile).values()) == pytest.approx(profile.nodes[0].elapsed_ms[0], rel=1e-6)
    assert (profile.unit, profile.nodes[0].method) == ("ms", "work.py:<module>")


def test_scalenes_stacks_are_samples_of_functions() -> None:
    profile = only_profile("scalene.json")
    document = json.loads((FOLDER / "scalene.json").read_text())
    assert sum(own_costs(profile).values()) == sum(amount["count"] for _, amount in document["stacks"])
    assert profile.nodes[0].method == "work.py:<module>"
    assert "work.py:leaf.<locals>.<genexpr>" in own_costs(profile)


def test_every_event_of_perf_script_is_a_sample() -> None:
    (profile,) = read_profiles([str(FOLDER / "perf.script")]).profiles
    events = sum("cpu-clock" in line for line in (FOLDER / "perf.script").read_text().splitlines())
    assert (profile.service, profile.unit) == ("python", "samples")
    assert sum(own_costs(profile).values()) == events
    assert not any("+0x" in node.method for node in profile.nodes)


def test_flight_recorder_s_samples_are_java_s_methods() -> None:
    (profile,) = read_profiles([str(FOLDER / "jfr.json")]).profiles
    assert (profile.service, profile.unit) == ("profile", "samples")
    assert sum(own_costs(profile).values()) == 24
    assert max(own_costs(profile), key=lambda name: own_costs(profile)[name]) == "Work.sum"
    assert any(path.endswith("Work.main;Work.order;Work.find;Work.sum") for path in paths(profile))


def test_memray_s_allocations_are_bytes() -> None:
    (profile,) = read_profiles([str(FOLDER / "memray.json")]).profiles
    assert profile.unit == "bytes"
    amounts = own_costs(profile)
    assert sum(amounts.values()) > 7_000_000
    assert amounts["work.py:<listcomp>"] > 6_900_000
