"""Results against results: `compare` with one file per side, with several, and with files of one job."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.truth.files import benchmark_names, write_results
from benchmarks.truth.noise import Floats, Job, World
from benchmarks.truth.oracle import Design
from benchmarks.truth.verbs import compare, perf_culprit
from benchmarks.truth.way import Judged, Row, Way

SAMPLES: Final = 20
SEVERAL: Final = 5
PLANTED: Final = benchmark_names(1)[0]

BETWEEN_JOBS: Final = (
    "lognormal",
    "heavy tails",
    "AR 0.3",
    "modes per run",
    "modes per benchmark and run",
    "shared 5%",
    "own 2%",
    "own 3%",
    "own 5%",
    "own 10%",
    "two kinds of machines",
    "recorded",
)
IN_ONE_JOB: Final = (
    "lognormal",
    "heavy tails",
    "AR 0.3",
    "modes per execution",
    "drift 1% per execution",
    "own 10%",
    "recorded",
)


def slowed(times_s: Floats, effect: float) -> Floats:
    """Return the times with the first benchmark slower by `effect`."""
    changed = times_s.copy()
    changed[0] *= 1 + effect
    return changed


def of_files(
    world: World, folder: Path, effects: Sequence[float], *, count: int, row: str, options: Sequence[str] = ()
) -> Iterator[Judged]:
    """Compare `count` files a side, each of a separate job."""
    names = [write_results(folder / f"base-{index}.json", world.job().execute(SAMPLES)) for index in range(count)]
    heads = [world.job().execute(SAMPLES) for _ in range(count)]
    for effect in effects:
        targets = [
            write_results(folder / f"head-{index}.json", slowed(head, effect)) for index, head in enumerate(heads)
        ]
        outcome = compare(
            "--baseline", *names, "--target", *targets, *options, out=folder / "report.json", planted=planted(effect)
        )
        yield row, effect, outcome


def of_merged(world: World, folder: Path, effects: Sequence[float], *, row: str) -> Iterator[Judged]:
    """Compare runs of two files each, as of two tools, merged by `collect`."""

    def collected(name: str, times_s: Floats) -> str:
        half = len(times_s) // 2
        first = write_results(folder / "first.json", times_s[:half])
        second = write_results(folder / "second.json", times_s[half:], first=half)
        perf_culprit("collect", first, second, "--json", str(folder / name))
        return str(folder / name)

    stored = [collected(f"base-{index}.json", world.job().execute(SAMPLES)) for index in range(SEVERAL)]
    head = world.job().execute(SAMPLES)
    for effect in effects:
        target = collected("head.json", slowed(head, effect))
        outcome = compare(
            "--baseline", *stored, "--target", target, out=folder / "report.json", planted=planted(effect)
        )
        yield row, effect, outcome


def of_rounds(
    world: World,
    folder: Path,
    effects: Sequence[float],
    *,
    rounds: int,
    samples: int,
    row: str,
    options: Sequence[str],
) -> Iterator[Judged]:
    """Follow README's recipe: base, head, head, base in one job, a file per execution."""
    bases, heads = interleaved(world.job(), rounds=rounds, samples=samples)
    stored = [write_results(folder / f"base-{index:02}.json", base) for index, base in enumerate(bases)]
    for effect in effects:
        targets = [
            write_results(folder / f"head-{index:02}.json", slowed(head, effect)) for index, head in enumerate(heads)
        ]
        outcome = compare(
            *options, "--baseline", *stored, "--target", *targets, out=folder / "report.json", planted=planted(effect)
        )
        yield row, effect, outcome


def interleaved(job: Job, *, rounds: int, samples: int) -> tuple[list[Floats], list[Floats]]:
    executions = [job.execute(samples) for _ in range(4 * rounds)]
    is_base = [index % 4 in {0, 3} for index in range(4 * rounds)]
    sides = tuple(
        [times for times, base in zip(executions, is_base, strict=True) if base is wanted] for wanted in (True, False)
    )
    return sides[0], sides[1]


def planted(effect: float) -> str | None:
    return PLANTED if effect else None


def _rounds(name: str, command: str, *, rounds: int, samples: int = 10, options: Sequence[str] = ("--paired",)) -> Way:
    design = Design(baseline=2 * rounds, target=2 * rounds, samples=samples, same_job=True)
    return Way(
        command=command,
        rows={name: Row(design=design)},
        noises=IN_ONE_JOB,
        trial=partial(of_rounds, rounds=rounds, samples=samples, row=name, options=options),
    )


def _files(
    name: str, command: str, *, count: int, benchmarks: int = 20, noises: Sequence[str] = BETWEEN_JOBS, weight: int = 1
) -> Way:
    return Way(
        command=command,
        rows={name: Row(design=Design(baseline=count, target=count, samples=SAMPLES))},
        noises=noises,
        trial=partial(of_files, count=count, row=name),
        benchmarks=benchmarks,
        weight=weight,
    )


def _by_detector(detector: str) -> Way:
    name = f"five files per side, {detector}"
    return Way(
        command=f"compare --baseline base-*.json --target head-*.json --detector {detector}",
        rows={
            name: Row(
                stated=1 / SEVERAL if detector == "control_chart" else 0.01,
                design=Design(baseline=SEVERAL, target=SEVERAL, samples=SAMPLES),
            )
        },
        noises=("heavy tails", "own 3%", "modes per benchmark and run"),
        trial=partial(of_files, count=SEVERAL, row=name, options=("--detector", detector)),
    )


WAYS: Final = (
    _files("one file per side", "compare --baseline base.json --target head.json", count=1),
    _files(
        "one file per side, 200 benchmarks",
        "compare --baseline base.json --target head.json",
        count=1,
        benchmarks=200,
        noises=("own 3%", "own 10%", "modes per benchmark and run"),
        weight=4,
    ),
    _files("five files per side", "compare --baseline base-*.json --target head-*.json", count=SEVERAL),
    *(_by_detector(detector) for detector in ("median_interval", "control_chart")),
    Way(
        command="collect a.json b.json --json run.json; compare --baseline base-*.json --target run.json",
        rows={"merged files, five runs": Row(design=Design(baseline=SEVERAL, target=1, samples=SAMPLES))},
        noises=("own 3%", "modes per benchmark and run"),
        trial=partial(of_merged, row="merged files, five runs"),
    ),
    _rounds("two rounds, not --paired", "compare --baseline base-*.json --target head-*.json", rounds=2, options=()),
    _rounds("one round", "compare --paired --baseline base-*.json --target head-*.json", rounds=1),
    _rounds("two rounds", "compare --paired --baseline base-*.json --target head-*.json", rounds=2),
    _rounds("five rounds", "compare --paired --baseline base-*.json --target head-*.json", rounds=5),
    _rounds(
        "twelve rounds of one number",
        "compare --paired --baseline base-*.json --target head-*.json",
        rounds=12,
        samples=1,
    ),
)
