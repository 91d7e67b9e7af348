"""The workflow files that `init` writes."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from perf_culprit import __version__
from perf_culprit.init.filled_template import filled, yaml_text
from perf_culprit.release import COMMIT

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
