"""A month of a repository that searches by itself: a virtual clock, real commands, real git, the fake GitHub.

`python -m benchmarks.automatic.month [--days 30] [--pushes 10]`: pushes of one to three commits, 12 benchmarks, noise
of 2% within and 1% between runs; causes are planted, each is taken back two days after it was found, once the runner's
image makes some benchmarks slower, and every twentieth event is lost. Prints the table of docs/tracking-issues.md.
"""

import argparse
import contextlib
import io
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tabulate import tabulate

from bot.dispatch.controller import Controller
from tests.support.fake_github.state import Issue
from tests.support.mainline import CONFIG, START, Mainline, open_mainline, recorded_mainline

LEVELS: Mapping[str, float] = {f"bench{number}": 0.001 * (number + 1) for number in range(12)}
WARM_UP = 30  # quiet runs before the month begins
LOST = 0.05
FIXED_AFTER = timedelta(days=2)
SETTINGS: Mapping[str, Any] = {**CONFIG, "bisect": {**CONFIG["bisect"], "searches-per-day": 3}}


@dataclass(kw_only=True, slots=True)
class Planted:
    """`day`; which benchmarks take `factor` times as long. Of the `image` it is no commit."""

    day: float
    factor: float
    benchmarks: tuple[int, ...]
    image: bool = False
    commit: str | None = None
    issue: Issue | None = None
    found_after_h: float | None = None
    fixed: bool = False


PLANTED = (
    Planted(day=2.0, factor=1.3, benchmarks=(0,)),
    Planted(day=6.0, factor=1.25, benchmarks=(1, 2, 3)),
    Planted(day=10.0, factor=1.4, benchmarks=(4, 5, 6, 7)),
    Planted(day=14.0, factor=1.3, benchmarks=(2, 8), image=True),
    Planted(day=18.0, factor=1.5, benchmarks=(9,)),
    Planted(day=18.0, factor=1.35, benchmarks=(10,)),
    Planted(day=23.0, factor=1.2, benchmarks=(0, 11)),
)


@dataclass(kw_only=True, slots=True)
class Capture:
    """What pytest's capture does for the runner."""

    text: io.StringIO = field(default_factory=io.StringIO)

    def readouterr(self) -> Any:
        out = self.text.getvalue()
        self.text.seek(0)
        self.text.truncate()
        return type("Captured", (), {"out": out, "err": ""})()


def month(world: Mainline, *, days: int, pushes: int, planted: tuple[Planted, ...], tell: Callable[[str], None]) -> str:
    """All events of the month; what the jobs said."""
    rng = np.random.default_rng(7)
    clock = START + timedelta(days=10)
    begin, said = clock, ""
    # The controller's clock is the month's.
    (Controller.__init__.__kwdefaults__ or {})["now"] = lambda: clock
    for number in range(days * pushes):
        clock = begin + timedelta(days=(number + float(rng.uniform(0, 0.5))) / pushes)
        world.time = clock
        at = (clock - begin).total_seconds() / 86_400
        for entry in planted:
            if entry.day <= at and entry.commit is None:
                _plant(world, entry)
            found = entry.found_after_h is not None and not entry.fixed
            if found and at > entry.day + float(entry.found_after_h or 0) / 24 + FIXED_AFTER.days:
                _take_back(world, entry)
        for _ in range(int(rng.integers(1, 4))):
            world.commit()
        said += world.push().log
        while world.served < len(world.fake.state.dispatches):
            result = world.measure(tells=bool(rng.random() >= LOST))
            said += "" if result is None else result.log
        for entry in planted:
            _look(world, entry, hours=24 * (at - entry.day))
        if number % pushes == pushes - 1:
            tell(f"day {number // pushes + 1}: {len(world.fake.state.issues)} issues, {world.served} dispatches")
    return said


def _plant(world: Mainline, entry: Planted) -> None:
    names = [f"bench{number}" for number in entry.benchmarks]
    if entry.image:
        world.image = "ubuntu24 20261115.2"
        world.slowness.update(dict.fromkeys(names, entry.factor))
        entry.commit = "image"
        return
    world.commit()
    changed = {name: world.now[name] * entry.factor for name in names}
    entry.commit = world.commit(f"Planted on day {entry.day:g}", **changed)
    world.commit()


def _take_back(world: Mainline, entry: Planted) -> None:
    names = [f"bench{number}" for number in entry.benchmarks]
    world.commit("Faster again", **{name: world.now[name] / entry.factor for name in names})
    entry.fixed = True


def _look(world: Mainline, entry: Planted, *, hours: float) -> None:
    if entry.issue is not None or entry.commit is None or entry.image:
        return
    named = (issue for issue in world.fake.state.issues.values() if str(entry.commit)[:7] in issue.title)
    entry.issue = next(named, None)
    entry.found_after_h = None if entry.issue is None else hours


def table(world: Mainline, planted: tuple[Planted, ...], said: str) -> str:
    rows = []
    for entry in planted:
        count = f"{len(entry.benchmarks)} benchmark{'s' * (len(entry.benchmarks) > 1)}"
        what = f"{'image' if entry.image else 'commit'}, {count}, {entry.factor - 1:+.0%}"
        if entry.image:
            innocent = said.count("the environment changed, the code is innocent")
            rows.append([f"{entry.day:g}", what, "no issue" if innocent else "not said", "", ""])
        else:
            hours = "" if entry.found_after_h is None else f"{entry.found_after_h:.1f}"
            state = "" if entry.issue is None else entry.issue.state
            rows.append([f"{entry.day:g}", what, "named" if entry.issue else "not named", hours, state])
    issues = world.fake.state.issues.values()
    named = {id(entry.issue) for entry in planted if entry.issue is not None}
    searches = Counter(dispatch["inputs"]["bisection"] for dispatch in world.fake.state.dispatches)
    head = ("day", "planted", "answer", "hours until the issue", "at the end")
    lines = [
        tabulate(rows, headers=head, tablefmt="github"),
        f"issues: {len(issues)}, of them without a planted culprit: {sum(id(issue) not in named for issue in issues)}",
        f"searches: {len(searches)}, dispatches: {sum(searches.values())}",
        *(f"  {issue.title} ({issue.state})" for issue in issues),
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--pushes", type=int, default=10)
    parser.add_argument("--keep", type=Path, help="write the issues' texts here")
    arguments = parser.parse_args()
    capture = Capture()
    planted = tuple(entry for entry in PLANTED if entry.day < arguments.days)
    with (
        tempfile.TemporaryDirectory() as name,
        pytest.MonkeyPatch.context() as patch,
    ):
        folder = Path(name)
        (folder / "recorded").mkdir()
        (folder / "month").mkdir()
        recorded = recorded_mainline(folder / "recorded", config=SETTINGS, runs=WARM_UP, levels=LEVELS)
        with open_mainline(recorded, folder / "month", patch, capture) as world:  # type: ignore[arg-type]
            world.noise = 0.02
            with contextlib.redirect_stdout(capture.text), contextlib.redirect_stderr(capture.text):
                lines: list[str] = []
                said = month(
                    world, days=arguments.days, pushes=arguments.pushes, planted=planted, tell=_progress(lines)
                )
            print(table(world, planted, said))
            if arguments.keep is not None:
                arguments.keep.mkdir(parents=True, exist_ok=True)
                (arguments.keep / "log.txt").write_text(said)
                for issue in world.fake.state.issues.values():
                    (arguments.keep / f"{issue.number}.md").write_text(f"# {issue.title}\n\n{issue.body}")


def _progress(lines: list[str]) -> Callable[[str], None]:
    import sys

    def tell(text: str) -> None:
        lines.append(text)
        print(text, file=sys.__stderr__, flush=True)

    return tell


if __name__ == "__main__":
    main()
