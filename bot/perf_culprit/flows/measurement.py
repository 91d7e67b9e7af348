"""measure -> collect -> detect: two or more commits side by side on this machine, until the evidence suffices."""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from dataclasses import replace as replace_commands
from pathlib import Path
from shutil import rmtree
from statistics import median
from tempfile import mkdtemp
from typing import Final

from msgspec.structs import replace

from perf_culprit import git
from perf_culprit.commands.measure_requests import TRACE_AUTO, Measure
from perf_culprit.config.settings import Config
from perf_culprit.errors import BotError, DataError, UsageError, did_you_mean, list_names
from perf_culprit.files import replace_file
from perf_culprit.flows.benchmark_index import stored_index, traced_index, with_impact
from perf_culprit.flows.compare import (
    confirm_report,
    corrected_for_analyses,
    flagged,
    judge_run,
    only,
    with_changed_files,
)
from perf_culprit.flows.diagnose import DIAGNOSIS_FILE, diagnose_traces, with_diagnosis, write_untraced
from perf_culprit.flows.measure_plan import WORKING_TREE, MeasurePlan
from perf_culprit.flows.measured_side import MeasuredSide, draw_seed, new_job, paired, resume_sides, with_loss
from perf_culprit.flows.suite_share import PART_VARIABLE, divide
from perf_culprit.flows.user_commands import shell_commands, with_quantities
from perf_culprit.judge.foreseen_rounds import foresee
from perf_culprit.machine.this_machine import TracePlan, this_machine
from perf_culprit.machine.trace_means import trace_revisions
from perf_culprit.measure.benchmark_code import with_harness, with_versions
from perf_culprit.measure.runner import BENCHMARKS_VARIABLE, FILLER_VARIABLE, ExecutionError
from perf_culprit.measure.workplace import Workplace
from perf_culprit.measure.worktree_executor import Pace, balanced_round
from perf_culprit.model.accuracy import Foresight
from perf_culprit.model.count import is_exact_quantity
from perf_culprit.model.finding import PROVEN
from perf_culprit.model.reason import Caveat, Reason, because
from perf_culprit.model.report import Conclusion, Report, decode_tree_comparison, encode_tree_comparison
from perf_culprit.model.run import HARNESS, VARIANT, Cost, Environment, Run
from perf_culprit.model.run_file import decode_run
from perf_culprit.progress import Say
from perf_culprit.read.results.surroundings import machine_environment, surroundings
from perf_culprit.say.numbers import count_of
from perf_culprit.say.reason_text import sentence

EXECUTIONS: Final = 2  # per side in a round
# The first round after which changes may be excluded. Of 1,350 recorded metrics that were made 5 to 20% slower,
# none was excluded there.
FIRST_EXCLUSION: Final = 2
_LOG_NAME: Final = "log.txt"
# `--trace auto` keeps this share of the minutes for traces.
TRACE_SHARE: Final = 0.1
# Budgets of a commit that traces may take together: levels of both commits, samples of both, the baseline once more.
TRACE_BUDGETS: Final = 5
# The fewest executions of a trace of two commits: without hooks, the structure, and three repetitions.
FEWEST_TRACED: Final = 10
# Executions whose time is kept for that trace once something got or looks worse: two more, as an execution may take
# longer than those before. A trace that would take more than half of the minutes is given up for the rounds.
KEPT_FOR_TRACE: Final = FEWEST_TRACED + 2
# The share of its time that an execution waits for a processor: below .01 on an idle machine, .3 with four busy
# processes on two cores.
BUSY: Final = 0.1
# Writing files takes at most this share of a measurement's time. After a round, each file is written whole.
WRITING_SHARE: Final = 0.05


@dataclass(frozen=True, kw_only=True, slots=True)
class Measurement:
    """The files written, baseline first; `rounds` counts whole rounds. `report` judges them, for two commits only.

    `confirm`: the files of the second measurement of the benchmarks in `flagged`, baseline first. `diagnoses`: for each
    target, its trace compared with the baseline's. `fault` ended it early, or it `is_out_of_time`: another call can
    resume it.
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


def measure_commits(plan: MeasurePlan, *, config: Config, say: Say) -> Measurement:
    """Measure commits, interleaved, and write one run file for each; the first of several is the baseline.

    If an error or interrupt ends it after the first round, the rounds until then are judged.
    """
    repository, output = plan.options.repository, plan.options.output
    if not plan.is_reached:
        return _unmeasured(_sides(plan, config), config)
    measurement = _Measurement(_sides(plan, config), plan, config, say)
    _say_uncommitted(plan, say)
    fault: BotError | KeyboardInterrupt | None = None
    try:
        with this_machine(
            repository,
            plan.commands,
            config=config,
            tool=plan.tool,
            log=output / _LOG_NAME,
            keep_log=plan.options.resume,
            cache=plan.options.cache,
        ) as workplace:
            measurement.take(workplace, output)
    except (BotError, KeyboardInterrupt) as error:
        if not measurement.rounds and not measurement.has_lost_side:
            raise
        fault = error
        measurement.write()
    return measurement.measured(fault=fault)


def _say_uncommitted(plan: MeasurePlan, say: Say) -> None:
    """Warn of changes in the checkout whose commit is measured."""
    repository = plan.options.repository
    head = git.find_commit(repository, "HEAD")
    if plan.variants or head not in [git.find_commit(repository, revision) for revision in plan.options.commits]:
        return
    if head is not None and (names := git.uncommitted_files(repository, head)):
        changes = list_names(names, most=3)
        say(f"not measured: uncommitted changes ({changes}); --commits HEAD {WORKING_TREE} compares them")


def _unmeasured(sides: Sequence[MeasuredSide], config: Config) -> Measurement:
    """Write files without results, from which a comparison can tell why nothing was measured."""
    for side in sides:
        side.run = replace(side.run, commit=side.commit)
        side.write()
    report = judge_run(paired(sides[0].run), sides[-1].run, config=config)
    return Measurement(files=tuple(side.file for side in sides), rounds=0, report=report)


@dataclass(frozen=True, kw_only=True, slots=True)
class Tried:
    """One execution, with the seconds of the build and its own."""

    run: Run
    build_s: float
    execution_s: float


@contextmanager
def built_head(options: Measure, *, config: Config, say: Say, log: Path) -> Iterator[Callable[[str, float], Tried]]:
    """Build HEAD as for a measurement. Yield what executes a command there once, in as many seconds at most.

    It raises an error if there is no result.
    """
    commands, tool = shell_commands(config, options)
    commit = git.head_commit(options.repository)
    with this_machine(options.repository, commands, config=config, tool=tool, log=log) as workplace:
        say("building HEAD")
        begun = time.monotonic()
        workplace.prepare(commit)
        built = time.monotonic()

        def execute(run: str, seconds: float) -> Tried:
            say("measuring HEAD")
            chosen = replace_commands(commands, run=run, run_timeout_seconds=round(max(seconds, 1.0)))
            started = time.monotonic()
            result = workplace.executing(chosen).execute(commit)[1]
            return Tried(run=result, build_s=built - begun, execution_s=time.monotonic() - started)

        yield execute


def try_once(options: Measure, *, config: Config, say: Say) -> Tried:
    """Execute HEAD once, built as for a measurement. Raise an error if it gives no result."""
    commands, _ = shell_commands(config, options)
    # On failure the log stays, because the error names it.
    folder = Path(mkdtemp(prefix="perf-culprit-try-"))
    with built_head(options, config=config, say=say, log=folder / _LOG_NAME) as execute:
        tried = execute(commands.run, commands.run_timeout_seconds)
    rmtree(folder)
    return tried


class _Measurement:
    """The sides of a measurement and of its second one, while rounds are added."""

    def __init__(self, sides: Sequence[MeasuredSide], plan: MeasurePlan, config: Config, say: Say) -> None:
        self._sides = sides
        self._again: Sequence[MeasuredSide] = ()
        self._plan = plan
        self._config = config
        self._say = say
        self._limit = math.inf if plan.options.minutes is None else 60 * plan.options.minutes
        self._began = self._written = time.monotonic()
        self._writing_seconds = 0.0
        # The rounds' own part of the time.
        self._rounds_limit = self._limit * (1 - TRACE_SHARE * (plan.options.trace == TRACE_AUTO))
        # A second measurement has as many rounds.
        self._pace = Pace(deadline=self._deadline)
        self._lines: Mapping[str, str] = {}
        self._keeps_for_trace = False
        self._is_decided = False
        self._report: Report | None = None
        self._flagged: tuple[str, ...] = ()
        self._traces: Mapping[str, tuple[Path, ...]] = {}
        self._diagnoses: tuple[Path, ...] = ()
        self._lost_harness = ""

    @property
    def rounds(self) -> int:
        return min(side.rounds for side in self._sides)

    def take(self, workplace: Workplace, output: Path) -> None:
        if self._plan.options.harness:
            self._take_harness(workplace)
        self._warm_up(workplace)
        analyses = self._plan.analyses if self._plan.options.until_decided else ()
        self._fill(workplace, self._sides, analyses, names=self._plan.names)
        runs = [replace(side.run, commit=side.checkout) for side in self._sides]
        runs = with_quantities(workplace, runs, rounds=max(self.rounds, 1), say=self._say)
        for side, run in zip(self._sides, runs, strict=True):
            side.run = replace(run, commit=side.commit)
        self.write()
        if self._plan.options.confirm:
            self._confirm(workplace, output)
        if self._plan.trace is not None:
            self._trace(workplace, self._plan.trace, output)
            if self._plan.is_indexed:
                self._index(workplace, self._plan.trace)

    def _index(self, workplace: Workplace, plan: TracePlan) -> None:
        """Trace which methods each benchmark runs, if no stored run knows it or the newest that does is too old."""
        side = self._sides[-1]
        index = stored_index(self._plan.options.repository, side.commit, config=self._config)
        left = self._left_seconds
        if index is None or index or left < FEWEST_TRACED * self._execution_seconds:
            return
        self._say("tracing which methods each benchmark runs")
        begun = time.monotonic()
        try:
            methods = traced_index(
                workplace,
                side.checkout,
                self._plan.commands,
                self._plan.tool,
                names={benchmark.name for benchmark in side.run.benchmarks},
                plan=replace_commands(plan, budget_s=min(plan.budget_s, left / TRACE_BUDGETS)),
                say=self._say,
            )
        except Exception as error:  # noqa: BLE001 - an index must not cost the verdict
            self._say(f"not traced: {error}")
            return
        side.run = replace(side.run, methods=methods)
        side.spend(1, time.monotonic() - begun)
        self._say(f"methods of {count_of(len(methods), 'benchmark')} stored")
        self.write()

    def _trace(self, workplace: Workplace, plan: TracePlan, output: Path) -> None:
        """Trace all commits; by `auto` only if something got or looks worse, and whatever happens is no error."""
        if self._plan.options.trace != TRACE_AUTO:
            self._traced(workplace, plan, output)
            return
        (output / DIAGNOSIS_FILE).unlink(missing_ok=True)
        self._report = self._report or self._judged()
        report = self._confirmed(self._report)
        names = () if report is None else flagged(report)
        if not names:
            return
        left, each = self._left_seconds, self._execution_seconds
        if left < FEWEST_TRACED * each:
            self._untraced(because(Caveat.NO_TIME_TO_TRACE, left=max(left, 0.0), each=each), output)
            return
        self._say(f"tracing {count_of(len(names), 'benchmark')} that got or may have got worse")
        variables = {side.name: self._variables(side, names) for side in self._sides}
        budget_s = min(plan.budget_s, left / TRACE_BUDGETS)
        try:
            self._traced(workplace, replace_commands(plan, budget_s=budget_s, variables=variables), output)
        except BotError as error:
            self._untraced(because(Caveat.NOT_TRACED, why=error.message, next=error.next_step), output)
        except Exception as error:  # noqa: BLE001 - a trace must not cost the verdict
            self._untraced(because(Caveat.NOT_TRACED, why=f"{type(error).__name__}: {error}"[:300]), output)

    @property
    def _deadline(self) -> float:
        """When the rounds end. A second measurement gets as much time."""
        return self._began + self._rounds_limit / (1 + self._plan.options.confirm)

    @property
    def _left_seconds(self) -> float:
        return self._began + self._limit - time.monotonic()

    @property
    def _execution_seconds(self) -> float:
        costs = [side.run.cost for side in self._sides]
        return sum(cost.seconds / max(cost.executions, 1) for cost in costs) / len(costs)

    def _keep_for_trace(self, report: Report) -> None:
        """End the rounds early enough for a trace. A suspicion that a later round takes back keeps the minutes too."""
        self._keeps_for_trace |= self._plan.options.trace == TRACE_AUTO and bool(flagged(report))
        seconds_for_trace = KEPT_FOR_TRACE * self._execution_seconds
        if self._keeps_for_trace and seconds_for_trace <= self._limit / 2:
            self._rounds_limit = min(self._rounds_limit, self._limit - seconds_for_trace)
            self._pace.deadline = self._deadline

    def _traced(self, workplace: Workplace, plan: TracePlan, output: Path) -> None:
        checkouts = {side.name: side.checkout for side in self._sides}
        traced = trace_revisions(
            self._plan.commands.run,
            self._plan.tool,
            workplace=workplace,
            commits=checkouts,
            plan=plan,
            folder=output,
            say=self._say,
        )
        if traced.error is not None:
            raise traced.error
        self._say(traced.line)
        self._traces = traced.files
        commits = {side.name: side.commit for side in self._sides}
        self._diagnoses = diagnose_traces(
            self._plan.options.repository, commits, traces=self._traces, by=traced.by, output=output
        )
        if self._plan.options.trace == TRACE_AUTO:
            self._add_impact()

    def _add_impact(self) -> None:
        index = stored_index(self._plan.options.repository, self._sides[0].commit, config=self._config)
        names = {benchmark.name for benchmark in self._sides[-1].run.benchmarks}
        for file in self._diagnoses if index else ():
            comparison = decode_tree_comparison(file.read_bytes(), place=str(file))
            replace_file(file, encode_tree_comparison(with_impact(comparison, index or {}, benchmarks=names)))

    def _untraced(self, why: Reason, output: Path) -> None:
        self._say(f"not traced: {sentence(why)}")
        baseline, target = self._sides
        file = write_untraced(
            self._plan.options.repository, base=baseline.commit, head=target.commit, why=why, output=output
        )
        self._diagnoses = (file,)

    def _take_harness(self, workplace: Workplace) -> None:
        """Use the head's benchmarks for all sides. If one side does not run with them, each keeps its own."""
        *others, head = self._sides
        repository, is_harness = self._plan.options.repository, self._config.is_benchmark_file
        for side in others:
            side.made, count = with_harness(repository, side.commit, head.commit, is_harness=is_harness)
            self._say(f"{side.name} {side.commit[:12]}: {count_of(count, 'file')} of benchmarks taken from the head")
            try:
                _seconds_of_one(workplace, side.checkout, is_counted=False)
            except ExecutionError as error:
                self._lost_harness = f"the head's benchmarks do not run on {side.commit[:12]}: {error.message}"
                self._say(f"{self._lost_harness}; each commit is measured by its own benchmarks")
                break
        for side in others:
            side.made = None if self._lost_harness else side.made
            side.run = _marked(side.run, HARNESS, head.commit if side.made else None)

    def _warm_up(self, workplace: Workplace) -> None:
        for side in self._sides:
            self._say(
                f"build {side.name} {side.commit[:12]}" if self._plan.commands.build else f"check out {side.name}"
            )
            begun = time.monotonic()
            try:
                workplace.prepare(side.checkout)
            except ExecutionError as error:
                self._fail(side, error)
                continue
            side.spend(0, time.monotonic() - begun)
            tree = surroundings(workplace.tree(side.checkout))
            side.run = replace(side.run, environment=side.run.environment.merged(tree))
        if self._plan.part is not None:
            commits, command = [side.commit for side in self._sides], self._plan.options.list_command or ""
            part, self._lines = divide(workplace, commits, part=self._plan.part, command=command)
            for side in self._sides:
                side.run = replace(side.run, part=part)
        for number in range(1, self._plan.options.warmup + 1):
            begun = time.monotonic()
            for side in self._sides:
                self._say(f"warm-up {number} of {self._plan.options.warmup}: {side.name} {side.commit[:12]}")
                variables = self._variables(side)
                try:
                    side.spend(1, _seconds_of_one(workplace, side.checkout, is_counted=False, variables=variables))
                except ExecutionError as error:
                    self._fail(side, error)
            if self._plan.commands.count is None:
                self._pace.guess = EXECUTIONS * (time.monotonic() - begun)

    def _variables(self, side: MeasuredSide, names: Sequence[str] = ()) -> dict[str, str]:
        mine = {PART_VARIABLE: self._lines[side.commit]} if self._lines else {}
        return mine | ({BENCHMARKS_VARIABLE: "\n".join(names)} if names else {})

    def _fill(
        self, workplace: Workplace, sides: Sequence[MeasuredSide], analyses: Sequence[int], *, names: Sequence[str] = ()
    ) -> None:
        """Add rounds up to the plan's number, to the analysis that decides all metrics, or to the time limit.

        With `names`, measure only these benchmarks.
        """
        what = f"{count_of(len(names), 'benchmark')}, " if names else ""
        at_most = "of at most" if analyses or self._plan.options.minutes is not None else "of"
        for number in range(sides[0].rounds + 1, self._plan.rounds + 1):
            if not self._pace.allows_a_round:
                return
            to_go = self._pace.to_go(self._plan.rounds + 1 - number)
            begun = time.monotonic()
            self._round(workplace, sides, f"{what}round {number} {at_most} {self._plan.rounds}{to_go}", names)
            self._pace.add(time.monotonic() - begun)
            if number == 1:
                self._say_if_busy(sides)
            if time.monotonic() - self._written >= self._writing_seconds / WRITING_SHARE:
                self.write()
            if analyses and number >= FIRST_EXCLUSION and self._decides(number, can_prove=number in analyses):
                return

    def _say_if_busy(self, sides: Sequence[MeasuredSide]) -> None:
        waits_and_seconds = [
            (execution.delay_seconds, execution.seconds) for side in sides for execution in side.run.executions
        ]
        waits = [wait / seconds for wait, seconds in waits_and_seconds if wait is not None]
        if waits and (share := median(waits)) >= BUSY:
            self._say(
                f"executions wait {share:.0%} of their time for a processor: other programs keep this machine busy, so "
                "only large changes will be visible; stop them, or measure on another machine"
            )

    def _select(self, run: Run, names: Sequence[str]) -> Run:
        part = only(run, names)
        if self._plan.options.only and not part.benchmarks:
            there = list_names([benchmark.name for benchmark in run.benchmarks], most=10)
            step = did_you_mean(
                names[0], [benchmark.name for benchmark in run.benchmarks], otherwise=f"they have {there}"
            )
            raise DataError(
                f"the results have no benchmark {list_names(names, most=5)}", place="--only", next_step=step
            )
        return part

    def _round(self, workplace: Workplace, sides: Sequence[MeasuredSide], words: str, names: Sequence[str]) -> None:
        """Measure one round. If an execution fails, nothing is kept; if it is interrupted, what all sides have.

        If one side fails from the start, the round keeps the other's results, and what the failed command left.
        """
        results: dict[str, list[tuple[Path, Run]]] = {side.name: [] for side in sides}
        seconds = dict.fromkeys(results, 0.0)
        seed, number = sides[0].run.seed or 0, sides[0].rounds + 1
        interrupt = None
        self._say(words)
        try:
            for side, filler in balanced_round(sides, seed=seed, number=number):
                begun = time.monotonic()
                executed = self._attempt(workplace, side, names, filler=filler, is_first=number == 1 and not names)
                if executed is not None:
                    results[side.name].append((executed[0], self._versioned(side, executed[1])))
                seconds[side.name] += time.monotonic() - begun
        except KeyboardInterrupt as error:
            if not all(results.values()):
                raise
            interrupt = error
        for side in sides:
            expected = EXECUTIONS if interrupt is None else 0
            side.end_round(results[side.name], seconds=seconds[side.name], expected=expected)
        if fault := next((side.failure for side in sides if side.is_lost), None):
            raise fault
        if interrupt is not None:
            count = sum(map(len, results.values()))
            self._say(f"interrupted in round {number}: kept {count} of its {EXECUTIONS * len(sides)} executions")
            raise interrupt

    def _attempt(
        self, workplace: Workplace, side: MeasuredSide, names: Sequence[str], *, filler: int, is_first: bool
    ) -> tuple[Path, Run] | None:
        """Execute once; of a side that fails, return what it left. An error that comes later ends the measurement."""
        try:
            return self._executed(workplace, side, names, filler=filler)
        except ExecutionError as error:
            left = workplace.left_by(error)
            if not (is_first or (side.has_failed and left is not None)):
                raise
            self._fail(side, error)
            return None if left is None else (left[0], with_loss(left[1], error))

    def _fail(self, side: MeasuredSide, error: ExecutionError) -> None:
        """Note the side's first failure. Raise the error if no side is left."""
        if side.failure is None:
            side.failure = error
            self._say(f"{side.name} {side.commit[:12]}: {error.message}")
        if all(each.failure is not None for each in self._sides):
            raise error

    @property
    def has_lost_side(self) -> bool:
        return any(side.is_lost for side in self._sides)

    def _executed(
        self, workplace: Workplace, side: MeasuredSide, names: Sequence[str], *, filler: int
    ) -> tuple[Path, Run]:
        """Execute once. For quantities of the command, execute once for each named benchmark, alone."""
        # Counts depend on the environment's length alone.
        more = {} if is_exact_quantity(workplace.commands.count) else {FILLER_VARIABLE: "x" * filler}
        if not names or workplace.commands.count is None:
            place, run = workplace.execute(side.checkout, variables=self._variables(side, names) | more)
            return place, self._select(run, names) if names else run
        each = [
            (name, workplace.execute(side.checkout, variables=self._variables(side, [name]) | more)) for name in names
        ]
        own = tuple(replace(benchmark, name=name) for name, (_, run) in each for benchmark in run.benchmarks)
        executions = tuple(
            replace(execution, benchmark=name) for name, (_, run) in each for execution in run.executions
        )
        return each[-1][1][0], Run(benchmarks=own, executions=executions)

    def _versioned(self, side: MeasuredSide, run: Run) -> Run:
        """Add the benchmarks' versions. If the head's benchmarks were given up, missing versions are the side's own."""
        run = with_versions(run, self._plan.options.repository, side.checkout)
        if not self._lost_harness:
            return run
        own = f"benchmarks of {side.commit[:12]}"
        benchmarks = tuple(replace(benchmark, version=benchmark.version or own) for benchmark in run.benchmarks)
        return replace(run, benchmarks=benchmarks, notes=(*run.notes, self._lost_harness))

    def _decides(self, number: int, *, can_prove: bool) -> bool:
        """Whether nothing is left to decide. Where it cannot prove, every metric has to be unchanged.

        To exclude changes takes no part of the rates that the planned analyses share.
        """
        report = self._compared()
        self._keep_for_trace(report)
        left = undecided(report)
        self._is_decided = not left and (can_prove or not any(finding.verdict in PROVEN for finding in report.findings))
        if can_prove and not self._is_decided:
            self._say(
                f"interim analysis after round {number}: {left} of {len(report.findings)} metrics are not decided"
            )
        return self._is_decided

    def _confirm(self, workplace: Workplace, output: Path) -> None:
        """Measure what looks like a regression again, or resume that second measurement."""
        report = self._report = self._judged()
        self._flagged = () if report is None else flagged(report)
        if not self._flagged:
            return
        facts = {**self._plan.facts, "benchmarks": self._flagged}
        job, seed = new_job("confirm", facts), draw_seed()
        self._again = [
            MeasuredSide(
                file=output / f"confirm-{side.file.name}",
                commit=side.commit,
                run=Run(suite=side.run.suite, job=job, part=side.run.part, seed=seed, environment=side.run.environment),
                made=side.made,
                failure=side.failure,
            )
            for side in self._sides
        ]
        if self._plan.options.resume:
            # Start afresh if there are no files, or those of another measurement.
            with suppress(UsageError, DataError):
                resume_sides(self._again, facts)
        self._pace.deadline = self._began + self._rounds_limit
        self._fill(workplace, self._again, (), names=self._flagged)
        self.write()

    def _judged(self) -> Report | None:
        """Judge the whole rounds; None unless there are exactly two commits."""
        if len(self._sides) != 2:
            return None
        return with_changed_files(self._compared(), self._plan.options.repository, config=self._config)

    def _compared(self) -> Report:
        """Judge the whole rounds of two commits, without a look at their files."""
        # Ignore the part here: that other machines measure other parts is not worth a remark.
        baseline, target = (replace(side.run, part=None) for side in self._sides)
        return judge_run(paired(baseline), target, config=self._config)

    def write(self) -> None:
        begun = time.monotonic()
        for side in (*self._sides, *self._again):
            if side.rounds or side.run.lost:
                side.write()
        self._written = time.monotonic()
        self._writing_seconds = self._written - begun

    @property
    def _is_confirmed(self) -> bool:
        return all(side.rounds >= self._plan.rounds for side in self._again)

    def _confirmed(self, report: Report | None) -> Report | None:
        """Return the report after the second measurement, if there is a whole one."""
        if report is None or not self._again or not self._is_confirmed:
            return report
        baseline, target = self._again
        return confirm_report(report, baseline=paired(baseline.run), again=target.run, config=self._config)

    def measured(self, *, fault: BotError | KeyboardInterrupt | None) -> Measurement:
        confirmed = self._is_confirmed
        report = self._confirmed(self._report or self._judged())
        if report is not None and self._diagnoses:
            report = with_diagnosis(report, str(self._diagnoses[0]))
        has_all = self._is_decided or self.rounds >= self._plan.rounds
        return Measurement(
            files=tuple(side.file for side in self._sides),
            rounds=self.rounds,
            report=report,
            traces=tuple(file for files in self._traces.values() for file in files),
            diagnoses=self._diagnoses,
            flagged=self._flagged,
            # An unfinished second measurement would leave every flagged benchmark undecided.
            confirm=tuple(side.file for side in self._again) if confirmed else (),
            fault=fault,
            is_out_of_time=fault is None and not (has_all and confirmed),
        )


def foreseen(plan: MeasurePlan, *, config: Config, say: Say) -> tuple[Cost, Foresight | None]:
    """Estimate the maximum executions and their seconds, by one of each side, and what the rounds would show.

    Builds are included, once. The second value uses the last measurement in the same folder; None without one.
    """
    options, output = plan.options, plan.options.output
    sides = _sides(plan, config)
    rounds = max(plan.rounds - sides[0].rounds, 0)
    per_side = EXECUTIONS * rounds * (1 + options.confirm) + options.warmup
    seconds = 0.0
    with this_machine(
        options.repository,
        plan.commands,
        config=config,
        tool=plan.tool,
        log=output / _LOG_NAME,
        keep_log=True,
        cache=options.cache,
    ) as workplace:
        for side in sides:
            say(f"try {side.name} {side.commit[:12]}")
            begun = time.monotonic()
            workplace.prepare(side.commit)
            seconds += time.monotonic() - begun
            seconds += per_side * _seconds_of_one(workplace, side.commit, is_counted=True)
    if options.minutes is not None:
        seconds = min(seconds, 60 * options.minutes)
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
    """Time one execution and discard its result. A count needs no counted execution to warm up."""
    begun = time.monotonic()
    if is_counted or workplace.commands.count is None:
        workplace.execute(commit, variables=variables)
    else:
        workplace.run(commit, variables=variables)
    return time.monotonic() - begun


def _sides(plan: MeasurePlan, config: Config) -> tuple[MeasuredSide, ...]:
    options, revisions = plan.options, plan.options.commits
    if (options.until_decided or options.confirm) and len(revisions) != 2:
        raise UsageError(
            "--until-decided and --confirm compare exactly two commits",
            place="--commits",
            next_step="give the baseline first, then the target",
        )
    commits = [git.resolve_commit(options.repository, revision) for revision in revisions]
    targets = [f"target-{number}" for number in range(1, len(commits))] if len(commits) > 2 else ["target"]
    names = ["baseline", *targets] if len(commits) > 1 else targets
    job = new_job("measure", plan.facts)
    environment = machine_environment()
    run = Run(suite=config.suite, job=job, environment=environment, unreached=plan.unreached, seed=draw_seed())
    sides = tuple(
        MeasuredSide(
            file=options.output / f"{name}.json", commit=commit, run=_marked(run, VARIANT, plan.variants.get(commit))
        )
        for name, commit in zip(names, commits, strict=True)
    )
    if options.resume and plan.is_reached:
        resume_sides(sides, plan.facts)
    for side in sides:
        # The verdict at the end of an unfinished measurement was an analysis as well.
        more = 0 < side.rounds < plan.rounds
        side.run = replace(side.run, analyses=max(side.run.analyses, len(plan.analyses)) + more)
    return sides


def _marked(run: Run, component: str, value: str | None) -> Run:
    mark = Environment(components={component: value} if value else {})
    return replace(run, environment=run.environment.merged(mark))


def undecided(report: Report) -> int:
    """Count the metrics with a change neither proven nor excluded; at least 1 if nothing could be compared."""
    open_metrics = sum(not finding.is_decided for finding in report.findings)
    return open_metrics or int(not report.findings or report.conclusion is Conclusion.INCONCLUSIVE)
