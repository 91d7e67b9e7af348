"""Results of one job, stored so that another job can judge them again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as replace_results
from typing import Final

from msgspec.structs import replace

from perf_culprit.config.settings import Config
from perf_culprit.errors import BotError
from perf_culprit.flows.compare import Comparison, compare_runs, judge_run, reading
from perf_culprit.flows.compare_history import compare_run_with_history, stored_baseline
from perf_culprit.flows.compared_commits import Merge, ReferenceCommit
from perf_culprit.flows.render import draw_or_verdict, report_json, report_markdown
from perf_culprit.judge.conclusion import is_flagged
from perf_culprit.model.finding import Acceptance, Baseline, BaselineSource, Verdict
from perf_culprit.model.reason import Reason, Remark, VerdictReason, because
from perf_culprit.model.report import Report
from perf_culprit.model.run import NO_COST, EnvironmentChange, MetricKey, Run
from perf_culprit.model.run_file import encode_run
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.read.results.collect import collect_executions
from perf_culprit.store.opening import HistoryPlace, open_history


def with_innocence(report: Report, run: Run, *, base: Run, config: Config, place: HistoryPlace) -> Report:
    """Explain steps that `run` and `base` share by the changed environment. An unreadable history explains nothing."""
    try:
        with open_history(config.history, place.repository, url=place.url, token=place.token) as history:
            stored = stored_baseline(history, run, config=config, place=place)
    except BotError:
        return report
    if not stored.runs:
        return report
    here = base.environment if base.environment.components else run.environment
    changes = stored.runs[-1].environment.changes_to(here)
    if not changes:
        return report
    stepped = _worse(stored, run, config) & _worse(stored, base, config)
    reason = environment_changed(changes)
    findings = tuple(
        replace(finding, reason=reason) if finding.key in stepped and finding.verdict is Verdict.UNCHANGED else finding
        for finding in report.findings
    )
    if findings == report.findings:
        return report
    return replace(report, findings=findings, environment_changes=(*changes, *report.environment_changes))


def _worse(stored: Baseline, run: Run, config: Config) -> frozenset[MetricKey]:
    findings = judge_run(stored, run, config=config).findings
    return frozenset(finding.key for finding in findings if is_flagged(finding))


def environment_changed(changes: Sequence[EnvironmentChange]) -> Reason:
    changed = tuple(
        text for change in changes[: TEXT_LIMITS.reason_names] for text in (change.name, change.before, change.after)
    )
    return because(VerdictReason.ENVIRONMENT_CHANGED, changed=changed)


REPORT_NAME: Final = "report.json"
COMMENT_NAME: Final = "comment.md"
RUN_NAME: Final = "run.json"
BASELINE_NAME: Final = "baseline.json"
CONFIRM_NAME: Final = "confirm.json"
CONFIRM_BASELINE_NAME: Final = "confirm-baseline.json"
RUN_NAMES: Final = (RUN_NAME, BASELINE_NAME, CONFIRM_NAME, CONFIRM_BASELINE_NAME)


@dataclass(frozen=True, kw_only=True, slots=True)
class JobResults:
    """Results of one job. `baseline` was measured in turn with `run`; without it, the stored history is the baseline.

    `confirm` is a second measurement of the flagged benchmarks, `confirm_baseline` that of its baseline. `is_joined`:
    joined from parts, whose reports claim nothing about the whole.
    """

    run: Run
    baseline: Run | None = None
    confirm: Run | None = None
    confirm_baseline: Run | None = None
    is_joined: bool = False


def results_of(runs: Mapping[str, Run]) -> JobResults | None:
    """Build the results from runs by file name; None without the run itself."""
    if RUN_NAME not in runs:
        return None
    return JobResults(
        run=runs[RUN_NAME],
        baseline=runs.get(BASELINE_NAME),
        confirm=runs.get(CONFIRM_NAME),
        confirm_baseline=runs.get(CONFIRM_BASELINE_NAME),
    )


def result_files(compared: Comparison, results: JobResults) -> dict[str, bytes]:
    """Return a job's files by name: its report, its comment, and the runs that they were judged from."""
    runs = (results.run, results.baseline, results.confirm, results.confirm_baseline)
    return {
        **{name: encode_run(run) for name, run in zip(RUN_NAMES, runs, strict=True) if run is not None},
        REPORT_NAME: report_json(compared.report),
        COMMENT_NAME: draw_or_verdict(lambda: report_markdown(compared.report), compared.report.conclusion).encode(),
    }


def collect_baseline(files: Sequence[str], *, config: Config, tool: str = "auto") -> Run:
    """Read a baseline: each file is an execution, measured in turn with one of the target."""
    return collect_executions(files, reading(config, tool=tool))


def compare_results(
    results: JobResults,
    *,
    config: Config,
    base: str | None,
    merge: Merge | None,
    place: HistoryPlace,
    accepted: Sequence[Acceptance] = (),
    reference: ReferenceCommit | None = None,
) -> Comparison:
    """Judge by `config` against the base that was measured in the same job, else against the stored history.

    For a push (`base` is None) with both, the history tells whether the base, measured now, is at a level of its own.
    """
    own_baseline = (results.confirm_baseline,) if results.confirm_baseline else ()
    if results.baseline is None:
        return compare_run_with_history(
            results.run,
            config=config,
            base=base,
            place=place,
            accepted=accepted,
            confirm=results.confirm,
            confirm_baseline=own_baseline,
            merge=merge,
            reference=reference,
        )
    report = compare_runs(
        results.run,
        baseline=(results.baseline,),
        source=BaselineSource.PAIRED,
        config=config,
        accepted=accepted,
        confirm=results.confirm,
        confirm_baseline=own_baseline,
        merge=merge,
        reference=reference,
    )
    again = (run.cost for run in (results.confirm, results.confirm_baseline) if run is not None)
    report = replace(report, cost=sum(again, report.cost or NO_COST) or None)
    if base is None and merge is None and reference is None:
        report = with_innocence(report, results.run, base=results.baseline, config=config, place=place)
    return Comparison(run=results.run, report=report)


def judge_anew(
    claim: Report,
    results: JobResults,
    *,
    config: Config,
    base: str | None,
    place: HistoryPlace,
    accepted: Sequence[Acceptance] = (),
) -> Report:
    """Judge another job's results by our rules; `claim` is its own report. Differing rules are shown as a proposal.

    The commits that it names are not verified: the merged base decides only what it is compared with. A second
    measurement counts only if its base is that of the first.
    """
    merge = None
    reference = None
    if claim.reference and claim.base_commit:
        reference = ReferenceCommit(name=claim.reference, commit=claim.base_commit)
    elif claim.merge_commit and claim.base_commit and claim.target_commit:
        merge = Merge(commit=claim.merge_commit, base=claim.base_commit, head=claim.target_commit)

    def report_with(accepted: Sequence[Acceptance]) -> Report:
        report = compare_results(
            results,
            config=config.model_copy(update={"suite": claim.suite}),
            base=base,
            merge=merge,
            place=place,
            accepted=accepted,
            reference=reference,
        ).report
        return replace(report, diagnosis=claim.diagnosis, predictions=claim.predictions)

    report = report_with(accepted)
    other = results.confirm_baseline.commit if results.confirm_baseline and base else None
    if other not in (None, report.base_commit):
        first = replace_results(results, confirm=None, confirm_baseline=None)
        report = judge_anew(claim, first, config=config, base=base, place=place, accepted=accepted)
        return replace(report, notes=(because(Remark.OTHER_SECOND_BASE, commit=str(other)[:10]), *report.notes))
    # The measuring job has no acceptances: a verdict that differs by them alone is not a proposal.
    if results.is_joined or _agrees(claim, report) or (accepted and _agrees(claim, report_with(()))):
        return report
    proposal = because(
        Remark.PROPOSED_VERDICT,
        verdict=claim.conclusion.value.replace("_", " "),
        fails="fails" if claim.failed else "passes",
        effect=claim.settings.minimum_effect,
        fail=claim.settings.fail,
    )
    return replace(report, notes=(*report.notes, proposal))


def _agrees(claim: Report, report: Report) -> bool:
    return (claim.settings, claim.conclusion, claim.failed) == (report.settings, report.conclusion, report.failed)
