"""Check runs, workflow runs, artifacts and dispatches."""

from typing import Any

from tests.support.fake_github.call import Answer, ApiError, Call, item_of
from tests.support.fake_github.pages import Listing
from tests.support.fake_github.state import Artifact, CheckRun, WorkflowRun

MAXIMUM_DISPATCH_INPUTS = 25


def create_check_run(call: Call) -> Answer:
    if call.body["head_sha"] == "0" * 40:
        raise ApiError(422, f"No commit found for SHA: {call.body['head_sha']}")
    check = CheckRun(id=next(call.state.ids), name=call.body["name"], head_sha=call.body["head_sha"])
    write_check_run(check, call.body)
    call.state.check_runs[check.id] = check
    return Answer(201, call.shapes.check_run(check))


def update_check_run(call: Call) -> Answer:
    check = item_of(call.state.check_runs, call.number("check_run_id"))
    write_check_run(check, call.body)
    return Answer(200, call.shapes.check_run(check))


def write_check_run(check: CheckRun, body: dict[str, Any]) -> None:
    output = dict(body.get("output") or {})
    annotations = output.pop("annotations", [])
    for name in ("status", "conclusion", "external_id", "details_url"):
        if name in body:
            setattr(check, name, body[name])
    if body.get("conclusion"):
        check.status = "completed"
    check.output |= output
    check.annotations += annotations


def get_check_run(call: Call) -> Answer:
    return Answer(200, call.shapes.check_run(item_of(call.state.check_runs, call.number("check_run_id"))))


def list_check_runs(call: Call) -> Answer:
    checks = [
        check
        for check in call.state.check_runs.values()
        if check.head_sha == call.path["ref"] and call.query.get("check_name", check.name) == check.name
    ]
    if call.query.get("filter", "latest") == "latest":
        checks = list({check.name: check for check in checks}.values())
    return Answer(200, Listing([call.shapes.check_run(check) for check in checks], "check_runs"))


def list_runs(call: Call) -> Answer:
    return run_listing(call, list(call.state.runs.values()))


def list_runs_of_workflow(call: Call) -> Answer:
    workflow = call.path["workflow_id"]
    runs = [run for run in call.state.runs.values() if run.workflow.rsplit("/", 1)[-1] == workflow]
    if not runs:
        raise ApiError(404, "Not Found")
    return run_listing(call, runs)


def run_listing(call: Call, runs: list[WorkflowRun]) -> Answer:
    """List the matching runs, newest first, as GitHub does."""
    kept = [
        run
        for run in sorted(runs, key=lambda run: -run.id)
        if call.query.get("head_sha", run.head_sha) == run.head_sha and call.query.get("event", run.event) == run.event
    ]
    return Answer(200, Listing([call.shapes.workflow_run(run) for run in kept], "workflow_runs"))


def cancel_run(call: Call) -> Answer:
    run = item_of(call.state.runs, call.number("run_id"))
    if run.status == "completed":
        raise ApiError(409, "Cannot cancel a workflow run that is completed.")
    run.status, run.conclusion = "completed", "cancelled"
    return Answer(202, {})


def rerun(call: Call) -> Answer:
    run = item_of(call.state.runs, call.number("run_id"))
    if run.status != "completed":
        raise ApiError(403, "This workflow is already running")
    run.status, run.conclusion, run.attempt = "queued", None, run.attempt + 1
    return Answer(201, {})


def rerun_failed_jobs(call: Call) -> Answer:
    if item_of(call.state.runs, call.number("run_id")).conclusion == "success":
        raise ApiError(403, "This workflow run cannot be retried: no failed jobs")
    return rerun(call)


def get_run(call: Call) -> Answer:
    return Answer(200, call.shapes.workflow_run(item_of(call.state.runs, call.number("run_id"))))


def list_run_artifacts(call: Call) -> Answer:
    run_id = call.number("run_id")
    return artifact_listing(call, [a for a in call.state.artifacts.values() if a.run_id == run_id])


def list_artifacts(call: Call) -> Answer:
    return artifact_listing(call, list(call.state.artifacts.values()))


def artifact_listing(call: Call, artifacts: list[Artifact]) -> Answer:
    named = [a for a in artifacts if call.query.get("name", a.name) == a.name]
    return Answer(200, Listing([call.shapes.artifact(artifact) for artifact in named], "artifacts"))


def get_artifact(call: Call) -> Answer:
    return Answer(200, call.shapes.artifact(item_of(call.state.artifacts, call.number("artifact_id"))))


def download_artifact(call: Call) -> Answer:
    artifact = item_of(call.state.artifacts, call.number("artifact_id"))
    if artifact.expired:
        raise ApiError(410, "Artifact has expired")
    return Answer(
        302, None, {"location": artifact.redirect or f"{call.store_url}/{artifact.id}/archive.zip?sig=made-up"}
    )


def run_name(inputs: dict[str, str]) -> str:
    """The `run-name` of our bisect workflow: `perf-bisect ${{ inputs.bisection }} ${{ inputs.dispatch }}`.

    The measuring workflow uses `${{ inputs.request }}`.
    """
    if "head" in inputs:
        return inputs["request"]
    return f"perf-bisect {inputs['bisection']} {inputs['dispatch']}" if "dispatch" in inputs else "Benchmarks"


def dispatch_workflow(call: Call) -> Answer:
    if len(call.body.get("inputs", {})) > MAXIMUM_DISPATCH_INPUTS:
        raise ApiError(422, f"you may only define up to {MAXIMUM_DISPATCH_INPUTS} inputs")
    if call.body["ref"].startswith("perf-culprit-doctor/"):
        raise ApiError(422, f"No ref found for: {call.body['ref']}")
    run_id, workflow = next(call.state.ids), call.path["workflow_id"]
    call.state.dispatches.append({"workflow": workflow, "run_id": run_id, **call.body})
    call.state.runs[run_id] = WorkflowRun(
        id=run_id,
        head_sha=call.git("rev-parse", "--verify", call.body["ref"]).strip() if call.git_dir else "0" * 40,
        head_branch=call.body["ref"],
        event="workflow_dispatch",
        conclusion=None,
        workflow=f".github/workflows/{workflow}",
        status="queued",
        title=run_name(call.body.get("inputs", {})),
    )
    if not call.body.get("return_run_details"):
        return Answer(204)
    url, html = call.shapes.repository_url, f"{call.shapes.api_url}/{call.shapes.repository}"
    details = {"run_url": f"{url}/actions/runs/{run_id}", "html_url": f"{html}/actions/runs/{run_id}"}
    return Answer(200, {"workflow_run_id": run_id, **details})
