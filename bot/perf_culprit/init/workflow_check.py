"""The checks of `init --check` for outdated or unsafe parts of workflow files."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import yaml

from perf_culprit.config.reader import DEFAULT_PATH, load_config
from perf_culprit.config.settings import Config, SkipConfig
from perf_culprit.init.workflow_files import ACTIONS_LOCK, COMMENTS, RELOCK
from perf_culprit.release import COMMIT, IS_RELEASE

OURS: Final = "perf-culprit/perf-culprit"
PINNED: Final = re.compile(r"[0-9a-f]{40}")
# The permissions of our called workflows; GitHub starts no run whose caller grants less.
CALLED_WORKFLOWS: Final[Mapping[str, frozenset[str]]] = {
    "reusable-measure.yml": frozenset(),
    "reusable-bisect.yml": frozenset(),
    "reusable-backfill.yml": frozenset({"contents"}),
    "reusable-report.yml": frozenset({"actions", "checks", "contents", "issues", "pull-requests"}),
    "reusable-command.yml": frozenset({"actions", "checks", "contents", "issues", "pull-requests"}),
}
# The inputs that /perf-run passes to the measuring workflow.
ASKED: Final = ("request", "head", "base", "benchmarks", "rounds")
CALLED_PARTS: Final = 10  # reusable-measure.yml names each
MEASURES: Final = r"perf-culprit (measure|bisect)"
MEASURED_PART: Final = r"perf-culprit measure[^\n]*(\\\n[^\n]*)*--part"
_HIDDEN_EXPRESSION: Final = r"\$\{\{.*\b(secrets\.|github\.token\b)"
FOREIGN_EVENTS: Final = ("pull_request_target", COMMENTS, "workflow_run")


@dataclass(frozen=True, slots=True)
class WorkflowRemark:
    """`is_unsafe`: somebody could misuse it; otherwise it is wrong or out of date. `file`: "" is the checked one."""

    text: str
    is_unsafe: bool = False
    file: str = ""


def check_files(root: Path) -> tuple[WorkflowRemark, ...]:
    from perf_culprit.flows.doctor import recording_permissions

    remarks: list[WorkflowRemark] = []
    any_workflow = False
    settings = load_config(file) if (file := root / DEFAULT_PATH).is_file() else Config()
    scopes = recording_permissions(settings)
    paths = sorted((root / ".github" / "workflows").glob("*.y*ml"))
    is_asked = any("reusable-command.yml@" in path.read_text(encoding="utf-8", errors="replace") for path in paths)
    for path in paths:
        text = path.read_text(encoding="utf-8", errors="replace")
        name = path.relative_to(root).as_posix()
        if OURS not in text and "perf-culprit" not in text:
            continue
        any_workflow = True
        try:
            workflow = yaml.safe_load(text)
        except yaml.YAMLError as error:
            remarks.append(WorkflowRemark(f"is not YAML: {str(error).splitlines()[0]}", file=name))
            continue
        if isinstance(workflow, dict) and isinstance(workflow.get("jobs"), dict):
            of_file = [*_of_workflow(workflow, text), *_of_recording(workflow, scopes)]
            if is_asked and "reusable-measure.yml@" in text:
                of_file += _of_request(workflow)
            of_file += [*_of_lock(root, name, workflow), *_of_skip(workflow, settings.skip)]
            remarks += [replace(remark, file=remark.file or name) for remark in of_file]
    if not any_workflow:
        remarks.append(WorkflowRemark("no workflow uses perf-culprit: run perf-culprit init", file=".github/workflows"))
    bisect = settings.bisect
    if bisect.automatic and not (root / ".github" / "workflows" / bisect.workflow).is_file():
        text = f"`bisect.automatic` needs {bisect.workflow}, which is not there: perf-culprit init --split writes it"
        remarks.append(WorkflowRemark(text, file=DEFAULT_PATH.as_posix()))
    return tuple(remarks)


def _of_lock(root: Path, name: str, workflow: Mapping[Any, Any]) -> Iterator[WorkflowRemark]:
    """Check the lockfile, if there is one. It lists actions of steps, without their folder, but no called workflow."""
    if not (file := root / ACTIONS_LOCK).is_file():
        return
    try:
        lock = yaml.safe_load(file.read_text(encoding="utf-8", errors="replace"))
        workflows = {path: {str(action).lower() for action in actions} for path, actions in lock["workflows"].items()}
    except (yaml.YAMLError, AttributeError, LookupError, TypeError):
        yield WorkflowRemark(f"is no lockfile of actions: {RELOCK}", file=ACTIONS_LOCK)
        return
    steps = [step for job in workflow["jobs"].values() if isinstance(job, dict) for step in _steps(job)]
    used = {str(step["uses"]) for step in steps if not str(step.get("uses", ".")).startswith((".", "$", "docker:"))}
    if used and name not in workflows:
        yield WorkflowRemark(f"is not in {ACTIONS_LOCK}: {RELOCK}")
        return
    for action, _, ref in sorted(uses.partition("@") for uses in used):
        if f"{'/'.join(action.split('/')[:2])}@{ref}".lower() not in workflows.get(name, ()):
            yield WorkflowRemark(f"{action}@{ref} is not in {ACTIONS_LOCK}, so GitHub refuses the run: {RELOCK}")


def _of_recording(workflow: Mapping[Any, Any], scopes: Collection[str]) -> Iterator[WorkflowRemark]:
    """Check jobs that run our action themselves. Called workflows declare their own permissions."""
    for job, about in workflow["jobs"].items():
        granted = about.get("permissions") if isinstance(about, dict) else None
        if not isinstance(granted, dict) or granted.get("contents") != "write":
            continue
        runs = any(str(step.get("uses", "")).startswith(f"{OURS}@") for step in _steps(about))
        if runs and (missing := sorted(scope for scope in scopes if granted.get(scope) != "write")):
            lacking = ", ".join(f"`{scope}: write`" for scope in missing)
            yield WorkflowRemark(f"job {job} lacks {lacking} for `issues.when` and `bisect.automatic`")


def _of_skip(workflow: Mapping[Any, Any], skip: SkipConfig) -> Iterator[WorkflowRemark]:
    """Check that a job's `if` skips by what the configuration says: the check tells who did it by the latter."""
    for job, about in workflow["jobs"].items():
        condition = str(about.get("if")) if isinstance(about, dict) else ""
        for what, place, configured in (("title", "title", skip.title), ("label", r"labels\.\*\.name", skip.label)):
            for named in re.findall(rf"!contains\(github\.event\.pull_request\.{place}, '([^']*)'\)", condition):
                if named != configured:
                    value = "null" if configured is None else repr(configured)
                    text = f"job {job} skips by the {what} {named!r}, but `skip.{what}` of the configuration is {value}"
                    yield WorkflowRemark(f"{text}: write the same in both")


def _of_workflow(workflow: Mapping[Any, Any], text: str) -> Iterator[WorkflowRemark]:
    # YAML 1.1 reads the key `on` as true.
    events = workflow.get("on", workflow.get(True)) or ()
    foreign = [event for event in FOREIGN_EVENTS if event in events]
    if workflow.get("permissions") != {}:
        yield WorkflowRemark("write `permissions: {}` at the top and give each job its own", is_unsafe=True)
    if "git merge-base" in text and "origin/" in text:
        yield WorkflowRemark("finds its baseline by `git merge-base`, which fails on a push: leave --commits out")
    request = events.get("pull_request") if isinstance(events, dict) else None
    if (
        isinstance(request, dict)
        and {"paths", "paths-ignore"} & set(request)
        and re.search(r"reusable-measure|measure ", text)
    ):
        why = "a required check waits for ever where they leave the workflow out"
        yield WorkflowRemark(f"write `affected: suites` instead of `paths` of `pull_request`: {why}")
    yield from _of_base(workflow, events)
    for job, about in workflow["jobs"].items():
        if isinstance(about, dict):
            yield from _of_job(job, about, events=tuple(events), foreign=foreign)
            yield from _of_secrets(job, [workflow, about, *_steps(about, MEASURES)])


def _of_request(workflow: Mapping[Any, Any]) -> Iterator[WorkflowRemark]:
    events = workflow.get("on", workflow.get(True))
    dispatch = str(events.get("workflow_dispatch") if isinstance(events, dict) else None)
    lacking = [f"`on.workflow_dispatch.inputs.{name}`" for name in ASKED if f"'{name}'" not in dispatch]
    if "inputs.request" not in str(workflow.get("run-name")):
        lacking.append("`run-name: ${{ inputs.request }}`")
    if lacking:
        yield WorkflowRemark(f"/perf-run starts nothing without {', '.join(lacking)} (docs/workflows.md)")


def _of_parts(job: str, about: Mapping[str, Any]) -> Iterator[WorkflowRemark]:
    inputs = about.get("with") if "/reusable-measure.yml@" in str(about.get("uses")) else None
    parts = inputs.get("parts", 1) if isinstance(inputs, dict) else 1
    if parts not in range(1, CALLED_PARTS + 1) or (parts > 1 and not (inputs or {}).get("list")):
        text = f"job {job}: `parts` is from 1 to {CALLED_PARTS}, and from 2 on `list` says what they divide"
        yield WorkflowRemark(text)
    if _steps(about, MEASURED_PART) and "'fail-fast': False" not in str(about.get("strategy")):
        yield WorkflowRemark(f"job {job}: a part that fails ends the others: write `fail-fast: false`")


def _of_base(workflow: Mapping[Any, Any], events: Any) -> Iterator[WorkflowRemark]:
    """Check that bases have stored runs: without one, a comparison with stored runs fails no check."""
    steps = [
        step
        for job in workflow["jobs"].values()
        for step in (_steps(job) if isinstance(job, dict) else ())
        if str(step.get("uses", "")).startswith(f"{OURS}@")
    ]
    if "pull_request" not in events or not any("output-file-path" in (step.get("with") or {}) for step in steps):
        return
    if all("baseline-file-path" in (step.get("with") or {}) for step in steps):
        return
    why = "so that the base of every pull request has a run: without one no check fails"
    if "push" not in events:
        yield WorkflowRemark(f"add `push: {{branches: [main]}}` to `on`, {why}")
        return
    push = events.get("push") if isinstance(events, dict) else None
    if isinstance(push, dict) and {"paths", "paths-ignore"} & set(push):
        yield WorkflowRemark(f"leave `paths` of `push` out, {why}")
    group = workflow.get("concurrency")
    if group and "run_id" not in str(group) and "sha" not in str(group):
        yield WorkflowRemark(f"put `github.run_id` of pushes into the concurrency group, {why}")


def _of_job(
    job: str, about: Mapping[str, Any], *, events: tuple[str, ...], foreign: list[str]
) -> Iterator[WorkflowRemark]:
    steps = _steps(about)
    used = [str(entry["uses"]) for entry in (about, *steps) if "uses" in entry]
    measures = bool(_steps(about, MEASURES)) or any(
        re.search(r"/workflows/reusable-(measure|bisect|backfill)\.yml", uses) for uses in used
    )
    for uses in used:
        yield from _of_action(uses)
    yield from _of_parts(job, about)
    yield from _of_rights(job, used, about.get("permissions"))
    # The usual condition of one file: its other jobs wait for that event.
    met = [event for event in foreign if f"github.event_name != '{event}'" not in str(about.get("if"))]
    if measures and met:
        yield WorkflowRemark(f"job {job} measures on {met[0]}: foreign code gets a writing token", is_unsafe=True)
    if "pull_request" in events and _steps(about, MEASURES) and (held := _write_permissions(about.get("permissions"))):
        lost = ", ".join(f"`{scope}: write`" for scope in sorted(held))
        text = f"job {job} runs foreign code and has {lost}: perf-culprit init --force gives reports a job of their own"
        yield WorkflowRemark(text, is_unsafe=True)
    if measures and about.get("cache-mode") != "none":
        yield WorkflowRemark(f"job {job} runs foreign code: write `cache-mode: none`", is_unsafe=True)
    for step in steps:
        if str(step.get("uses", "")).startswith("actions/checkout@"):
            yield from _of_checkout(job, step.get("with") or {}, measures=measures)
    if "workflow_run" in events:
        if "conclusion == 'success'" in str(about.get("if", "")):
            yield WorkflowRemark(f"job {job} is silent about measurements that failed: leave its `if` out")
        group = about.get("concurrency")
        if isinstance(group, dict) and group.get("queue") != "max":
            yield WorkflowRemark(f"job {job}: a waiting report is dropped for the next one: write `queue: max`")


def _steps(job: Mapping[str, Any], pattern: str = "") -> list[dict[str, Any]]:
    """The steps with a matching command."""
    steps = [step for step in job.get("steps") or () if isinstance(step, dict)]
    return [step for step in steps if re.search(pattern, str(step.get("run", "")))]


def _of_secrets(job: str, levels: list[Mapping[Any, Any]]) -> Iterator[WorkflowRemark]:
    """Find secrets in the environment of workflow, job and measuring step; without such a step nothing reads them."""
    for level in levels if len(levels) > 2 else ():
        environment = level.get("env")
        for variable, value in environment.items() if isinstance(environment, dict) else ():
            if re.search(_HIDDEN_EXPRESSION, str(value)):
                text = f"job {job} measures where `{variable}` holds a secret: give it to the step that needs it"
                yield WorkflowRemark(text, is_unsafe=True)


def _of_rights(job: str, used: list[str], granted: Any) -> Iterator[WorkflowRemark]:
    held = _write_permissions(granted)
    for called, needed in CALLED_WORKFLOWS.items():
        if any(uses.startswith(f"{OURS}/.github/workflows/{called}@") for uses in used) and (missing := needed - held):
            lacking = ", ".join(f"`{scope}: write`" for scope in sorted(missing))
            yield WorkflowRemark(f"job {job} calls {called}, which GitHub refuses without {lacking}")


def _write_permissions(granted: Any) -> set[str]:
    return {scope for scope, level in granted.items() if level == "write"} if isinstance(granted, dict) else set()


def _of_checkout(job: str, inputs: Mapping[str, Any], *, measures: bool) -> Iterator[WorkflowRemark]:
    if inputs.get("persist-credentials") is not False:
        yield WorkflowRemark(f"job {job}: write `persist-credentials: false` at actions/checkout", is_unsafe=True)
    if measures and str(inputs.get("fetch-depth")) != "0":
        yield WorkflowRemark(f"job {job}: write `fetch-depth: 0` at actions/checkout")


def _of_action(uses: str) -> Iterator[WorkflowRemark]:
    if uses.startswith("./"):
        return
    action, _, commit = uses.partition("@")
    if not PINNED.fullmatch(commit):
        yield WorkflowRemark(f"{action} is not pinned: name a commit, in full", is_unsafe=True)
    elif action.startswith(OURS) and set(commit) == {"0"}:
        yield WorkflowRemark(f"{action}: put the commit of the release that you reviewed in place of the zeros")
    elif action.startswith(OURS) and IS_RELEASE and commit != COMMIT:
        yield WorkflowRemark(f"{action} is not of this release: pin {COMMIT}")
