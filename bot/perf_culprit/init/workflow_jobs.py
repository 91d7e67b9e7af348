"""The jobs of a repository's own workflow files, with their expressions resolved as far as a file can tell."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, Final

import yaml

from perf_culprit.init.command_lines import NOISE, logical_lines, measuring_tool
from perf_culprit.init.repository import Repository

WORKFLOW_FILE: Final = re.compile(r"^\.github/workflows/[^/]+\.ya?ml$")
EXPRESSION: Final = re.compile(r"\$\{\{\s*(.*?)\s*\}\}", re.DOTALL)
COMPARISON: Final = re.compile(r"^!?([\w.-]+)(?:\s*(==|!=)\s*'([^']*)')?$")
# Machines of other systems: their steps are useless in a job on Linux.
OTHER_SYSTEMS: Final = re.compile(r"windows|macos|osx|darwin|arm64|aarch64|-arm\b", re.IGNORECASE)
# The folder above the checkout, and the repository's folder in it.
CHECKED_OUT: Final = re.compile(r"\$\{\{\s*runner\.workspace\s*\}\}/[\w.-]+")
ENVIRONMENTS: Final = re.compile(
    r"^os$|runtime|version|python|node|php|ruby|java|jdk|toolchain|compiler|framework|platform|arch|runner|machine",
    re.IGNORECASE,
)
STORED_OUTPUT: Final = re.compile(
    r"""echo\s+['"]?([A-Za-z_][\w-]*)=((?:[^'"\n>$`]|\$\{\{[^}]*\}\})*?)['"]?\s*>>\s*['"]?\$\{?GITHUB_OUTPUT"""
)
# Events with inputs, and how expressions name these.
_INPUT_CONTEXTS: Final = {"workflow_dispatch": ("inputs", "github.event.inputs"), "workflow_call": ("inputs",)}
OUTCOMES: Final = re.compile(r"failure\(\)|cancelled\(\)|always\(\)")
# Values of expressions in a command that `measure` runs.
IN_COMMANDS: Final[Mapping[str, str]] = {
    "github.workspace": "$PWD",
    "github.sha": "$PERF_CULPRIT_COMMIT",
    "runner.temp": "/tmp",  # noqa: S108 - text of a command, no file of ours
    "runner.os": "Linux",
    "runner.arch": "X64",
    "github.event_name": "pull_request",
}


# The same as variables of the runner, which a measured command does not get.
VARIABLES: Final = re.compile(r"\$\{?(GITHUB_WORKSPACE|GITHUB_SHA|RUNNER_TEMP|RUNNER_OS|RUNNER_ARCH)\b\}?")


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkflowStep:
    """A step. `given` is its `with`; `unknown` lists expressions that only GitHub can resolve, which are left empty.

    `lacks` has those that its command uses. `variants` has the command for each value of `matrix_key`, the only key of
    the matrix that it names.
    """

    name: str = ""
    run: str = ""
    uses: str = ""
    given: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: str = ""
    shell: str = ""
    is_skipped: bool = False
    variants: tuple[str, ...] = ()
    matrix_key: str = ""
    unknown: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()

    @property
    def action(self) -> str:
        return self.uses.partition("@")[0].lower()


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkflowJob:
    """`place`: its file and name. `events`: its triggers. `others`: the values of its matrix that were not chosen."""

    place: str
    title: str
    steps: tuple[WorkflowStep, ...]
    events: tuple[str, ...] = ()
    runner: str = ""
    services: Mapping[str, Any] = field(default_factory=dict)
    others: Mapping[str, list[str]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def jobs(repository: Repository) -> Iterator[WorkflowJob]:
    """Yield the jobs of valid workflow files that are not ours. A job that calls a file has that file's steps."""
    texts = {name: repository.read(name) for name in repository.matching(WORKFLOW_FILE)}
    workflows = {name: _workflow(text) for name, text in texts.items() if "perf-culprit" not in text}
    called: set[str] = set()
    for name, workflow in workflows.items():
        for about in _mapping(workflow.get("jobs")).values():
            uses = str(_mapping(about).get("uses", ""))
            if (other := uses.removeprefix("./")) in workflows and other != name:
                called.add(other)
                inputs_of_call = _mapping(_mapping(about).get("with"))
                yield from _jobs(other, workflows[other], repository, inputs=inputs_of_call, caller=name)
    for name, workflow in workflows.items():
        if name not in called:
            yield from _jobs(name, workflow, repository, inputs={}, caller="")


def _workflow(text: str) -> Mapping[str, Any]:
    """Parse YAML with every scalar as text: `3.10` is a version, `on` is not true."""
    try:
        return _mapping(yaml.load(text, Loader=yaml.BaseLoader))  # noqa: S506 - makes nothing but text, lists and mappings
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value in (None, "") else [value]


def _jobs(
    name: str, workflow: Mapping[str, Any], repository: Repository, *, inputs: Mapping[str, Any], caller: str
) -> Iterator[WorkflowJob]:
    events = workflow.get("on")
    values = {
        f"{prefix}.{key}": str(_mapping(about).get("default", ""))
        for event, prefixes in _INPUT_CONTEXTS.items()
        for key, about in _mapping(_mapping(_mapping(events).get(event)).get("inputs")).items()
        for prefix in prefixes
    }
    values |= {f"inputs.{key}": str(value) for key, value in inputs.items() if "${{" not in str(value)}
    for key, about in _mapping(workflow.get("jobs")).items():
        if not isinstance(about, dict) or not isinstance(about.get("steps"), list):
            continue
        inner = list(_inline(about["steps"], repository))
        matrix_values, others = _matrix(_mapping(about.get("strategy")).get("matrix"))
        resolvable = {**IN_COMMANDS, **values, **matrix_values}
        resolvable |= _outputs(inner, resolvable)
        yield WorkflowJob(
            place=f"{name}, job {key}" + f" (called by {caller})" * bool(caller),
            title=" ".join(str(text) for text in (name, workflow.get("name", ""), key, about.get("name", ""))),
            events=tuple(str(event) for event in (events if isinstance(events, dict) else _list(events))),
            steps=tuple(_at_top(list(_steps(inner, resolvable, (workflow, about), others)))),
            runner=_resolve(_plain(about.get("runs-on", "")), resolvable)[0],
            # The job that runs foreign code gets no secrets and has no matrix.
            services={} if "${{" in str(about.get("services")) else _mapping(about.get("services")),
            others={key: [_plain(row) for row in rest] for key, rest in others.items()},
            notes=tuple(_notes(about)),
        )


def _inline(steps: Iterable[Any], repository: Repository, depth: int = 3) -> Iterator[Any]:
    """Inline the steps of the repository's own actions that measure."""
    for step in steps:
        uses = str(step.get("uses", "")) if isinstance(step, dict) else ""
        inner = (
            list(_of_action(uses, _mapping(step.get("with")), repository)) if uses.startswith("./") and depth else []
        )
        inner = list(_inline(inner, repository, depth - 1)) if inner else inner
        if any(measuring_tool(str(step.get("run", ""))) for step in inner if isinstance(step, dict)):
            about = {key: step[key] for key in ("if", "env") if key in step}
            yield from ({**about, **step} for step in inner if isinstance(step, dict))
        else:
            yield step


def _of_action(uses: str, inputs: Mapping[str, Any], repository: Repository) -> Iterator[Any]:
    """Yield the action's steps, with its inputs instead of `inputs.NAME`."""
    path = uses.removeprefix("./").rstrip("/")
    action = _workflow(repository.read(f"{path}/action.yml") or repository.read(f"{path}/action.yaml"))
    defaults = {name: _mapping(about).get("default", "") for name, about in _mapping(action.get("inputs")).items()}
    values = {f"inputs.{name}": str(value) for name, value in {**defaults, **inputs}.items()}
    yield from (_replace(step, values) for step in _list(_mapping(action.get("runs")).get("steps")))


def _replace(value: Any, values: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _replace(inner, values) for key, inner in value.items()}
    if isinstance(value, list):
        return [_replace(inner, values) for inner in value]
    return EXPRESSION.sub(lambda match: values.get(match[1], match[0]), str(value))


def _outputs(steps: Iterable[Any], values: Mapping[str, str]) -> dict[str, str]:
    """Outputs that steps set by `echo NAME=VALUE >> $GITHUB_OUTPUT`, unless a command gives the value."""
    return {
        f"steps.{about['id']}.outputs.{name}": _resolve(value, values)[0]
        for about in steps
        if isinstance(about, dict) and "id" in about
        for name, value in STORED_OUTPUT.findall(str(about.get("run", "")))
    }


def _notes(about: Mapping[str, Any]) -> Iterator[str]:
    minutes, number = (
        str(about.get("timeout-minutes", "")),
        _number_of_jobs(_mapping(about.get("strategy")).get("matrix")),
    )
    parts = [f"up to {minutes} minutes"] * minutes.isdecimal() + [f"in {number} jobs"] * (number > 1)
    if parts:
        yield f"their job: {' '.join(parts)}"
    if container := about.get("container"):
        image = container.get("image") if isinstance(container, dict) else container
        yield f"it ran in the container {str(image).partition('@')[0]}; ours runs on the machine itself"
    if "${{" in str(about.get("services")):
        yield f"left out: the services {', '.join(_mapping(about['services']))}, which use expressions"


def _matrix(matrix: Any) -> tuple[dict[str, str], dict[str, list[Any]]]:
    """Return `matrix.NAME` values of the first combination, preferably on Linux, and the other values."""
    lists = {key: _list(value) for key, value in _mapping(matrix).items() if key not in ("include", "exclude")}
    lists = {key: [choice for choice in value if "${{" not in str(choice)] for key, value in lists.items()}
    includes = [entry for entry in _list(_mapping(matrix).get("include")) if isinstance(entry, dict)]
    chosen: dict[str, Any] = {key: _on_linux(value) for key, value in lists.items() if value}
    others = {key: [choice for choice in value if choice is not chosen[key]] for key, value in lists.items() if value}
    if not chosen and includes:
        chosen = dict(_on_linux(includes))
        others = {"include": [include for include in includes if include != chosen]}
    for include in includes:
        if all(chosen.get(key, value) == value for key, value in include.items()):
            chosen |= include
    return dict(_flat("matrix", chosen)), {key: rest for key, rest in others.items() if rest}


def _number_of_jobs(matrix: Any) -> int:
    """The number of combinations. An entry of `include` alone is one; entries next to lists mostly add to others."""
    lists = {key: _list(value) for key, value in _mapping(matrix).items() if key not in ("include", "exclude")}
    excluded = len(_list(_mapping(matrix).get("exclude")))
    return prod(map(len, lists.values())) - excluded if lists else len(_list(_mapping(matrix).get("include")))


def _on_linux(values: list[Any]) -> Any:
    plain = [value for value in values if not OTHER_SYSTEMS.search(_plain(value))]
    return next((value for value in plain if "ubuntu" in _plain(value)), (plain or values)[0])


def _plain(value: Any) -> str:
    return " ".join(map(_plain, value.values())) if isinstance(value, dict) else str(value)


def _flat(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(f"{name}.{key}", inner)
    else:
        yield name, str(value)


def _steps(
    steps: Iterable[Any],
    values: Mapping[str, str],
    levels: tuple[Mapping[str, Any], ...],
    others: Mapping[str, list[Any]],
) -> Iterator[WorkflowStep]:
    """Yield the steps. `levels`: the workflow and the job, which set environment and defaults of their steps."""
    defaults: dict[str, Any] = {}
    outer: dict[str, str] = {}
    for level in levels:
        outer |= {
            str(key): _resolve(str(value), values)[0]
            for key, value in _mapping(level.get("env")).items()
            if _is_public(value)
        }
        defaults |= _mapping(_mapping(level.get("defaults")).get("run"))
    inside = {**values, **{f"env.{key}": value for key, value in outer.items()}}
    # Values that the file's own expressions use are already in the steps.
    texts = str(levels)
    outer = {
        key: value
        for key, value in outer.items()
        if not (f"env.{key}" in texts and re.search(r"(VERSION|DIR|PATH|NAME|LATEST)$", key))
    }
    for about in steps:
        if isinstance(about, dict):
            yield _step({**defaults, **about}, inside, outer, others)


def _at_top(steps: list[WorkflowStep]) -> Iterator[WorkflowStep]:
    """Move the folder that the repository is checked out into to the top of a commit's checkout."""
    checkouts = [step.given for step in steps if step.action == "actions/checkout" and not step.given.get("repository")]
    paths = [re.escape(inputs["path"].strip("./")) for inputs in checkouts if inputs.get("path")]
    if not paths:
        yield from steps
        return
    inside = rf"(\./)?({'|'.join(paths)})"
    entered = re.compile(rf"(?m)^\s*cd {inside}/?\s*(\n|&&|;|$)\s*")
    for step in steps:
        folder = re.sub(rf"^{inside}(/|$)", "", step.folder)
        run = re.sub(rf"(?m)(^\s*cd ){inside}/", r"\1", entered.sub("", step.run))
        yield replace(step, folder=folder, run=run)


def _is_public(value: Any) -> bool:
    return "secrets." not in str(value) and "github.token" not in str(value)


def _step(
    about: Mapping[str, Any], values: Mapping[str, str], outer: Mapping[str, str], others: Mapping[str, list[Any]]
) -> WorkflowStep:
    unknown: list[str] = []

    def text(value: Any) -> str:
        resolved, lacking = _resolve(str(value), values)
        unknown.extend(lacking)
        return resolved

    command = str(_mapping(about.get("with")).get("run") or about.get("run", ""))
    matrix_key, variants = _variants(command, values, others)
    unknown += [f"secret {key}" for key, value in _mapping(about.get("env")).items() if not _is_public(value)]
    own = {str(key): text(value) for key, value in _mapping(about.get("env")).items() if _is_public(value)}
    step = WorkflowStep(
        name=str(about.get("name", "")),
        run=text(about.get("run", "")).strip(),
        uses=str(about.get("uses", "")),
        given={str(key): text(value) for key, value in _mapping(about.get("with")).items() if _is_public(value)},
        environment={**outer, **own},
        # CodSpeed's action has an input of that name.
        folder=text(_mapping(about.get("with")).get("working-directory") or about.get("working-directory", ""))
        .removeprefix("$PWD")
        .removeprefix("./")
        .strip("/"),
        shell=str(about.get("shell", "")),
        variants=variants,
        matrix_key=matrix_key,
        is_skipped=not _may_run(str(about.get("if", "")), values),
        lacks=tuple(dict.fromkeys(_lacks(command, _mapping(about.get("env")), values))),
    )
    return replace(step, unknown=tuple(dict.fromkeys(unknown)))


def _lacks(command: str, environment: Mapping[str, Any], values: Mapping[str, str]) -> Iterator[str]:
    """Yield the expressions without a value in the lines that count, and in variables that these name."""
    lines = [line for line in logical_lines(command) if not re.match(r"(#|echo\b)", line) and not NOISE.search(line)]
    for line in lines:
        yield from _resolve(line, values)[1]
    for key, value in environment.items():
        resolved, unknown = _resolve(str(value), values)
        if unknown and not resolved and any(re.search(rf"\$\{{?{re.escape(str(key))}\b(?!:)", line) for line in lines):
            yield from unknown


def _variants(command: str, values: Mapping[str, str], others: Mapping[str, list[Any]]) -> tuple[str, tuple[str, ...]]:
    """Return the key of the matrix that the command names, and the command for each of its values."""
    # Two keys would have too many combinations; the instrument of CodSpeed does not make another benchmark.
    plain = re.sub(r"(?m)^\s*echo .*$|(-m|--measurement-mode)[= ]\S*\$\{\{.*?\}\}", "", command)
    named = [
        key
        for key, rest in others.items()
        if not ENVIRONMENTS.search(key) and any(re.search(rf"matrix\.{name}\b", plain) for name in _keys(key, rest))
    ]
    if len(named) != 1:
        return "", ()
    key = named[0]
    rest = [one for one in others[key] if not OTHER_SYSTEMS.search(_plain(one))]
    each = [
        values,
        *({**values, **dict(_flat("matrix" if key == "include" else f"matrix.{key}", row))} for row in rest),
    ]
    return f"matrix.{key}", tuple(dict.fromkeys(_resolve(command, row)[0].strip() for row in each))


def _keys(key: str, values: list[Any]) -> Iterator[str]:
    """The names of a matrix key in expressions; entries of `include` have names of their own."""
    yield from (re.escape(name) for value in values for name in value) if key == "include" else [re.escape(key)]


def _resolve(text: str, values: Mapping[str, str]) -> tuple[str, list[str]]:
    """Replace `${{ … }}` by its value, or by nothing, since GitHub would resolve it for our workflow instead."""
    text = CHECKED_OUT.sub("${{ github.workspace }}", text)
    named = [(name, _value(name, values)) for name in EXPRESSION.findall(text)]
    unknown = [name for name, value in named if value is None]
    text = VARIABLES.sub(lambda match: IN_COMMANDS[match[1].lower().replace("_", ".")], text)
    return EXPRESSION.sub(lambda match: _value(match[1], values) or "", text), unknown


def _value(expression: str, values: Mapping[str, str]) -> str | None:
    """The value of an expression, or its literal default (`inputs.x || 'y'`)."""
    first, *others = re.split(r"\s*\|\|\s*", expression)
    literal = re.fullmatch(r"'([^']*)'", others[-1]) if others else None
    return values.get(first) or (literal[1] if literal else values.get(first))


def _may_run(condition: str, values: Mapping[str, str]) -> bool:
    """Whether a step would run on Linux, as far as one comparison shows. A step with unknown values may run."""
    plain = condition.strip().removeprefix("${{").removesuffix("}}").strip()
    if OUTCOMES.search(plain) and "!" not in plain:
        return False
    if (match := COMPARISON.match(plain)) and match[1] in values:
        value, operator, other = values[match[1]], match[2], match[3]
        holds = value not in ("", "false") if operator is None else (value == other) == (operator == "==")
        return holds != plain.startswith("!")
    return not (OTHER_SYSTEMS.search(plain) and "==" in plain)
