"""A year of a repository with automatic searches: the real action, real git, the fake GitHub, a virtual clock.

`python -m benchmarks.automatic.year [--days 365] [--pushes 40] [--benchmarks 200] [--noise FOLDER]`
makes pushes of one to three commits with recorded noise. It plants twelve causes, nine of them fixed after they were
found, three runner images and five modes of the machines. Pushes and events are lost. It prints the table of
docs/evidence/tracking-issues.md.
"""

import argparse
import contextlib
import io
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from numpy.typing import NDArray
from tabulate import tabulate

from benchmarks.automatic.calendar import Kind, Planted, calendar
from benchmarks.automatic.recorded import RecordedNoise, read_noise
from perf_culprit.config.database_url import parse_database
from perf_culprit.config.settings import Config
from perf_culprit.dispatch.controller import Controller
from perf_culprit.model.run import Benchmark, Environment, Run
from perf_culprit.model.run_file import decode_run
from perf_culprit.store.opening import open_history, prepare_database
from tests.support.fake_github.state import PullRequest
from tests.support.git_repository import run_git
from tests.support.job import JobResult
from tests.support.mainline import CONFIG, START, Mainline, open_mainline, recorded_mainline
from tests.support.measurements import MACHINE, SECONDS

SAMPLES: Final = 10
WARM_UP: Final = 40
LOST_PUSHES: Final = 0.01
LOST_EVENTS: Final = 0.05
# A dispatch takes a while: this number of dispatches end between two pushes.
DISPATCHES: Final = 3
WEEK_DAYS: Final = 7
TOLD: Final = ("search", "innocent", "Checked", "reproduced", "bisection")


@dataclass(kw_only=True, slots=True)
class Year(Mainline):
    recorded: RecordedNoise | None = None
    clock: datetime = START
    seconds: list[tuple[datetime, float]] = field(default_factory=list)

    def run(self, commit: str, time: datetime | None = None) -> Run:
        if self.recorded is None:
            raise ValueError("no noise was given")
        self.seed += 1
        factors = self.recorded.build(self.seed, SAMPLES)
        benchmarks = tuple(
            Benchmark.of(name=name, metric=SECONDS, samples=tuple((self.level(commit, name) * row).tolist()))
            for name, row in zip(self.levels[commit], factors, strict=True)
        )
        machine = Environment(components={**MACHINE.components, "runner_image": self.image})
        return Run(benchmarks=benchmarks, environment=machine, commit=commit, time=time or self.clock)

    def factors(self, benchmarks: Sequence[str], count: int, _: np.random.Generator) -> NDArray[np.float64]:
        if self.recorded is None:
            raise ValueError("no noise was given")
        self.seconds.append((self.clock, self.job_seconds + count * self.suite_seconds))
        return np.stack([self.recorded.executions(int(name[5:]), count) for name in benchmarks], axis=1)


@dataclass(kw_only=True, slots=True)
class Capture:
    """A replacement for pytest's capture, as far as the runner uses it."""

    text: io.StringIO = field(default_factory=io.StringIO)

    def readouterr(self) -> Any:
        out = self.text.getvalue()
        self.text.seek(0)
        self.text.truncate()
        return type("Captured", (), {"out": out, "err": ""})()


def warm_up(world: Year, config: Mapping[str, Any]) -> None:
    """Store quiet runs from before the year."""
    made = [world.commit() for _ in range(WARM_UP)]
    run_git(world.bare, "update-ref", "refs/heads/main", made[-1])
    with open_history(Config.model_validate(config).history, url=str(world.bare)) as history:
        history.append_all([world.run(commit, START + timedelta(hours=at)) for at, commit in enumerate(made)])


@dataclass(kw_only=True, slots=True)
class Simulation:
    world: Year
    days: int
    pushes: int
    planted: tuple[Planted, ...]
    rng: np.random.Generator
    keep: Path | None
    told: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    by_image: dict[str, float] = field(default_factory=dict)
    by_mode: dict[str, float] = field(default_factory=dict)

    def run(self) -> None:
        begin = self.world.clock = START + timedelta(days=10)
        for number in range(self.days * self.pushes):
            day = (number + float(self.rng.uniform(0, 0.5))) / self.pushes
            self.world.clock = begin + timedelta(days=day)
            self._plant(day)
            for _ in range(int(self.rng.integers(1, 4))):
                self.world.commit()
            self._push()
            self._measure()
            self._look(day)
            if number % self.pushes == self.pushes - 1:
                shutil.rmtree(self.world.runner.temp, ignore_errors=True)
                self._tell(number // self.pushes + 1)

    def _tell(self, day: int) -> None:
        cpu = sum(os.times()[:4])
        text = f"day {day}: {self.counts['pushes']} pushes, {self.world.served} dispatches, {cpu:.0f} s of CPU time"
        print(text, file=sys.__stderr__, flush=True)
        if self.keep is None:
            return
        self.keep.mkdir(parents=True, exist_ok=True)
        (self.keep / "table.md").write_text(f"{text}\n\n{table(self)}\n")
        (self.keep / "told.txt").write_text("\n".join(self.told))
        for issue in self.world.fake.state.issues.values():
            (self.keep / f"{issue.number}.md").write_text(f"# {issue.title}\n\n{issue.body}")

    def _plant(self, day: float) -> None:
        due = next((entry for entry in self.planted if entry.day <= day and entry.commit is None), None)
        if due is not None:
            self._begin(due)
        for entry in self.planted:
            if entry.stays or entry.waited is None or entry.fixed_on is not None:
                continue
            if day > entry.day + entry.waited / timedelta(days=1) + min(2.0, self.days / 60):
                entry.fixed_on = day
                names = [f"bench{number}" for number in entry.benchmarks]
                self.world.commit("Faster again", **{name: self.world.now[name] / entry.factor for name in names})

    def _begin(self, entry: Planted) -> None:
        names = [f"bench{number}" for number in entry.benchmarks]
        if entry.kind is Kind.COMMIT:
            self.world.commit()
            levels = {name: self.world.now[name] * entry.factor for name in names}
            entry.commit = self.world.commit(f"Planted on day {entry.day:.1f}", **levels)
            number = 100 + len(self.world.fake.state.pulls)
            self.world.fake.state.pulls[number] = PullRequest(
                number=number,
                head_sha=f"{number:040x}",
                head_branch=f"change-{number}",
                state="closed",
                merge_commit_sha=entry.commit,
            )
            return
        entry.commit = entry.kind
        if entry.kind is Kind.IMAGE:
            before = int(self.world.image.rpartition(".")[2])
            self.world.image = f"ubuntu24 20261101.{before + 1}"
            self.by_image |= {name: self.by_image.get(name, 1.0) * entry.factor for name in names}
        else:
            self.by_mode = dict.fromkeys(names, entry.factor)
        every = {*self.by_image, *self.by_mode}
        self.world.slowness = {name: self.by_image.get(name, 1.0) * self.by_mode.get(name, 1.0) for name in every}

    def _push(self) -> None:
        self.counts["pushes"] += 1
        if self.rng.random() < LOST_PUSHES:
            run_git(self.world.bare, "update-ref", "refs/heads/main", self.world.commits[-1])
            self.counts["lost pushes"] += 1
            return
        self._note(self.world.push())

    def _measure(self) -> None:
        for _ in range(DISPATCHES):
            if self.world.served < len(self.world.fake.state.dispatches):
                tells = bool(self.rng.random() >= LOST_EVENTS)
                self.counts["lost events"] += not tells
                result = self.world.measure(tells=tells)
                if result is not None:
                    self._note(result)

    def _note(self, result: JobResult) -> None:
        self.counts[f"exit code {result.exit_code}"] += 1
        lines = [line for line in result.log.splitlines() if any(word in line for word in TOLD)]
        self.told += [f"{self.world.clock:%m-%dT%H:%M} {line}" for line in lines]
        innocent = [line for line in lines if "the environment changed" in line]
        if innocent:
            image = next(
                (entry for entry in reversed(self.planted) if entry.kind is Kind.IMAGE and entry.commit is not None),
                None,
            )
            if image is not None and self.world.image in innocent[-1]:
                image.answer = "the environment changed"

    def _look(self, day: float) -> None:
        for entry in self.planted:
            if entry.issue is not None:
                entry.closed_on = (entry.closed_on or day) if entry.issue.state == "closed" else None
            if entry.issue is not None or entry.commit is None or entry.kind is not Kind.COMMIT:
                continue
            issues = self.world.fake.state.issues.values()
            entry.issue = next((issue for issue in issues if str(entry.commit)[:7] in issue.title), None)
            if entry.issue is not None:
                entry.waited = timedelta(days=day - entry.day)
                entry.answer = "named"


def table(simulation: Simulation) -> str:
    state, rows = simulation.world.fake.state, []
    for entry in simulation.planted:
        if entry.commit is None:
            continue
        count = f"{len(entry.benchmarks)} benchmark{'s' * (len(entry.benchmarks) > 1)}"
        hours = "" if entry.waited is None else f"{entry.waited / timedelta(hours=1):.1f}"
        size = f"{entry.factor - 1:+.0%}" if entry.kind is not Kind.MODE else f"x {entry.factor:g}"
        rows.append([f"{entry.day:.1f}", f"{entry.kind}, {count}, {size}", entry.answer or "-", hours, _end(entry)])
    issues = list(state.issues.values())
    named = {id(entry.issue) for entry in simulation.planted if entry.issue is not None}
    per_cause = Counter(issue.title.rpartition(" ")[2] for issue in issues)
    searches = Counter(dispatch["inputs"]["bisection"] for dispatch in state.dispatches)
    weeks: Counter[int] = Counter()
    for at, seconds in simulation.world.seconds:
        weeks[(at - START).days // WEEK_DAYS] += round(seconds)
    head = ("day", "planted", "answer", "hours until the issue", "hours from the fix until it is closed")
    return "\n".join(
        [
            tabulate(rows, headers=head, tablefmt="github"),
            ", ".join(f"{count} {name}" for name, count in simulation.counts.items()),
            f"issues: {len(issues)}, without a planted culprit: {sum(id(issue) not in named for issue in issues)}",
            f"second issues of a cause: {sum(count - 1 for count in per_cause.values())}",
            f"comments on pull requests: {Counter(Counter(c.issue for c in state.comments.values()).values())}",
            f"searches: {len(searches)}, dispatches: {sum(searches.values())}",
            f"runner minutes: {sum(weeks.values()) / 60:.0f}, worst week {max(weeks.values(), default=0) / 60:.0f}",
            *(f"  {issue.title} ({issue.state})" for issue in issues),
        ]
    )


def _end(entry: Planted) -> str:
    if entry.issue is None:
        return ""
    if entry.closed_on is None:
        return "open, not fixed" if entry.fixed_on is None else "open"
    is_early = entry.fixed_on is None or entry.closed_on < entry.fixed_on
    return "CLOSED, NOT FIXED" if is_early else f"{24 * (entry.closed_on - float(entry.fixed_on or 0)):.1f}"


def main() -> None:
    arguments = _arguments()
    part, parts = map(int, arguments.part.split("/"))
    rng = np.random.default_rng([arguments.seed, part])
    levels = {f"bench{number}": 0.001 * (number % 50 + 1) for number in range(arguments.benchmarks)}
    config = {**CONFIG, "bisect": {**CONFIG["bisect"], "searches-per-day": arguments.searches}}
    if arguments.database:
        url = parse_database(f"sqlite:///{arguments.database}")
        prepare_database(url)
        config["history"] = {"url": f"sqlite:///{arguments.database}"}
    capture = Capture()
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        for folder in ("recorded", "year"):
            (Path(name) / folder).mkdir()
        recorded = recorded_mainline(Path(name) / "recorded", config=config, runs=1, levels=levels)
        with open_mainline(recorded, Path(name) / "year", patch, capture, Year) as world:  # type: ignore[arg-type]
            assert isinstance(world, Year)
            world.recorded = RecordedNoise(read_noise(arguments.noise), arguments.benchmarks, rng)
            # A stored run never changes: this process, which acts as hundreds of jobs, reads it once.
            patch.setattr("perf_culprit.store.protocol.decode_run", lru_cache(maxsize=1_000)(decode_run))
            # The controller's clock is the year's.
            patch.setitem(_defaults(), "now", lambda: world.clock)
            simulation = Simulation(
                world=world,
                days=arguments.days,
                pushes=arguments.pushes,
                planted=calendar(
                    np.random.default_rng(arguments.seed),
                    days=arguments.days,
                    benchmarks=arguments.benchmarks,
                    part=part,
                    parts=parts,
                ),
                rng=rng,
                keep=arguments.keep,
            )
            with contextlib.redirect_stdout(capture.text), contextlib.redirect_stderr(capture.text):
                warm_up(world, config)
                simulation.run()
            print(table(simulation))


def _defaults() -> dict[str, Any]:
    defaults = Controller.__init__.__kwdefaults__
    if defaults is None:
        raise ValueError("the controller has no clock of its own")
    return defaults


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--part", default="1/1", metavar="I/N", help="these days are one of so many parts of the year")
    parser.add_argument("--pushes", type=int, default=40, help="a day")
    parser.add_argument("--benchmarks", type=int, default=200)
    parser.add_argument("--searches", type=int, default=3, help="bisect.searches-per-day")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--noise", type=Path, help="a folder of recorded series with labels (default: our own recording)"
    )
    parser.add_argument("--database", type=Path, help="keep the history in this SQLite file instead of a branch")
    parser.add_argument("--keep", type=Path, help="write what was told and the issues' texts here")
    return parser.parse_args()


if __name__ == "__main__":
    main()
