"""The preparation before the measuring step of a job: tools of the machine, and builds of the checkout."""

import re
import shlex
from dataclasses import dataclass, field, replace
from typing import Any, Final

from perf_culprit.init.command_lines import CONTROL, NOISE, logical_lines, measuring_tool
from perf_culprit.init.workflow_jobs import WorkflowJob, WorkflowStep

# Actions that set nothing up, and those among them without which something may be missing.
IGNORED_ACTIONS: Final = re.compile(
    r"checkout|/cache|-cache\b|artifact|harden-runner|github-script|paths-filter|disk|unwanted|qemu|\bauth\b|login|credential"
    r"|benchmark|codspeed|bencher|comment|label|gcloud|publish|deploy|pages|release|slack|notif|commit|push|status|codecov|wait"
)
LEFT_OUT: Final = re.compile(r"\bauth\b|login|credential|gcloud")
# Words that tell a base from a head, which are one suite.
SIDES: Final = re.compile(r"\b(base|baseline|head|pr|main|master|before|after|current|new|old|target)\b")
ACTION_COMMANDS: Final = (
    (re.compile(r"^ramsey/composer-install"), "composer install --no-interaction --no-progress"),
    (re.compile(r"^bahmutov/npm-install"), "npm ci"),
    (re.compile(r"^julia-actions/julia-(buildpkg|instantiate)"), "julia --project -e 'using Pkg; Pkg.instantiate()'"),
)
MACHINE: Final = re.compile(
    r"^(sudo\b|(apt|apt-get|dnf|brew|apk)\b|rustup\b|cargo (\+\S+ )?(install|binstall)\b|go install\b"
    r"|npm (i|install) (-\w*g|--global)\b|corepack\b|dotnet tool\b|uv (python|tool)\b|pipx\b"
    r"|(python3? -\S*m )?pip3? install\b|pnpm add -g|gem install\b|(curl|wget|conda|mamba|micromamba|ulimit)\b"
    r"|julia -e)"
)
PIP: Final = re.compile(r"\bpip3? install\b")
PROJECT_PIP: Final = re.compile(
    r"\bpip3? install\b.*(\s['\"]?\.(\[\S*)?['\"]?(\s|$)|\s(-e|--editable|-r|--requirement|-c)[= ]|\s['\"]?\./)"
)
OWN_VENV: Final = re.compile(r"\buv (venv|sync)\b|\b(virtualenv|python3? -m venv) ")
CODSPEED_BUILD: Final = re.compile(r"\bcargo\s+codspeed\s+build\b")
# `echo NAME=VALUE >> $GITHUB_ENV`, with a value that is not a command's output.
STORED_VARIABLE: Final = re.compile(r"echo\s+['\"]?([A-Z_]\w*)=([^'\"\n>$]*?)['\"]?\s*>>\s*['\"]?\$\{?GITHUB_ENV")
# A step that runs something, but does not build.
TESTS: Final = re.compile(
    r"\bsmoke\b|^(run )?(unit )?tests?\b|\blint|clippy|^check\b|\bdoc(s|umentation)?\b", re.IGNORECASE
)
# Programs that a command names, and how a machine gets them.
BROUGHT: Final = {
    **{
        name: f"pip install --quiet {name}"
        for name in ("cmake", "hatch", "invoke", "meson", "nox", "pdm", "poetry", "pytest", "tox", "uv")
    },
    "asv": "pip install --quiet asv virtualenv",
    "just": "pip install --quiet rust-just",
    **{name: f"npm install --silent --global {name}" for name in ("bun", "deno", "pnpm", "yarn")},
}
VENV: Final = ". .venv/bin/activate"
BASH: Final = re.compile(
    r"\[\[|pipefail|<<<|<\(|\w=\(|\$\{\w+(//|\^|,|:[0-9])|\bsource\b|\bpushd\b|\bdeclare\b|^readonly\b"
)
OTHER_SHELL: Final = re.compile(r"\b(pwsh|python3?|julia|node|ruby|perl)\b")
SHELL_OPTIONS: Final = {"pwsh": "-Command", "python": "-c", "python3": "-c"}
_UNUSED_VARIABLE: Final = re.compile(
    r"COLOR|TELEMETRY|NOLOGO|TOKEN|CACHE|CODSPEED|^CI$|INCREMENTAL|BACKTRACE|^PIP_|CLOUD|^PRE_COMMIT|^TERM$|SECRET|^GH_"
    r"|XMLDOC|SCCACHE|^RUSTC_WRAPPER|RETR(Y|IES)$|_ACTION$|^PYTHON(IOENCODING|UTF8|UNBUFFERED)|^GITHUB_"
)


@dataclass(slots=True)
class Preparation:
    """The commands of the steps before the measuring one, in their order.

    `builds` are those for `cargo codspeed`; `launcher` enters the environment that an action made.
    """

    setup: list[str] = field(default_factory=list)
    build: list[str] = field(default_factory=list)
    builds: list[str] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    launcher: str = ""
    matrix_keys: set[str] = field(default_factory=set)
    servers: list[str] = field(default_factory=list)
    steps: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    lacks: list[str] = field(default_factory=list)


def preparation_of(job: WorkflowJob, position: int) -> Preparation:
    done = Preparation()
    command = SIDES.sub("", job.steps[position].run)
    there = [
        step
        for step in job.steps[:position]
        if not (step.is_skipped or TESTS.search(step.name) or (command and SIDES.sub("", step.run) == command))
    ]
    before = [_as_command(step) for step in (*there, _before_it(job.steps[position]))]
    lines = [line for step in before for line in logical_lines(step.run)]
    in_venv = any(PROJECT_PIP.search(line) for line in lines) and not any(OWN_VENV.search(line) for line in lines)
    for step in before:
        if step.uses:
            _action(step, done)
        elif step.run and measuring_tool(step.run) in ("", "task", "script"):
            _commands(step, done, in_venv=in_venv)
    if in_venv:
        # Without it, both sides would use the one commit that `pip install .` installs.
        shared = " --system-site-packages" if done.launcher else ""
        done.build.insert(0, f"python3 -m venv{shared} .venv && {VENV}")
    return done


def _before_it(step: WorkflowStep) -> WorkflowStep:
    """The preparation in the measuring step itself, if that runs asv or Bencher; nothing of other steps."""
    text = re.split(r"(?m)^.*\b(?:asv\s+(?:run|continuous)|bencher\s+run)\b", step.run, maxsplit=1)
    lines = logical_lines(text[0]) if len(text) > 1 else []
    is_asv = len(text) > 1 and "bencher run" not in step.run
    prepares = [line for line in lines if not is_asv or MACHINE.search(line) or line.startswith("git clone ")]
    return replace(step, uses="", run="\n".join(prepares))


def _as_command(step: WorkflowStep) -> WorkflowStep:
    """Replace an action that only runs one command by that command."""
    if step.action.endswith("/py-dependency-install"):
        return replace(step, uses="", run=f"pip install -r {step.given.get('path', 'requirements.txt')}")
    command = next((command for pattern, command in ACTION_COMMANDS if pattern.search(step.action)), "")
    return replace(step, uses="", run=command) if command else step


def _action(step: WorkflowStep, done: Preparation) -> None:
    if step.action == "actions/checkout":
        _checkout(step, done)
    elif "download-artifact" in step.action:
        done.notes.append("it takes an artifact of another job, which the build has to make")
    elif not IGNORED_ACTIONS.search(step.action):
        # A pull request's code must not write a cache that a later job reads.
        inputs = {key: value for key, value in step.given.items() if value and "cache" not in key}
        done.steps.append({"uses": step.uses, **({"with": inputs} if inputs else {})})
        name = inputs.get("environment-name") or inputs.get("activate-environment")
        if name and "mamba" in step.action:
            done.launcher = f"micromamba run -n {name}"
        elif name and "conda" in step.action:
            done.launcher = f"conda run --no-capture-output -n {name}"
    elif LEFT_OUT.search(step.action):
        done.notes.append(f"left out: uses {step.uses}")


def _checkout(step: WorkflowStep, done: Preparation) -> None:
    if step.given.get("submodules", "false") not in ("", "false"):
        done.build.append("git submodule update --init --recursive")
    if step.given.get("lfs", "false") not in ("", "false"):
        done.build.append("git lfs pull")
    if (other := step.given.get("repository")) and (path := step.given.get("path")):
        done.build.append(f"git clone --depth 1 https://github.com/{other} {path}")
    elif other:
        done.notes.append(f"it checks out {other} as well: let the build clone it")


def _commands(step: WorkflowStep, done: Preparation, *, in_venv: bool) -> None:
    lines = [step.run.strip()] if CONTROL.search(step.run) else logical_lines(step.run)
    built_for_codspeed = [line for line in logical_lines(step.run) if CODSPEED_BUILD.search(line)]
    done.builds.extend(text for line in built_for_codspeed for text in _each_value(step, line))
    parts = [line for line in lines if not NOISE.search(line) and not CODSPEED_BUILD.search(line)]
    done.unknown.extend(step.unknown * bool(parts))
    done.lacks.extend(step.lacks * bool(parts))
    done.matrix_keys.update({step.matrix_key} if built_for_codspeed else ())
    for name, value in STORED_VARIABLE.findall(step.run):
        done.variables[name] = value
    if any(re.search(r"(?<!&)&$", part) for part in parts):
        done.servers.append(placed("\n".join(parts), step))
        done.notes.append("a server is started before each execution, as the workflow does once")
        return
    if any(re.match(r"\w+=", part) for part in parts):
        # Later lines need the variable.
        parts = ["\n".join(parts)]
    is_machine = [bool(MACHINE.search(part)) and not (PIP.search(part) and in_venv) for part in parts]
    for part, is_setup in zip(parts, is_machine, strict=True):
        if is_setup:
            done.setup.append(re.sub(r"(^|&& )apt", r"\1sudo apt", part))
    if built := "\n".join(part for part, is_setup in zip(parts, is_machine, strict=True) if not is_setup):
        # A build that counts instructions for CodSpeed prints no times.
        done.build.append(placed(re.sub(r"\s-DCODSPEED_MODE=\S+", "", built), step))


def _each_value(step: WorkflowStep, line: str) -> list[str]:
    """Return the build for each value of the matrix that the line names."""
    each = [text for variant in step.variants for text in logical_lines(variant) if CODSPEED_BUILD.search(text)]
    return each or [_without_empty(line, step)]


def _without_empty(line: str, step: WorkflowStep) -> str:
    """Drop options whose value only GitHub has."""
    empty = "|".join(re.escape(name) for name, value in step.environment.items() if not value)
    return re.sub(rf"\s--?[\w-]+[= ]['\"]?\$\{{?({empty})\}}?['\"]?(?=\s|$)", "", line) if empty else line


def placed(command: str, step: WorkflowStep) -> str:
    """Run the command in the step's folder, environment and shell, without changing those of later commands."""
    environment = " ".join(f"{name}={_quoted(value)}" for name, value in _environment(step))
    inner = f"export {environment}\n{command}" if environment else command
    if other := OTHER_SHELL.search(step.shell):
        inner = f"{other[1]} {SHELL_OPTIONS.get(other[1], '-e')} {shlex.quote(command)}"
    elif BASH.search(command):
        inner = f"bash -e -o pipefail -c {shlex.quote(inner)}"
    if step.folder not in ("", "."):
        return f"(cd {_quoted(step.folder)}\n{inner})"
    return f"({inner})" if re.search(r"^(export|cd)\b", inner, re.MULTILINE) else inner


def _quoted(value: str) -> str:
    return f'"{value}"' if value.startswith("$PWD") else shlex.quote(value)


def _environment(step: WorkflowStep) -> list[tuple[str, str]]:
    return [
        (name, value)
        for name, value in step.environment.items()
        if value and re.fullmatch(r"[A-Za-z_]\w*", name) and not _UNUSED_VARIABLE.search(name)
    ]
