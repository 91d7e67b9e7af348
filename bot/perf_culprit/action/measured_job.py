"""The results of this job's measurement: collected, compared with the right baseline, and written as files."""

from dataclasses import replace

from msgspec import structs

from perf_culprit import git
from perf_culprit.action.default_branch import accepted_since, merged_acceptances
from perf_culprit.action.job import ActionJob
from perf_culprit.errors import BotError, InfrastructureError, UsageError
from perf_culprit.files import replace_file
from perf_culprit.flows.compare import Comparison, with_changed_files
from perf_culprit.flows.compared_commits import Merge, ReferenceCommit, find_reference
from perf_culprit.github.runner_files import LogLevel
from perf_culprit.model.finding import Acceptance
from perf_culprit.model.reason import Remark, because
from perf_culprit.model.run import Run
from perf_culprit.say.reason_text import sentence


def compare_measured(job: ActionJob) -> Comparison:
    """Collect and compare, paired if this job measured the base too, else with the history. Write the files."""
    from perf_culprit.action.jobs.job_results import JobResults, compare_results, result_files

    context, inputs = job.context, job.inputs
    merge = _merge(job)
    commit = merge.commit if merge else _named_commit(job)
    reference = find_reference(context.workspace, inputs.reference, target=commit) if inputs.reference else None
    with job.log.fold("perf-culprit: collect and compare"):
        run = _collect(job, commit)
        job.log.say(f"{len(run.benchmarks)} measurements for {commit}")
        results = JobResults(
            run=run,
            baseline=_baseline(job, inputs.baseline_files),
            confirm=_second_run(job, commit),
            confirm_baseline=_baseline(job, inputs.confirm_baseline_files),
        )
        compared = compare_results(
            results,
            config=inputs.config,
            base=context.base_ref,
            merge=merge,
            place=replace(job.history, repository=context.workspace),
            accepted=_acceptances(job, reference, merge.head if merge else commit),
            reference=reference,
        )
    if merge is None:
        compared = _with_doubts(job, compared)
    report = with_changed_files(compared.report, context.workspace, config=inputs.config)
    compared = replace(compared, report=report)
    compared = _with_predictions(job, _with_diagnoses(job, compared))
    directory = context.workspace / inputs.report_directory
    for name, data in result_files(compared, results).items():
        replace_file(directory / name, data)
    return compared


def _acceptances(job: ActionJob, reference: ReferenceCommit | None, commit: str) -> tuple[Acceptance, ...]:
    """The acceptances since the reference, or those of this commit."""
    if reference is None or not job.inputs.baseline_files:
        return merged_acceptances(job, commit)
    return accepted_since(job, reference.commit, commit, suite=job.inputs.config.suite)


def _merge(job: ActionJob) -> Merge | None:
    """Find GitHub's merge of the head into the current base, which actions/checkout uses for a pull request by default.

    Its numbers include what happened to the base meanwhile, so they are judged against that base.
    """
    from perf_culprit.flows.compared_commits import merge_of

    context = job.context
    if not context.is_pull_request or job.inputs.reference:
        return None
    try:
        merge = merge_of(context.workspace, revision=job.inputs.ref or "HEAD", head=context.head_commit)
    except InfrastructureError:
        return None  # no checkout: a job that downloads results needs none
    if merge is not None:
        job.log.say(f"measured: {merge.commit}, GitHub's merge of {merge.head} into {merge.base}")
    return merge


def _with_doubts(job: ActionJob, compared: Comparison) -> Comparison:
    """Note in the report if the checkout is not the pull request, so that its numbers may belong to another commit."""
    context = job.context
    if not context.is_pull_request or job.inputs.ref:
        return compared
    try:
        checked_out = git.find_commit(context.workspace, "HEAD")
    except InfrastructureError:
        return compared
    if checked_out in (None, context.head_commit):
        return compared
    doubt = because(Remark.OTHER_COMMIT, commit=str(checked_out)[:10])
    job.log.tell(LogLevel.WARNING, sentence(doubt))
    return replace(compared, report=structs.replace(compared.report, notes=(*compared.report.notes, doubt)))


def _named_commit(job: ActionJob) -> str:
    return git.resolve_commit(job.context.workspace, job.inputs.ref) if job.inputs.ref else job.context.head_commit


def _collect(job: ActionJob, commit: str) -> Run:
    from perf_culprit.action.jobs.stored_results import fetch_run
    from perf_culprit.flows.compare import collect_run
    from perf_culprit.github.job_context import connect_host

    inputs, context = job.inputs, job.context
    if inputs.run_id is not None:
        return fetch_run(
            connect_host(job.destination),
            run_id=inputs.run_id,
            sha=context.head_commit,
            artifact=inputs.artifact_name,
            tool=inputs.tool,
            config=inputs.config,
            commit=commit,
        )
    if not inputs.output_files:
        raise UsageError(
            "no result files were named",
            place="input output-file-path",
            next_step="write the path of the file that your benchmark wrote, or run-id to read a run's artifacts",
        )
    paired = bool(inputs.baseline_files)
    return collect_run(inputs.output_files, config=inputs.config, tool=inputs.tool, commit=commit, paired=paired)


def _baseline(job: ActionJob, files: tuple[str, ...]) -> Run | None:
    """Executions of the base, measured in this job."""
    from perf_culprit.action.jobs.job_results import collect_baseline

    return collect_baseline(files, config=job.inputs.config, tool=job.inputs.tool) if files else None


def _second_run(job: ActionJob, commit: str) -> Run | None:
    """Read the second measurement of benchmarks that an earlier step flagged. It is judged, but never stored."""
    from perf_culprit.flows.compare import collect_run

    files = job.inputs.confirm_files
    if not files:
        return None
    paired = bool(job.inputs.baseline_files or job.inputs.confirm_baseline_files)
    return collect_run(files, config=job.inputs.config, tool=job.inputs.tool, commit=commit, paired=paired)


def _with_diagnoses(job: ActionJob, compared: Comparison) -> Comparison:
    """Add the named diagnoses. One that cannot be read is a warning and does not stop the verdict."""
    from perf_culprit.flows.diagnose import with_diagnosis

    report = compared.report
    for name in job.inputs.diagnosis_files:
        file = job.context.workspace / name
        if not file.exists():  # nothing got or looks worse, so `measure --trace auto` wrote none
            job.log.say(f"no diagnosis: {name} is not there")
            continue
        try:
            report = with_diagnosis(report, str(file))
        except BotError as error:
            job.log.tell(LogLevel.WARNING, f"no diagnosis: {error}")
    return replace(compared, report=report)


def _with_predictions(job: ActionJob, compared: Comparison) -> Comparison:
    """Add predictions from the model files that a pull request changes. A failure does not stop the verdict."""
    from perf_culprit.action.jobs.predictions import changed_files, predict

    report, config = compared.report, job.inputs.config
    head = report.merge_commit or report.target_commit
    if not (job.context.is_pull_request and config.simulate and report.base_commit and head):
        return compared
    workspace = job.context.workspace
    with job.log.fold("perf-culprit: simulate changed models"):
        try:
            models = changed_files(workspace, base=report.base_commit, head=head, patterns=config.simulate)
            if not models:
                return compared
            predictions = predict(workspace, models, config=config, tell=job.log.say)
        except BotError as error:
            job.log.tell(LogLevel.WARNING, f"no prediction: {error}")
            return compared
    return replace(compared, report=structs.replace(report, predictions=predictions))
