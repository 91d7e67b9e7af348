"""The workflow files that `init` writes, and the checks of `init --check` for outdated or unsafe parts."""

import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import yaml

from perf_culprit import __version__
from perf_culprit.config.reader import DEFAULT_PATH, load_config
from perf_culprit.config.settings import Config, SkipConfig
from perf_culprit.init.filled_template import filled, yaml_text
from perf_culprit.release import COMMIT, IS_RELEASE

JOB_MINUTES: Final = 15
_MEASURE_WITH: Final = "--until-decided --trace auto"
# A job has this much more for its set-up and builds.
SET_UP_MINUTES: Final = 30
USUAL_NAME: Final = "perf"
TRIES: Final = "perf-try.yml"
SPLIT: Final = ("perf.yml", "perf-report.yml", "perf-command.yml", "perf-bisect.yml")
BACKFILL: Final = ("perf-backfill.yml",)
JOBS: Final = "\njobs:\n"
COMMENTS: Final = "issue_comment"
OF_COMMENTS: Final = re.compile(rf"  {COMMENTS}:.*\n    types:.*\n")
CONFIGURATION: Final = ".github/perf-culprit.yml"
WORKFLOWS: Final = ".github/workflows"
# The lockfile of actions, in some repositories; GitHub runs a locked workflow with the commits listed there.
ACTIONS_LOCK: Final = f"{WORKFLOWS}/actions.lock"
RELOCK: Final = "run `gh actions-lock` and commit it"
SCHEMA: Final = "https://raw.githubusercontent.com/perf-culprit/perf-culprit/main/docs/config.schema.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """The choices for the files. With a commit `since`, old commits are measured, and nothing else is written.

    `steps` and `services` come from the existing workflow. Steps are foreign code, so they never enter a job that may
    write. `--try` runs `others` if `run` gives no result; `suite` names one of several. `needs` is what a trial lacked.
    """

    run: str
    setup: str
    build: str = ""
    format: str = ""
    others: tuple[str, ...] = ()
    suite: str = ""
    steps: tuple[Mapping[str, Any], ...] = ()
    services: Mapping[str, Any] = field(default_factory=dict)
    branch: str = "main"
    split: bool = False
    since: str = ""
    parts: int = 1
    list_command: str = ""
    minutes: int = JOB_MINUTES
    timeout: int = 0
    needs: tuple[str, ...] = ()

    @property
    def has_own_job(self) -> bool:
        """Whether the measuring job stands in the file. The split calls one, which takes no steps and services."""
        return not self.split or (self.parts == 1 and bool(self.steps or self.services))


def new_files(choice: Choice, *more: Choice, name: str = USUAL_NAME) -> dict[str, str]:
    """Return content by path in the repository. Further suites get their own jobs next to the first one's.

    `name`: of the workflow that measures.
    """
    if choice.since:
        return {f"{WORKFLOWS}/{file}": filled(_template(f"backfill/{file}"), _values(choice)) for file in BACKFILL}
    form, others = ("split", SPLIT[1:]) if choice.split else ("one-file", ())
    values = _values(choice) | _workflow_values(name)
    written = {f"{WORKFLOWS}/{file}": filled(_template(f"{form}/{file}"), values) for file in others}
    return {
        f"{WORKFLOWS}/{name}.yml": _measuring([choice, *more], form, name),
        **written,
        CONFIGURATION: _configuration(choice),
    }


def _workflow_values(name: str) -> dict[str, Any]:
    """The values of the templates' places that name the measuring workflow. Ours look for perf.yml by themselves."""
    file = None if name == USUAL_NAME else f"{name}.yml"
    inputs = {} if file is None else {"measure-workflow": file}
    return {"workflow": name, "workflows": [name], "measure_workflow": file, "command_inputs": inputs}


def workflow_name(root: Path) -> str:
    """Return the name of the measuring workflow: another one if the repository has a `perf.yml` that is not ours."""
    path = root / WORKFLOWS / f"{USUAL_NAME}.yml"
    is_foreign = path.is_file() and "perf-culprit" not in path.read_text("utf-8", "replace")
    return "perf-culprit" if is_foreign else USUAL_NAME


def draft_files(choice: Choice) -> dict[str, str]:
    """Return the workflow of a draft pull request, which tries the proposals on GitHub before all else is written."""
    values = _values(choice) | {"try": f"perf-culprit init --try --yes --minutes {choice.minutes} 2>&1 | tee found.txt"}
    return {f"{WORKFLOWS}/{TRIES}": filled(_template(f"try/{TRIES}"), values)}


def _measuring(choices: Sequence[Choice], form: str, name: str) -> str:
    """The workflow with a measuring job for each choice; in one file the jobs that report and obey follow."""
    # /perf-run passes its inputs to the called workflow only.
    top = "one-file" if any(choice.has_own_job for choice in choices) else form
    measuring = [
        filled(
            _template("measure-job.yml" if choice.has_own_job else f"{form}/perf.yml").partition(JOBS)[2],
            _values(choice),
        )
        for choice in choices
    ]
    untried = [f"  # not tried: needs {', '.join(choice.needs)}\n" if choice.needs else "" for choice in choices]
    measuring = [note + job for note, job in zip(untried, measuring, strict=True)]
    values = _values(choices[0]) | _workflow_values(name) | {"jobs": [_values(choice)["job"] for choice in choices]}
    head, _, others = _template(f"{top}/perf.yml").partition(JOBS)
    if choices[0].split:
        head = OF_COMMENTS.sub("", head)  # perf-command.yml waits for them
        return filled(head, values) + JOBS + "".join(measuring)
    return filled(head, values) + JOBS + "".join([*measuring, filled(others, values)])


def _template(name: str) -> str:
    return (files("perf_culprit.init") / "templates" / name).read_text("utf-8").replace("@COMMIT@", COMMIT)


def _values(choice: Choice) -> dict[str, Any]:
    """The values of the templates' places."""
    suite, job = choice.suite, "measure"
    options = {"--run": choice.run, "--build": choice.build, "--tool": choice.format, "--suite": suite}
    flags = " ".join(f"{name} {shlex.quote(value)}" for name, value in options.items() if value or name == "--run")
    limit = f" --timeout {choice.timeout}" * bool(choice.timeout)
    return {
        "branches": [choice.branch],
        "job": f"{job}-{suite}" if suite else job,
        "title": f"{job} ({suite})" if suite else job,
        "steps": [dict(step) for step in choice.steps],
        "services": dict(choice.services),
        "install": _install(choice),
        "measure": f"perf-culprit measure {flags} {_MEASURE_WITH}{limit} --minutes {choice.minutes} --output measured",
        "timeout": choice.minutes + SET_UP_MINUTES + choice.timeout // 30,
        # A called job measures for three quarters of it; its own default is an hour.
        "called_timeout": None if choice.minutes == JOB_MINUTES else -(-choice.minutes * 4 // 3),
        "artifact": f"perf-culprit-report-{suite}" if suite else "perf-culprit-report",
        "setup": choice.setup,
        "since": choice.since,
        "run": choice.run,
        "build": choice.build or None,
        "tool": choice.format or None,
        "suite": suite or None,
        "parts": choice.parts if choice.parts > 1 else None,
        "list": choice.list_command or None,
    }


def _install(choice: Choice) -> str:
    own = f"perf-culprit=={__version__}"
    if choice.setup.startswith("pip install ") and not re.search(r"[&;\n]", choice.setup) and not choice.steps:
        return f"{choice.setup} {own}"
    # A step may set up a Python for the benchmarks that is too old for us.
    ours = f"pipx install {own}" if choice.steps else f"pip install {own}"
    return f"{choice.setup} && {ours}" if choice.setup else ours


def _configuration(choice: Choice) -> str:
    lines = [f"# yaml-language-server: $schema={SCHEMA}", "minimum-effect: 5%", "levels: {warn: 5%, fail: 10%}"]
    if choice.split:
        # /perf-bisect's command is on the default branch, where no pull request can change it.
        search = {"run": choice.run} | ({"build": choice.build} if choice.build else {})
        lines.append(yaml_text({"bisect": search}).rstrip("\n"))
    return "\n".join(lines) + "\n"


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


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkflowRemark:
    """`is_unsafe`: somebody could misuse it; otherwise it is wrong or out of date."""

    file: str
    text: str
    is_unsafe: bool = False


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
            remarks.append(WorkflowRemark(file=name, text=f"is not YAML: {str(error).splitlines()[0]}"))
            continue
        if isinstance(workflow, dict) and isinstance(workflow.get("jobs"), dict):
            remarks += [*_of_workflow(name, workflow, text), *_of_recording(name, workflow, scopes)]
            if is_asked and "reusable-measure.yml@" in text:
                remarks += _of_request(name, workflow)
            remarks += [*_of_lock(root, name, workflow), *_of_skip(name, workflow, settings.skip)]
    if not any_workflow:
        remarks.append(
            WorkflowRemark(file=".github/workflows", text="no workflow uses perf-culprit: run perf-culprit init")
        )
    bisect = settings.bisect
    if bisect.automatic and not (root / ".github" / "workflows" / bisect.workflow).is_file():
        text = f"`bisect.automatic` needs {bisect.workflow}, which is not there: perf-culprit init --split writes it"
        remarks.append(WorkflowRemark(file=DEFAULT_PATH.as_posix(), text=text))
    return tuple(remarks)


def _of_lock(root: Path, name: str, workflow: Mapping[Any, Any]) -> Iterator[WorkflowRemark]:
    """Check the lockfile, if there is one. It lists actions of steps, without their folder, but no called workflow."""
    if not (file := root / ACTIONS_LOCK).is_file():
        return
    try:
        lock = yaml.safe_load(file.read_text(encoding="utf-8", errors="replace"))
        workflows = {path: {str(action).lower() for action in actions} for path, actions in lock["workflows"].items()}
    except (yaml.YAMLError, AttributeError, LookupError, TypeError):
        yield WorkflowRemark(file=ACTIONS_LOCK, text=f"is no lockfile of actions: {RELOCK}")
        return
    steps = [step for job in workflow["jobs"].values() if isinstance(job, dict) for step in _steps(job)]
    used = {str(step["uses"]) for step in steps if not str(step.get("uses", ".")).startswith((".", "$", "docker:"))}
    if used and name not in workflows:
        yield WorkflowRemark(file=name, text=f"is not in {ACTIONS_LOCK}: {RELOCK}")
        return
    for action, _, ref in sorted(uses.partition("@") for uses in used):
        if f"{'/'.join(action.split('/')[:2])}@{ref}".lower() not in workflows.get(name, ()):
            yield WorkflowRemark(
                file=name, text=f"{action}@{ref} is not in {ACTIONS_LOCK}, so GitHub refuses the run: {RELOCK}"
            )


def _of_recording(name: str, workflow: Mapping[Any, Any], scopes: Collection[str]) -> Iterator[WorkflowRemark]:
    """Check jobs that run our action themselves. Called workflows declare their own permissions."""
    for job, about in workflow["jobs"].items():
        granted = about.get("permissions") if isinstance(about, dict) else None
        if not isinstance(granted, dict) or granted.get("contents") != "write":
            continue
        runs = any(str(step.get("uses", "")).startswith(f"{OURS}@") for step in _steps(about))
        if runs and (missing := sorted(scope for scope in scopes if granted.get(scope) != "write")):
            lacking = ", ".join(f"`{scope}: write`" for scope in missing)
            yield WorkflowRemark(file=name, text=f"job {job} lacks {lacking} for `issues.when` and `bisect.automatic`")


def _of_skip(name: str, workflow: Mapping[Any, Any], skip: SkipConfig) -> Iterator[WorkflowRemark]:
    """Check that a job's `if` skips by what the configuration says: the check tells who did it by the latter."""
    for job, about in workflow["jobs"].items():
        condition = str(about.get("if")) if isinstance(about, dict) else ""
        for what, place, configured in (("title", "title", skip.title), ("label", r"labels\.\*\.name", skip.label)):
            for named in re.findall(rf"!contains\(github\.event\.pull_request\.{place}, '([^']*)'\)", condition):
                if named != configured:
                    value = "null" if configured is None else repr(configured)
                    text = f"job {job} skips by the {what} {named!r}, but `skip.{what}` of the configuration is {value}"
                    yield WorkflowRemark(file=name, text=f"{text}: write the same in both")


def _of_workflow(name: str, workflow: Mapping[Any, Any], text: str) -> Iterator[WorkflowRemark]:
    # YAML 1.1 reads the key `on` as true.
    events = workflow.get("on", workflow.get(True)) or ()
    foreign = [event for event in FOREIGN_EVENTS if event in events]
    if workflow.get("permissions") != {}:
        yield WorkflowRemark(
            file=name, text="write `permissions: {}` at the top and give each job its own", is_unsafe=True
        )
    if "git merge-base" in text and "origin/" in text:
        yield WorkflowRemark(
            file=name, text="finds its baseline by `git merge-base`, which fails on a push: leave --commits out"
        )
    request = events.get("pull_request") if isinstance(events, dict) else None
    if (
        isinstance(request, dict)
        and {"paths", "paths-ignore"} & set(request)
        and re.search(r"reusable-measure|measure ", text)
    ):
        why = "a required check waits for ever where they leave the workflow out"
        yield WorkflowRemark(file=name, text=f"write `affected: suites` instead of `paths` of `pull_request`: {why}")
    yield from _of_base(name, workflow, events)
    for job, about in workflow["jobs"].items():
        if isinstance(about, dict):
            yield from _of_job(name, job, about, events=tuple(events), foreign=foreign)
            yield from _of_secrets(name, job, [workflow, about, *_steps(about, MEASURES)])


def _of_request(name: str, workflow: Mapping[Any, Any]) -> Iterator[WorkflowRemark]:
    events = workflow.get("on", workflow.get(True))
    dispatch = str(events.get("workflow_dispatch") if isinstance(events, dict) else None)
    lacking = [f"`on.workflow_dispatch.inputs.{name}`" for name in ASKED if f"'{name}'" not in dispatch]
    if "inputs.request" not in str(workflow.get("run-name")):
        lacking.append("`run-name: ${{ inputs.request }}`")
    if lacking:
        yield WorkflowRemark(
            file=name, text=f"/perf-run starts nothing without {', '.join(lacking)} (docs/workflows.md)"
        )


def _of_parts(name: str, job: str, about: Mapping[str, Any]) -> Iterator[WorkflowRemark]:
    inputs = about.get("with") if "/reusable-measure.yml@" in str(about.get("uses")) else None
    parts = inputs.get("parts", 1) if isinstance(inputs, dict) else 1
    if parts not in range(1, CALLED_PARTS + 1) or (parts > 1 and not (inputs or {}).get("list")):
        text = f"job {job}: `parts` is from 1 to {CALLED_PARTS}, and from 2 on `list` says what they divide"
        yield WorkflowRemark(file=name, text=text)
    if _steps(about, MEASURED_PART) and "'fail-fast': False" not in str(about.get("strategy")):
        yield WorkflowRemark(file=name, text=f"job {job}: a part that fails ends the others: write `fail-fast: false`")


def _of_base(name: str, workflow: Mapping[Any, Any], events: Any) -> Iterator[WorkflowRemark]:
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
        yield WorkflowRemark(file=name, text=f"add `push: {{branches: [main]}}` to `on`, {why}")
        return
    push = events.get("push") if isinstance(events, dict) else None
    if isinstance(push, dict) and {"paths", "paths-ignore"} & set(push):
        yield WorkflowRemark(file=name, text=f"leave `paths` of `push` out, {why}")
    group = workflow.get("concurrency")
    if group and "run_id" not in str(group) and "sha" not in str(group):
        yield WorkflowRemark(file=name, text=f"put `github.run_id` of pushes into the concurrency group, {why}")


def _of_job(
    name: str, job: str, about: Mapping[str, Any], *, events: tuple[str, ...], foreign: list[str]
) -> Iterator[WorkflowRemark]:
    steps = _steps(about)
    used = [str(entry["uses"]) for entry in (about, *steps) if "uses" in entry]
    measures = bool(_steps(about, MEASURES)) or any(
        re.search(r"/workflows/reusable-(measure|bisect|backfill)\.yml", uses) for uses in used
    )
    for uses in used:
        yield from _of_action(name, uses)
    yield from _of_parts(name, job, about)
    yield from _of_rights(name, job, used, about.get("permissions"))
    # The usual condition of one file: its other jobs wait for that event.
    met = [event for event in foreign if f"github.event_name != '{event}'" not in str(about.get("if"))]
    if measures and met:
        yield WorkflowRemark(
            file=name, text=f"job {job} measures on {met[0]}: foreign code gets a writing token", is_unsafe=True
        )
    if "pull_request" in events and _steps(about, MEASURES) and (held := _write_permissions(about.get("permissions"))):
        lost = ", ".join(f"`{scope}: write`" for scope in sorted(held))
        text = f"job {job} runs foreign code and has {lost}: perf-culprit init --force gives reports a job of their own"
        yield WorkflowRemark(file=name, text=text, is_unsafe=True)
    if measures and about.get("cache-mode") != "none":
        yield WorkflowRemark(file=name, text=f"job {job} runs foreign code: write `cache-mode: none`", is_unsafe=True)
    for step in steps:
        if str(step.get("uses", "")).startswith("actions/checkout@"):
            yield from _of_checkout(name, job, step.get("with") or {}, measures=measures)
    if "workflow_run" in events:
        if "conclusion == 'success'" in str(about.get("if", "")):
            yield WorkflowRemark(
                file=name, text=f"job {job} is silent about measurements that failed: leave its `if` out"
            )
        group = about.get("concurrency")
        if isinstance(group, dict) and group.get("queue") != "max":
            yield WorkflowRemark(
                file=name, text=f"job {job}: a waiting report is dropped for the next one: write `queue: max`"
            )


def _steps(job: Mapping[str, Any], pattern: str = "") -> list[dict[str, Any]]:
    """The steps with a matching command."""
    steps = [step for step in job.get("steps") or () if isinstance(step, dict)]
    return [step for step in steps if re.search(pattern, str(step.get("run", "")))]


def _of_secrets(name: str, job: str, levels: list[Mapping[Any, Any]]) -> Iterator[WorkflowRemark]:
    """Find secrets in the environment of workflow, job and measuring step; without such a step nothing reads them."""
    for level in levels if len(levels) > 2 else ():
        environment = level.get("env")
        for variable, value in environment.items() if isinstance(environment, dict) else ():
            if re.search(_HIDDEN_EXPRESSION, str(value)):
                text = f"job {job} measures where `{variable}` holds a secret: give it to the step that needs it"
                yield WorkflowRemark(file=name, text=text, is_unsafe=True)


def _of_rights(name: str, job: str, used: list[str], granted: Any) -> Iterator[WorkflowRemark]:
    held = _write_permissions(granted)
    for called, needed in CALLED_WORKFLOWS.items():
        if any(uses.startswith(f"{OURS}/.github/workflows/{called}@") for uses in used) and (missing := needed - held):
            lacking = ", ".join(f"`{scope}: write`" for scope in sorted(missing))
            yield WorkflowRemark(file=name, text=f"job {job} calls {called}, which GitHub refuses without {lacking}")


def _write_permissions(granted: Any) -> set[str]:
    return {scope for scope, level in granted.items() if level == "write"} if isinstance(granted, dict) else set()


def _of_checkout(name: str, job: str, inputs: Mapping[str, Any], *, measures: bool) -> Iterator[WorkflowRemark]:
    if inputs.get("persist-credentials") is not False:
        text = f"job {job}: write `persist-credentials: false` at actions/checkout"
        yield WorkflowRemark(file=name, text=text, is_unsafe=True)
    if measures and str(inputs.get("fetch-depth")) != "0":
        yield WorkflowRemark(file=name, text=f"job {job}: write `fetch-depth: 0` at actions/checkout")


def _of_action(name: str, uses: str) -> Iterator[WorkflowRemark]:
    if uses.startswith("./"):
        return
    action, _, commit = uses.partition("@")
    if not PINNED.fullmatch(commit):
        yield WorkflowRemark(file=name, text=f"{action} is not pinned: name a commit, in full", is_unsafe=True)
    elif action.startswith(OURS) and set(commit) == {"0"}:
        yield WorkflowRemark(
            file=name, text=f"{action}: put the commit of the release that you reviewed in place of the zeros"
        )
    elif action.startswith(OURS) and IS_RELEASE and commit != COMMIT:
        yield WorkflowRemark(file=name, text=f"{action} is not of this release: pin {COMMIT}")
