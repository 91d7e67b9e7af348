"""measure -> collect -> detect: two or more commits side by side on this machine, until the evidence suffices."""

import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from bot import git
from bot.codec.run import decode_run, encode_run
from bot.collect import join_executions, machine_environment, surroundings
from bot.config import Config
from bot.detect.foresight import foresee
from bot.dispatch.machine import Say, this_machine
from bot.dispatch.tracing import TracePlan
from bot.errors import UsageError
from bot.files import replace_file
from bot.measure import Commands, Workplace, analysis_rounds, interleaved
from bot.model.baseline import Baseline, BaselineSource
from bot.model.foresight import Foresight
from bot.model.report import Conclusion, Report
from bot.model.run import NO_COST, Cost, Run
from bot.pipeline.commands import with_quantities
from bot.pipeline.confirm import BENCHMARKS_VARIABLE, flagged, only
from bot.pipeline.judge import judge_run
from bot.pipeline.settings import corrected_for_analyses
from bot.pipeline.trace import diagnose_traces, write_traces

ANALYSES: Final = 4
LOG_NAME: Final = "log.txt"


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasurePlan:
    """`rounds` of A B B A at most; with `until_decided` until an interim analysis decides all metrics.

    `confirm`: what then looks like a regression is measured a second time, in as many rounds.
    """

    commands: Commands
    rounds: int = 7
    warmup: int = 1
    until_decided: bool = False
    confirm: bool = False
    tool: str = "auto"
    cache: Path | None = None
    trace: TracePlan | None = None

    @property
    def analyses(self) -> tuple[int, ...]:
        """The rounds after which the numbers are judged."""
        return analysis_rounds(self.rounds, analyses=ANALYSES) if self.until_decided else (self.rounds,)


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """The files written, baseline first, and after a measurement until decided what was decided.

    `confirm` are the files of the second measurement, baseline first, of the benchmarks in `flagged`.
    `diagnoses`: per target what its trace says beside the baseline's.
    """

    files: tuple[Path, ...]
    rounds: int
    report: Report | None = None
    traces: tuple[Path, ...] = ()
    diagnoses: tuple[Path, ...] = ()
    flagged: tuple[str, ...] = ()
    confirm: tuple[Path, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Side:
    """`results` are the executions so far with their places, `rounds` the one that each belongs to."""

    name: str
    commit: str
    results: list[tuple[str, Run]] = field(default_factory=list)
    rounds: list[int] = field(default_factory=list)
    costs: list[Cost] = field(default_factory=list)

    def add(self, number: int, result: tuple[Path, Run]) -> None:
        path, run = result
        self.results.append((str(path), run))
        self.rounds.append(number)

    @contextmanager
    def spends(self, *, executions: int = 1) -> Iterator[None]:
        """The block's time is this side's."""
        begun = time.monotonic()
        yield
        self.costs.append(Cost(executions, time.monotonic() - begun))


def measure_commits(
    repository: Path, revisions: Sequence[str], *, plan: MeasurePlan, output: Path, config: Config, say: Say
) -> Measured:
    """Measure commits, interleaved, and write one run file for each into `output`; the first is the baseline."""
    sides = _sides(repository, revisions, plan)
    with this_machine(
        repository, plan.commands, config=config, tool=plan.tool, log=output / LOG_NAME, cache=plan.cache
    ) as workplace:
        _warm_up(workplace, sides, plan, say)
        rounds, report = _measure(workplace, sides, plan, config, say)
        job = f"measure-{uuid.uuid4().hex}"
        trees = [workplace.tree(side.commit) for side in sides]
        runs = [
            _side_run(side, config=config, job=job, analyses=len(plan.analyses), tree=tree)
            for side, tree in zip(sides, trees, strict=True)
        ]
        runs = with_quantities(workplace, runs, rounds=rounds, say=say)
        files = tuple(output / f"{side.name}.json" for side in sides)
        for file, run in zip(files, runs, strict=True):
            replace_file(file, encode_run(run))
        names: tuple[str, ...] = ()
        second: tuple[Path, ...] = ()
        if plan.confirm:
            names, second = _measure_again(workplace, sides, runs, plan=plan, output=output, config=config, say=say)
        traces: tuple[Path, ...] = ()
        commits = {side.name: side.commit for side in sides}
        if plan.trace is not None:
            traces = write_traces(workplace, commits, plan=plan.trace, output=output, say=say)
    diagnoses = diagnose_traces(repository, commits, traces=traces, output=output) if traces else ()
    return Measured(
        files=files, rounds=rounds, report=report, traces=traces, diagnoses=diagnoses, flagged=names, confirm=second
    )


def foreseen(
    repository: Path, revisions: Sequence[str], *, plan: MeasurePlan, output: Path, config: Config
) -> tuple[Cost, Foresight | None]:
    """Executions at most, and by the last measurement in `output` seconds and what the rounds would show.

    Builds are included; without such a measurement 0 seconds, and None.
    """
    sides = _sides(repository, revisions, plan)
    executions = len(list(interleaved(sides, rounds=plan.rounds))) * (1 + plan.confirm) + len(sides) * plan.warmup
    files = [file for side in sides if (file := output / f"{side.name}.json").is_file()]
    runs = [decode_run(file.read_bytes(), place=str(file)) for file in files]
    before = sum((run.cost for run in runs), NO_COST)
    cost = Cost(executions, executions * before.seconds / before.executions if before.executions else 0.0)
    if len(runs) < len(sides):
        return cost, None
    settings = corrected_for_analyses(config, analyses=len(plan.analyses))
    return cost, foresee(_paired(runs[0]), runs[1], rounds=plan.rounds, settings=settings)


def _sides(repository: Path, revisions: Sequence[str], plan: MeasurePlan) -> tuple[_Side, ...]:
    exactly_two = plan.until_decided or plan.confirm
    if len(revisions) < 2 or (exactly_two and len(revisions) > 2):
        raise UsageError(
            "--until-decided and --confirm compare exactly two commits" if exactly_two else "one commit is no pair",
            place="--commits",
            next_step="give the baseline first, then the target",
        )
    commits = [git.resolve_commit(repository, revision) for revision in revisions]
    targets = [f"target-{number}" for number in range(1, len(commits))] if len(commits) > 2 else ["target"]
    return tuple(_Side(name=name, commit=commit) for name, commit in zip(["baseline", *targets], commits, strict=True))


def _warm_up(workplace: Workplace, sides: Sequence[_Side], plan: MeasurePlan, say: Say) -> None:
    for side in sides:
        say(f"build {side.name} {side.commit[:12]}" if plan.commands.build else f"check out {side.name}")
        with side.spends(executions=0):
            workplace.prepare(side.commit)
    for number in range(1, plan.warmup + 1):
        for side in sides:
            say(f"warm-up {number} of {plan.warmup}: {side.name} {side.commit[:12]}")
            # A count does not need a counted run to warm up.
            with side.spends():
                workplace.warm_up(side.commit) if plan.commands.count else workplace.execute(side.commit)


def _measure(
    workplace: Workplace, sides: Sequence[_Side], plan: MeasurePlan, config: Config, say: Say
) -> tuple[int, Report | None]:
    report: Report | None = None
    executions = list(interleaved(sides, rounds=plan.rounds))
    for position, (number, side) in enumerate(executions, start=1):
        say(f"round {number} of {plan.rounds}: {side.name} {side.commit[:12]}")
        with side.spends():
            side.add(number, workplace.execute(side.commit))
        is_round_end = position == len(executions) or executions[position][0] != number
        if plan.until_decided and is_round_end and number in plan.analyses:
            report = _judged(sides, plan, config)
            if not undecided(report):
                return number, report
            of_all = f"{undecided(report)} of {len(report.findings)} metrics"
            say(f"interim analysis after round {number}: {of_all} are not decided")
    return plan.rounds, report


def _measure_again(
    workplace: Workplace,
    sides: Sequence[_Side],
    runs: Sequence[Run],
    *,
    plan: MeasurePlan,
    output: Path,
    config: Config,
    say: Say,
) -> tuple[tuple[str, ...], tuple[Path, ...]]:
    """What looks like a regression, and the files of its second measurement; none where nothing does."""
    names = flagged(judge_run(_paired(runs[0]), runs[1], config=config))
    if not names:
        return (), ()
    again = [_Side(name=f"confirm-{side.name}", commit=side.commit) for side in sides]
    for number, side in interleaved(again, rounds=plan.rounds):
        say(f"confirm {len(names)} benchmarks, round {number} of {plan.rounds}: {side.name} {side.commit[:12]}")
        with side.spends():
            side.add(number, workplace.execute(side.commit, variables={BENCHMARKS_VARIABLE: "\n".join(names)}))
    job = f"confirm-{uuid.uuid4().hex}"
    files = tuple(output / f"{side.name}.json" for side in again)
    for file, side in zip(files, again, strict=True):
        replace_file(file, encode_run(only(_side_run(side, config=config, job=job, analyses=1), names)))
    return names, files


def undecided(report: Report) -> int:
    """In how many metrics a change is neither proven nor excluded; all of them where nothing could be compared."""
    open_metrics = sum(not finding.is_decided for finding in report.findings)
    return open_metrics or int(not report.findings or report.conclusion is Conclusion.INCONCLUSIVE)


def _judged(sides: Sequence[_Side], plan: MeasurePlan, config: Config) -> Report:
    analyses = len(plan.analyses)
    baseline, target = (_side_run(side, config=config, job="interim", analyses=analyses) for side in sides)
    return judge_run(_paired(baseline), target, config=config)


def _paired(baseline: Run) -> Baseline:
    return Baseline(runs=(baseline,), source=BaselineSource.PAIRED, base_commit=baseline.commit)


def _side_run(side: _Side, *, config: Config, job: str, analyses: int, tree: Path | None = None) -> Run:
    """All executions of one side as one run; each execution is a group of samples of its round.

    With its `tree`, the run says what it was built and measured with.
    """
    run = join_executions(
        side.results, rounds=side.rounds, suite=config.suite, commit=side.commit, time=datetime.now(UTC), job=job
    )
    here = machine_environment() if tree is None else surroundings(tree)
    cost = sum(side.costs, NO_COST)
    return replace(run, analyses=analyses, environment=run.environment.merged(here), cost=cost)
