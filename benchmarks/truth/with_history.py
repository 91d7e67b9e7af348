"""A repository that uses the bot: each run is judged against the bot's stored runs, then stored."""

import atexit
import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Final

from benchmarks.truth.files import write_results
from benchmarks.truth.memory import branch_in_memory, unchanging_repository
from benchmarks.truth.noise import Floats, World
from benchmarks.truth.oracle import Design
from benchmarks.truth.verbs import Outcome, outcome_of, perf_culprit
from benchmarks.truth.way import Judged, Row, Way
from benchmarks.truth.with_files import BETWEEN_JOBS, SAMPLES, planted, slowed
from perf_culprit.commands.judge_requests import Compare
from perf_culprit.config.settings import Config
from perf_culprit.flows.compare_history import compare_with_history
from perf_culprit.flows.record import record_run
from perf_culprit.model.report import Report
from perf_culprit.store.opening import HistoryPlace
from tests.support.git_repository import chain, import_commits, init_repository

LIFE: Final = 38
LENGTHS: Final = (1, 2, 3, 5, 10, 30)
LIVED: Final = "38 runs with the bot"
AUDITED: Final = "audit of these 38 runs"


@dataclass(frozen=True, kw_only=True, slots=True)
class Repository:
    """`commits` in a row, oldest first."""

    path: Path
    remote: str
    commits: tuple[str, ...]

    @property
    def options(self) -> tuple[str, ...]:
        return "--repo", str(self.path), "--history", self.remote


@lru_cache(maxsize=1)
def repository() -> Repository:
    """Make a real repository, once per process and removed at its end; the history branch is in memory."""
    folder = Path(tempfile.mkdtemp(prefix="truth-repository-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    remote = init_repository(folder / "remote.git", bare=True)
    path = init_repository(folder / "repository")
    commits = import_commits(path, chain("c", LIFE + 1)).values()
    return Repository(path=path, remote=str(remote), commits=tuple(commits))


def lives(
    world: World,
    folder: Path,
    effects: Sequence[float],
    *,
    lengths: Sequence[int],
    life: int,
    suffix: str = "",
    audit: bool = False,
) -> Iterator[Judged]:
    """Judged as the action judges a push: `compare` and `record` of the same results, once each."""
    total: list[Outcome] = []
    with ExitStack() as stack:
        stack.enter_context(unchanging_repository())
        stack.enter_context(branch_in_memory())
        for stored, commit in enumerate(repository().commits[: life + 1]):
            times = world.job().execute(SAMPLES)
            if stored in lengths:
                for effect in effects:
                    if effect:
                        yield row_of(stored) + suffix, effect, judged(folder, commit, times, effect)
            outcome = judged(folder, commit, times, 0.0, record=True)
            if stored in lengths:
                yield row_of(stored) + suffix, 0.0, outcome
            total += [outcome] * (stored > 0)
        if audit:
            yield AUDITED, 0.0, checked_audit(folder, together(total))
        elif life == LIFE:
            yield LIVED, 0.0, together(total)


def judged(folder: Path, commit: str, times: Floats, effect: float, *, record: bool = False) -> Outcome:
    file = write_results(folder / "head.json", slowed(times, effect))
    return outcome_of(report_of(file, commit, record=record), planted=planted(effect))


def report_of(file: str, commit: str, *, record: bool) -> Report:
    """Judge the results of a commit against the stored runs, and store them if they are to be recorded."""
    place = HistoryPlace(repository=repository().path, url=repository().remote)
    request = Compare(target=(file,), repository=place.repository, revision=commit, history_url=place.url)
    compared = compare_with_history(request, config=Config())
    if record:
        record_run(
            compared.run,
            report=compared.report,
            config=Config(),
            place=place,
            stored_runs=compared.stored_runs,
        )
    return compared.report


def together(outcomes: Sequence[Outcome]) -> Outcome:
    """All runs of one life."""
    return Outcome(
        metrics=sum(entry.metrics for entry in outcomes),
        judged=sum(entry.judged for entry in outcomes),
        called=sum(entry.called for entry in outcomes),
        runs=len(outcomes),
        alarmed=sum(entry.alarmed for entry in outcomes),
    )


def checked_audit(folder: Path, lived: Outcome) -> Outcome:
    """Call the audit changed if its range of runs with a false alarm excludes the bot's own share."""
    perf_culprit("audit", *repository().options, "--json", str(folder / "audit.json"))
    told = json.loads((folder / "audit.json").read_bytes())["detectors"][0]["alarms"]
    wrong = not told["low"] <= lived.alarmed / lived.runs <= told["high"]
    return Outcome(metrics=1, judged=1, called=int(wrong), alarmed=int(wrong))


def row_of(stored: int) -> str:
    return f"history of {stored} run" + "s" * (stored > 1)


COMMAND: Final = "record head.json; compare --repo . --target head.json"
WAYS: Final = (
    Way(
        command=COMMAND,
        rows={
            **{row_of(length): Row(design=Design(baseline=length, target=1, samples=SAMPLES)) for length in LENGTHS},
            LIVED: Row(of="lives"),
        },
        noises=BETWEEN_JOBS,
        trial=partial(lives, lengths=LENGTHS, life=LIFE),
        weight=5,
    ),
    Way(
        command="audit --repo .",
        rows={AUDITED: Row(stated=0.05)},
        noises=("own 3%", "modes per benchmark and run"),
        trial=partial(lives, lengths=(), life=LIFE, audit=True),
        weight=20,
    ),
    Way(
        command=COMMAND,
        rows={"history of 1 run, 200 benchmarks": Row(design=Design(baseline=1, target=1, samples=SAMPLES))},
        noises=("own 10%", "modes per benchmark and run"),
        trial=partial(lives, lengths=(1,), life=1, suffix=", 200 benchmarks"),
        benchmarks=200,
        weight=4,
    ),
)
