"""`measure` with a command that writes the simulated machine's numbers, then the `compare` that it prints."""

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final
from unittest.mock import patch

from benchmarks.truth.files import write_results
from benchmarks.truth.noise import Job, World
from benchmarks.truth.oracle import Design
from benchmarks.truth.verbs import compare, perf_culprit
from benchmarks.truth.way import Judged, Row, Way
from benchmarks.truth.with_files import IN_ONE_JOB, planted, slowed
from perf_culprit.machine import this_machine
from perf_culprit.measure.runner import Commands
from perf_culprit.model.run import Run
from tests.support.git_repository import chain, import_commits, init_repository

BENCHMARKS: Final = 10
SAMPLES: Final = 5


class SimulatedWorkplace:
    """A replacement for `measure.workplace.Workplace`: an execution writes the next numbers of one machine's job."""

    commands = Commands(run="simulated")

    def __init__(self, job: Job, folder: Path, *, slow: str, effect: float, samples: int) -> None:
        self._job, self._folder, self._slow, self._effect, self._samples = job, folder, slow, effect, samples
        self._executions = 0
        self._read: Callable[[Path], Run] | None = None

    def reading(self, read: Callable[[Path], Run]) -> "SimulatedWorkplace":
        self._read = read
        return self

    def prepare(self, commit: str) -> None:
        """Do nothing: there is nothing to build."""

    def tree(self, _commit: str) -> Path:
        """Return the folder, which has no lock files."""
        return self._folder

    def execute(self, commit: str, **_: object) -> tuple[Path, Run]:
        """Measure all benchmarks; a selection to measure again is ignored, as a command may do."""
        times = self._job.execute(self._samples)
        self._executions += 1
        path = self._folder / f"{self._executions}.json"
        write_results(path, slowed(times, self._effect) if commit == self._slow else times)
        assert self._read is not None
        return path, self._read(path)


def measured(
    world: World,
    folder: Path,
    effects: Sequence[float],
    *,
    options: Sequence[str],
    samples: int,
    row: str,
) -> Iterator[Judged]:
    init_repository(folder / "repository")
    base, head = import_commits(folder / "repository", chain("c", 2)).values()
    for effect in effects:
        workplace = SimulatedWorkplace(world.job(), folder, slow=head, effect=effect, samples=samples)
        with simulated(workplace):
            text = perf_culprit(
                "measure", "--repo", str(folder / "repository"), "--commits", base, head, "--run", "simulated",
                "--output", str(folder / "out"), *options,
            )  # fmt: skip
        typed = next(line for line in text.splitlines() if line.startswith("compare: "))
        arguments = shlex.split(typed.partition("perf-culprit compare ")[2])
        yield row, effect, compare(*arguments, out=folder / "report.json", planted=planted(effect))


@contextmanager
def simulated(workplace: SimulatedWorkplace) -> Iterator[None]:
    @contextmanager
    def opened(*_: object, read: Callable[[Path], Run], **__: object) -> Iterator[SimulatedWorkplace]:
        yield workplace.reading(read)

    with patch.object(this_machine, "open_workplace", opened):
        yield


def _way(name: str, *options: str, rounds: int, weight: int, samples: int = SAMPLES) -> Way:
    return Way(
        command=" ".join(["measure --commits main HEAD --run ./bench --output out", *options]),
        rows={name: Row(design=Design(baseline=2 * rounds, target=2 * rounds, samples=samples, same_job=True))},
        noises=IN_ONE_JOB,
        trial=partial(measured, options=options, samples=samples, row=name),
        benchmarks=BENCHMARKS,
        weight=weight,
    )


WAYS: Final = (
    _way("measure", rounds=5, weight=4),
    _way("measure, 12 rounds of one number", "--rounds", "12", rounds=12, samples=1, weight=4),
    _way("measure --confirm", "--confirm", rounds=5, weight=4),
    _way("measure --until-decided", "--until-decided", rounds=20, weight=10),
)
