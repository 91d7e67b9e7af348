"""dispatch -> judge: measure in turn, on another machine, what stored runs suspect, to prove or refute it.

A proof is a bisection that searches nothing: one dispatch of one machine. Its number of rounds of the two ends is fixed
before any of them is seen. So the report's own rule judges them, as it judges files of `measure --flagged`.
"""

import hashlib
import secrets
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from perf_culprit.commands.measure_requests import DEFAULT_ROUNDS
from perf_culprit.config.settings import Config
from perf_culprit.dispatch.controller import Controller, advance_named, settle
from perf_culprit.dispatch.machine_image import chosen_runner
from perf_culprit.dispatch.start import bisect_commands
from perf_culprit.errors import DataError
from perf_culprit.flows.compare import confirm_report, flagged
from perf_culprit.flows.measured_side import paired
from perf_culprit.model.bisection import CommitRange, Job, Purpose, SearchSettings, SearchState
from perf_culprit.model.dispatch import Alarm, AlarmedMetric, Bisection, BisectJob, Dispatch, Proof
from perf_culprit.model.reason import Reason, Remark, VerdictReason, because
from perf_culprit.model.report import Report
from perf_culprit.model.run import NO_COST, Benchmark, Cost, Environment, Run
from perf_culprit.search.search_view import executions
from perf_culprit.store.branch_files import BisectionConflictError

PROOF: Final = "proof-"  # prefix of their ids
_NEXT_STEP: Final = "measure both commits in turn (docs/confirm.md)"


def is_suspected(report: Report) -> bool:
    """Return whether something looks worse by stored runs or single files rather than by rounds."""
    by_files = (finding.looks_worse and finding.reason.code is VerdictReason.SUSPECTED for finding in report.findings)
    return any(by_files) or any(note.code is Remark.SUITE_MOVED for note in report.notes)


def with_note(report: Report, note: Reason) -> Report:
    return replace(report, notes=(note, *report.notes))


def proven(
    report: Report, run: Run, *, base: str | None, run_id: int, config: Config, controller: Controller
) -> Report:
    """Return the report after both commits were measured in turn; until then, one with a note that they are.

    `report` compares `run` with `base` for the workflow run `run_id`. A repeated call measures nothing again.
    """
    name = f"{PROOF}{run_id}-{hashlib.sha256(run.suite.encode()).hexdigest()[:8]}"
    if controller.bisections.load(name) is None:
        begun = _begun(report, run, name=name, base=base, run_id=run_id, config=config, controller=controller)
        try:
            step = settle(controller, begun, loaded=None)
        except BisectionConflictError:
            step = advance_named(controller, name)
    else:
        step = advance_named(controller, name)
    if not step.bisection.is_done:
        return with_note(report, because(Remark.BEING_PROVEN, minutes=config.confirm.budget))
    return _judge_again(report, step.bisection, config=config)


def _begun(
    report: Report, run: Run, *, name: str, base: str | None, run_id: int, config: Config, controller: Controller
) -> Bisection:
    metrics = tuple(_metrics_to_prove(report, run))
    if base is None or run.commit is None or base == run.commit:
        raise DataError("no commit before it is known", next_step=_NEXT_STEP)
    if not metrics:
        raise DataError("no benchmark with a direction is suspected", next_step=_NEXT_STEP)
    lead = metrics[0]
    ends, now = (base, run.commit), controller.now()
    # A B, B A, …: a steady drift affects both sides equally.
    rounds = tuple(
        Job(id=f"round-{number + 1:04d}", commits=ends[:: 1 - 2 * (number % 2)], purpose=Purpose.REPRODUCE)
        for number in range(2 * DEFAULT_ROUNDS)
    )
    settings = SearchSettings(direction=lead.metric.direction, budget_executions=4 * DEFAULT_ROUNDS)
    commit_range = CommitRange(good=base, bad=run.commit, commits=(run.commit,), parents=((),))
    job = BisectJob(id="job-1", rounds=rounds)
    dispatch = Dispatch(id=f"1-{secrets.token_hex(4)}", jobs=(job,), sender=controller.name, stored_at=now)
    return Bisection(
        id=name,
        key=lead.key,
        metric=lead.metric,
        commands=replace(bisect_commands(config.bisect), direction=config.direction_of(lead.key)),
        search=SearchState(commit_range=commit_range, settings=settings, jobs=rounds),
        started_at=now,
        suite=run.suite,
        runner=chosen_runner(config.bisect.runner, (run,), commit_range)[0],
        dispatches=(dispatch,),
        alarm=Alarm(metrics=metrics, proves=Proof(run_id=run_id, minutes=config.confirm.budget)),
    )


def _metrics_to_prove(report: Report, run: Run) -> Iterator[AlarmedMetric]:
    """The metrics of the benchmarks to measure again, in the report's order."""
    names, keys = frozenset(flagged(report)), {benchmark.key for benchmark in run.benchmarks}
    for finding in report.findings:
        sides = finding.baseline, finding.target
        if finding.benchmark in names and finding.key in keys and finding.direction.worse_sign and all(sides):
            before, after = (side.value for side in sides if side is not None)
            yield AlarmedMetric(key=finding.key, metric=finding.metric, before=before, after=after)


def _judge_again(report: Report, bisection: Bisection, *, config: Config) -> Report:
    state = bisection.search
    baseline, target = _sides(bisection)
    both = sum(len(result.values) > 1 for result in state.results)
    failures = (failure.message for result in state.results for failure in result.failures.values())
    if not both:
        why = next(failures, "its machine left no result")
        return with_note(report, because(Remark.PROOF_FAILED, why=why))
    second = confirm_report(report, baseline=paired(baseline), again=target, config=config)
    if both < len(state.jobs) and any(finding.looks_worse for finding in second.findings):
        cut = because(Remark.PROOF_CUT_SHORT, minutes=config.confirm.budget, rounds=both // 2, wanted=DEFAULT_ROUNDS)
        second = with_note(second, cut)
    cost = Cost(executions(state.results), bisection.runner_seconds)
    return replace(second, cost=(second.cost or NO_COST) + cost)


def _sides(bisection: Bisection) -> tuple[Run, Run]:
    """Return the runs of base and target. An execution gives one number per metric; two of a side form a round."""
    search, components = bisection.search, bisection.environments[0] if bisection.environments else {}
    places = {job.id: place // 2 + 1 for place, job in enumerate(search.jobs)}
    results = sorted(search.results, key=lambda result: result.job_id)

    def run(commit: str) -> Run:
        beside = bisection.followed
        executed = [
            (places[each.job_id], (each.values.get(commit, (None,))[0], *beside.get(each.job_id, {}).get(commit, ())))
            for each in results
        ]
        return Run(
            benchmarks=tuple(_benchmarks(bisection, executed)),
            commit=commit,
            suite=bisection.suite,
            job=bisection.id,
            environment=Environment(components=components),
        )

    return run(search.commit_range.good), run(search.commit_range.bad)


def _benchmarks(bisection: Bisection, executed: list[tuple[int, tuple[float | None, ...]]]) -> Iterator[Benchmark]:
    """Build the benchmarks. `executed`: each execution's round, and its numbers in the order of the metrics."""
    for number, entry in enumerate(() if bisection.alarm is None else bisection.alarm.metrics):
        values = [(place, row[number]) for place, row in executed if number < len(row)]
        if there := [(place, value) for place, value in values if value is not None]:
            yield Benchmark.of(
                name=entry.key.benchmark,
                metric=entry.metric,
                samples=tuple(value for _, value in there),
                group_sizes=(1,) * len(there),
                rounds=tuple(place for place, _ in there),
            )
