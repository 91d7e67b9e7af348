"""measure -> collect -> detect: two or more commits side by side on this machine, until the evidence suffices."""

import math
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from dataclasses import replace as replace_commands
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Final

from msgspec.structs import replace

from perf_culprit import git
from perf_culprit.commands.measure_requests import MOST_ROUNDS, ROUNDS, Measure
from perf_culprit.config.settings import Config
from perf_culprit.dispatch.culprit_trace import Say, TracePlan, this_machine
from perf_culprit.errors import BotError, DataError, UsageError, did_you_mean, listed
from perf_culprit.flows.compare import (
    confirm_report,
    corrected_for_analyses,
    flagged,
    judge_run,
    only,
)
from perf_culprit.flows.diagnose import diagnose_traces, write_traces
from perf_culprit.flows.measured_side import MeasuredSide, new_job, paired, resume
from perf_culprit.flows.render import read_report
from perf_culprit.flows.suite_share import PART_VARIABLE, divide
from perf_culprit.flows.user_commands import counting_commands, shell_commands, with_quantities
from perf_culprit.judge.foreseen_rounds import foresee
from perf_culprit.measure.runner import BENCHMARKS_VARIABLE, Commands
from perf_culprit.measure.workplace import Workplace
from perf_culprit.measure.worktree_executor import Pace, analysis_rounds, interleaved
from perf_culprit.model.accuracy import Foresight
from perf_culprit.model.count import is_exact
from perf_culprit.model.report import Conclusion, Report
from perf_culprit.model.run import Cost, Part, Run
from perf_culprit.model.run_file import decode_run
from perf_culprit.read.results.surroundings import machine_environment, surroundings
from perf_culprit.say.numbers import counted

ANALYSES: Final = 4
EXECUTIONS: Final = 2  # of a side in a round
COUNT_ROUNDS: Final = 1  # counts and sizes repeat; that they do is what the second execution of each side shows
LOG_NAME: Final = "log.txt"
# Of the time of a measurement, writing its files takes at most this part; each is written whole after a round.
WRITING_SHARE: Final = 0.05


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasurePlan:
    """What is asked for with what the configuration and this machine add: `rounds` of A B B A at most.

    With `until_decided` it takes rounds until an interim analysis decides all metrics. `names`: of these benchmarks
    alone; all where it is empty.
    """

    asked: Measure
    commands: Commands
    tool: str
    rounds: int
    names: tuple[str, ...] = ()
    part: Part | None = None

    @property
    def trace(self) -> TracePlan | None:
        asked = self.asked
        if not asked.trace:
            return None
        return TracePlan(
            repetitions=asked.trace_repetitions,
            budget_s=asked.trace_budget,
            full=asked.trace_full,
            include=asked.trace_include,
            at=asked.at,
        )

    @property
    def analyses(self) -> tuple[int, ...]:
        """The rounds after which the numbers are judged."""
        return analysis_rounds(self.rounds, analyses=ANALYSES) if self.asked.until_decided else (self.rounds,)

    @property
    def facts(self) -> Mapping[str, object]:
        """What a measurement has to have in common with the one that it resumes, by option."""
        return {
            "--run": self.commands.run,
            "--build": self.commands.build,
            "--tool": self.tool,
            "--metric": self.commands.count,
            "--also": self.commands.also,
            **({"--flagged": self.names} if self.names else {}),
            **({"--part": self.asked.part, "--list": self.asked.list_command} if self.part else {}),
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """The files written, a baseline first; `rounds` are whole. `report`: what they say, of two commits.

    `confirm` are the files of the second measurement, baseline first, of the benchmarks in `flagged`.
    `diagnoses`: per target what its trace says against the baseline's.
    `fault` ended it early, or it `is_out_of_time`: another call can resume it.
    """

    files: tuple[Path, ...]
    rounds: int
    report: Report | None = None
    traces: tuple[Path, ...] = ()
    diagnoses: tuple[Path, ...] = ()
    flagged: tuple[str, ...] = ()
    confirm: tuple[Path, ...] = ()
    fault: BotError | KeyboardInterrupt | None = None
    is_out_of_time: bool = False


def measure_plan(asked: Measure, *, config: Config, say: Say) -> MeasurePlan:
    commands, tool = shell_commands(config, asked)
    commands, tool = counting_commands(commands, metric=asked.metric, tool=tool, say=say)
    usual = COUNT_ROUNDS if is_exact(commands.count) else ROUNDS
    rounds = asked.rounds or (MOST_ROUNDS if asked.until_decided else usual)
    names = asked.only
    if asked.flagged is not None and (minutes := asked.minutes or config.confirm.budget):
        names = flagged(read_report(asked.flagged))
        asked = asked.replaced(minutes=minutes)
    part = _part(asked)
    if part is not None and part.indices != (1,):
        commands = replace_commands(commands, also=())  # what the first part measures of the whole suffices
    return MeasurePlan(asked=asked, commands=commands, tool=tool, rounds=rounds, names=names, part=part)


def _part(asked: Measure) -> Part | None:
    if (asked.part is None) != (asked.list_command is None) or (asked.part and asked.metric):
        message = "--part and --list need each other, and --metric, which counts the whole command, has no parts"
        raise UsageError(message, place="--part", next_step="give both without --metric, or neither")
    if asked.part is None:
        return None
    index, count = map(int, asked.part.split("/"))
    return Part(indices=(index,), count=count)


def measure_commits(plan: MeasurePlan, *, config: Config, say: Say) -> Measured:
    """Measure commits, interleaved, and write one run file for each; the first of several is the baseline.

    Whatever ends it after the first whole round, the rounds until then are judged.
    """
    repository, output = plan.asked.repository, plan.asked.output
    measurement = _Measurement(_sides(plan, config), plan, config, say)
    fault: BotError | KeyboardInterrupt | None = None
    try:
        with this_machine(
            repository,
            plan.commands,
            config=config,
            tool=plan.tool,
            log=output / LOG_NAME,
            keep_log=plan.asked.resume,
            cache=plan.asked.cache,
        ) as workplace:
            measurement.take(workplace, output)
    except (BotError, KeyboardInterrupt) as error:
        if not measurement.rounds:
            raise
        fault = error
        measurement.write()
    return measurement.measured(repository, output, fault=fault)


def try_once(asked: Measure, *, config: Config, say: Say) -> Run:
    """What one execution of HEAD gives, built as for a measurement; the error where it gives nothing."""
    commands, tool = shell_commands(config, asked)
    commit = git.head_commit(asked.repository)
    # Where it fails, the log stays: the error names it.
    folder = Path(mkdtemp(prefix="perf-culprit-try-"))
    log = folder / LOG_NAME
    with this_machine(asked.repository, commands, config=config, tool=tool, log=log) as workplace:
        say("building HEAD")
        workplace.prepare(commit)
        say("measuring HEAD")
        run = workplace.execute(commit)[1]
    rmtree(folder)
    return run


class _Measurement:
    """The sides, and those of a second measurement, while they fill."""

    def __init__(self, sides: Sequence[MeasuredSide], plan: MeasurePlan, config: Config, say: Say) -> None:
        self._sides = sides
        self._again: Sequence[MeasuredSide] = ()
        self._plan = plan
        self._config = config
        self._say = say
        self._limit = math.inf if plan.asked.minutes is None else 60 * plan.asked.minutes
        self._began = self._written = time.monotonic()
        self._writing_seconds = 0.0
        # A second measurement has as many rounds.
        self._pace = Pace(deadline=self._began + self._limit / (1 + plan.asked.confirm))
        self._lines: Mapping[str, str] = {}
        self._is_decided = False
        self._report: Report | None = None
        self._flagged: tuple[str, ...] = ()
        self._traces: tuple[Path, ...] = ()

    @property
    def rounds(self) -> int:
        return min(side.rounds for side in self._sides)

    @property
    def _commits(self) -> dict[str, str]:
        return {side.name: side.commit for side in self._sides}

    def take(self, workplace: Workplace, output: Path) -> None:
        self._warm_up(workplace)
        analyses = self._plan.analyses if self._plan.asked.until_decided else ()
        self._fill(workplace, self._sides, analyses, names=self._plan.names)
        runs = with_quantities(workplace, [side.run for side in self._sides], rounds=max(self.rounds, 1), say=self._say)
        for side, run in zip(self._sides, runs, strict=True):
            side.run = run
        self.write()
        if self._plan.asked.confirm:
            self._confirm(workplace, output)
        if self._plan.trace is not None:
            self._traces = write_traces(workplace, self._commits, plan=self._plan.trace, output=output, say=self._say)

    def _warm_up(self, workplace: Workplace) -> None:
        for side in self._sides:
            self._say(
                f"build {side.name} {side.commit[:12]}" if self._plan.commands.build else f"check out {side.name}"
            )
            begun = time.monotonic()
            workplace.prepare(side.commit)
            side.spend(0, time.monotonic() - begun)
            tree = surroundings(workplace.tree(side.commit))
            side.run = replace(side.run, environment=side.run.environment.merged(tree))
        if self._plan.part is not None:
            commits, command = [side.commit for side in self._sides], self._plan.asked.list_command or ""
            part, self._lines = divide(workplace, commits, part=self._plan.part, command=command)
            for side in self._sides:
                side.run = replace(side.run, part=part)
        for number in range(1, self._plan.asked.warmup + 1):
            begun = time.monotonic()
            for side in self._sides:
                self._say(f"warm-up {number} of {self._plan.asked.warmup}: {side.name} {side.commit[:12]}")
                variables = self._variables(side)
                side.spend(1, _seconds_of_one(workplace, side.commit, is_counted=False, variables=variables))
            if self._plan.commands.count is None:
                self._pace.guess = EXECUTIONS * (time.monotonic() - begun)

    def _variables(self, side: MeasuredSide, names: Sequence[str] = ()) -> dict[str, str]:
        mine = {PART_VARIABLE: self._lines[side.commit]} if self._lines else {}
        return mine | ({BENCHMARKS_VARIABLE: "\n".join(names)} if names else {})

    def _fill(
        self,
        workplace: Workplace,
        sides: Sequence[MeasuredSide],
        analyses: Sequence[int],
        *,
        names: Sequence[str] = (),
    ) -> None:
        """Rounds up to the plan's, or to the analysis that decides all metrics, or as long as the time allows.

        With `names` only of these benchmarks.
        """
        what = f"{counted(len(names), 'benchmark')}, " if names else ""
        at_most = "of at most" if analyses or self._plan.asked.minutes is not None else "of"
        for number in range(sides[0].rounds + 1, self._plan.rounds + 1):
            if not self._pace.allows_a_round:
                return
            to_go = self._pace.to_go(self._plan.rounds + 1 - number)
            begun = time.monotonic()
            self._round(workplace, sides, f"{what}round {number} {at_most} {self._plan.rounds}{to_go}", names)
            self._pace.add(time.monotonic() - begun)
            if time.monotonic() - self._written >= self._writing_seconds / WRITING_SHARE:
                self.write()
            if number in analyses and self._decides(number):
                return

    def _asked(self, run: Run, names: Sequence[str]) -> Run:
        kept = only(run, names)
        if self._plan.asked.only and not kept.benchmarks:
            there = listed([one.name for one in run.benchmarks], most=10)
            step = did_you_mean(names[0], [one.name for one in run.benchmarks], otherwise=f"they have {there}")
            raise DataError(f"the results have no benchmark {listed(names, most=5)}", place="--only", next_step=step)
        return kept

    def _round(self, workplace: Workplace, sides: Sequence[MeasuredSide], words: str, names: Sequence[str]) -> None:
        """All of a round, or nothing of it."""
        results: dict[str, list[tuple[Path, Run]]] = {side.name: [] for side in sides}
        seconds = dict.fromkeys(results, 0.0)
        for _, side in interleaved(sides, rounds=1):
            self._say(f"{words}: {side.name} {side.commit[:12]}")
            begun = time.monotonic()
            place, run = workplace.execute(side.commit, variables=self._variables(side, names))
            results[side.name].append((place, self._asked(run, names) if names else run))
            seconds[side.name] += time.monotonic() - begun
        for side in sides:
            side.add(results[side.name], seconds=seconds[side.name])

    def _decides(self, number: int) -> bool:
        report = self._judged()
        if report is None or not (left := undecided(report)):
            self._is_decided = True
            return True
        self._say(f"interim analysis after round {number}: {left} of {len(report.findings)} metrics are not decided")
        return False

    def _confirm(self, workplace: Workplace, output: Path) -> None:
        """Measure what looks like a regression again, or what is left of that to be done."""
        report = self._report = self._judged()
        self._flagged = () if report is None else flagged(report)
        if not self._flagged:
            return
        facts = {**self._plan.facts, "benchmarks": self._flagged}
        job = new_job("confirm", facts)
        self._again = [
            MeasuredSide(
                file=output / f"confirm-{side.file.name}",
                commit=side.commit,
                run=replace(Run(suite=side.run.suite, job=job, part=side.run.part), environment=side.run.environment),
            )
            for side in self._sides
        ]
        if self._plan.asked.resume:
            # Another measurement's, or none: then it begins.
            with suppress(UsageError, DataError):
                resume(self._again, facts)
        self._pace.deadline = self._began + self._limit
        self._fill(workplace, self._again, (), names=self._flagged)
        self.write()

    def _judged(self) -> Report | None:
        """What the whole rounds say; None of any number of commits but two."""
        if len(self._sides) != 2:
            return None
        # That other machines measure other parts is nothing to remark here.
        baseline, target = (replace(side.run, part=None) for side in self._sides)
        return judge_run(paired(baseline), target, config=self._config)

    def write(self) -> None:
        begun = time.monotonic()
        for side in (*self._sides, *self._again):
            if side.rounds:
                side.write()
        self._written = time.monotonic()
        self._writing_seconds = self._written - begun

    def measured(self, repository: Path, output: Path, *, fault: BotError | KeyboardInterrupt | None) -> Measured:
        report = self._report or self._judged()
        confirmed = all(side.rounds >= self._plan.rounds for side in self._again)
        if report is not None and self._again and confirmed:
            baseline, target = self._again
            report = confirm_report(report, baseline=paired(baseline.run), again=target.run, config=self._config)
        has_all = self._is_decided or self.rounds >= self._plan.rounds
        return Measured(
            files=tuple(side.file for side in self._sides),
            rounds=self.rounds,
            report=report,
            traces=self._traces,
            diagnoses=diagnose_traces(repository, self._commits, traces=self._traces, output=output)
            if self._traces
            else (),
            flagged=self._flagged,
            # Half of a second measurement would leave everything open that the first one saw.
            confirm=tuple(side.file for side in self._again) if confirmed else (),
            fault=fault,
            is_out_of_time=fault is None and not (has_all and confirmed),
        )


def foreseen(plan: MeasurePlan, *, config: Config, say: Say) -> tuple[Cost, Foresight | None]:
    """Executions at most and their seconds, by one of each side, and what the rounds would show.

    Builds are included, once. The latter is by the last measurement in the same folder; without one None.
    """
    asked, output = plan.asked, plan.asked.output
    sides = _sides(plan, config)
    rounds = max(plan.rounds - sides[0].rounds, 0)
    per_side = EXECUTIONS * rounds * (1 + asked.confirm) + asked.warmup
    seconds = 0.0
    with this_machine(
        asked.repository,
        plan.commands,
        config=config,
        tool=plan.tool,
        log=output / LOG_NAME,
        keep_log=True,
        cache=asked.cache,
    ) as workplace:
        for side in sides:
            say(f"try {side.name} {side.commit[:12]}")
            begun = time.monotonic()
            workplace.prepare(side.commit)
            seconds += time.monotonic() - begun
            seconds += per_side * _seconds_of_one(workplace, side.commit, is_counted=True)
    if asked.minutes is not None:
        seconds = min(seconds, 60 * asked.minutes)
    cost = Cost(per_side * len(sides), seconds)
    files = [side.file for side in sides if side.file.is_file()]
    if len(files) < max(len(sides), 2):
        return cost, None
    baseline, target, *_ = (decode_run(file.read_bytes(), place=str(file)) for file in files)
    settings = corrected_for_analyses(config, analyses=len(plan.analyses))
    return cost, foresee(paired(baseline), target, rounds=plan.rounds, settings=settings)


def _seconds_of_one(
    workplace: Workplace, commit: str, *, is_counted: bool, variables: Mapping[str, str] | None = None
) -> float:
    """Of one execution, whose result is lost. A count needs no counted execution to warm up."""
    begun = time.monotonic()
    if is_counted or workplace.commands.count is None:
        workplace.execute(commit, variables=variables)
    else:
        workplace.run(commit, variables=variables)
    return time.monotonic() - begun


def _sides(plan: MeasurePlan, config: Config) -> tuple[MeasuredSide, ...]:
    asked, revisions = plan.asked, plan.asked.commits
    if (asked.until_decided or asked.confirm) and len(revisions) != 2:
        raise UsageError(
            "--until-decided and --confirm compare exactly two commits",
            place="--commits",
            next_step="give the baseline first, then the target",
        )
    commits = [git.resolve_commit(asked.repository, revision) for revision in revisions]
    targets = [f"target-{number}" for number in range(1, len(commits))] if len(commits) > 2 else ["target"]
    names = ["baseline", *targets] if len(commits) > 1 else targets
    run = Run(suite=config.suite, job=new_job("measure", plan.facts), environment=machine_environment())
    sides = tuple(
        MeasuredSide(file=asked.output / f"{name}.json", commit=commit, run=run)
        for name, commit in zip(names, commits, strict=True)
    )
    if asked.resume:
        resume(sides, plan.facts)
    for side in sides:
        # The verdict that a measurement ended with before it was resumed was an analysis as well.
        more = 0 < side.rounds < plan.rounds
        side.run = replace(side.run, analyses=max(side.run.analyses, len(plan.analyses)) + more)
    return sides


def undecided(report: Report) -> int:
    """In how many metrics a change is neither proven nor excluded; all of them where nothing could be compared."""
    open_metrics = sum(not finding.is_decided for finding in report.findings)
    return open_metrics or int(not report.findings or report.conclusion is Conclusion.INCONCLUSIVE)
