"""Which step of a repository's own workflows measures, and what it takes to measure one commit by it."""

import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

from perf_culprit.init.native_output import OUTPUT, Command, native
from perf_culprit.init.repository import Repository, Suggestion
from perf_culprit.init.workflow_jobs import OTHER_SYSTEMS, Job, Step, jobs

# A step of these is a whole suite, whose command is written anew.
REWRITTEN: Final = ("asv", "Julia", "CodSpeed", "cargo codspeed", "Bencher")
CHECKS_OUT: Final = re.compile(r"actions/checkout|\bgit (checkout|switch|worktree|stash|reset)\b")
GAB: Final = "github-action-benchmark"
CODSPEED: Final = re.compile(r"^codspeedhq/(action|codspeed)")
BENCHER: Final = re.compile(r"\bbencher\s+run\b")
# Commands that measure: what they are called, and by what they are known.
MEASURING: Final = tuple(
    (tool, re.compile(pattern, re.IGNORECASE))
    for tool, pattern in (
        ("asv", r"\basv\s+(run|continuous)\b"),
        ("hyperfine", r"(^|[;&|\s])hyperfine\s"),
        ("pytest", r"pytest\b[^;&|]*(--codspeed|--benchmark-(json|only|autosave|save|enable))"),
        ("cargo codspeed", r"\bcargo\s+codspeed\s+run\b"),
        ("cargo bench", r"\bcargo\s+(\+\S+\s+)?(-\S+\s+)*(bench|criterion)\b"),
        ("go test", r"\bgo\s+test\b.*\s--?(test\.)?bench[= ]"),
        ("PHPBench", r"\bphpbench\s+run\b"),
        ("JMH", r"gradlew?\b.*\bjmh\b|-jar\s+\S*(jmh|benchmarks?)\S*\.jar|\bjmh:run\b"),
        ("BenchmarkDotNet", r"\bdotnet\s+run\b.*bench"),
        ("Google Benchmark", r"--benchmark_(out|format|filter|repetitions|min_time)\b"),
        ("Julia", r"\bbenchpkg\b|julia\b.*benchmark"),
        ("vitest", r"\bvitest\s+bench\b"),
        ("pytest", r"\bpytest\b(?!-).*\bbench"),
        ("task", r"\b(make|just|tox|nox|npm|pnpm|yarn|bun|deno|nx|gradlew|mvn|rake|bazel|task|sbt)\b.*bench"),
        ("script", r"^([A-Z_]+=\S+\s+)*(\w+\s+(run\s+)?)?(-\w+\s+)*[\w./-]*bench[\w./-]*(\s|$)"),
    )
)
# A line that only talks of benchmarks: it installs, fetches, compares, or compiles them.
TALK: Final = re.compile(
    r"^\s*(#|echo\b|which\b|cat\b|ls\b|cd\b|mkdir\b|mv\b|cp\b|rm\b|cmp\b|git\b|gh\b|curl\b|wget\b|diff\b|jq\b|sed\b|awk\b|tar\b"
    r"|sudo\b|(\S+/)?pip3?\b|uv (pip|sync|venv)\b|apt(-get)?\b|npm (ci|i|install)\b|pnpm (i|install)\b|yarn install\b"
    r"|cargo install\b|go install\b|benchstat\b|critcmp\b|test -|\[|(if|for|done|fi|then|exit|export)\b"
    r"|(asv (publish|check|machine|preview)|cargo (check|build|clippy|fmt|test|doc|codspeed build))\b|\w+=(\S*$|\$\())"
    r"|\b(micromamba|mamba|conda|poetry|pixi|hatch|brew) (install|add|create|update)\b|pkg\"|Pkg\.\w|display|git push"
    r"|--no-run\b|--help\b|_build\b|\bcompile\b|GITHUB_(OUTPUT|ENV)|--collect-only|\bcompare\b|\bconvert\b|\breport\."
    r"|\bcheck-|\blint\b"
)
# A line that is of no use in a commit's own checkout.
NOISE: Final = re.compile(
    r"^(#|(which|ls|pwd|free|lscpu|nproc|df)\b|echo\b(?!.*>)|cat\s+\S+$|set -|asv machine\b|benchstat\b|critcmp\b"
    r"|git (config|fetch|checkout|remote|switch|stash|branch)\b|docker system\b|pip3? list\b"
    r"|\S+ (.* )?(--version|version)\b)"
    r"|GITHUB_(OUTPUT|STEP_SUMMARY|ENV|PATH|WORKSPACE)|\bgit (push|merge)\b"
    r"|\brm\s[^\n]*\s['\"]?/(?!tmp/)|-exec rm\b|^du\b|\b(apt|apt-get)\b.*\b(remove|purge|autoremove)\b"
)
CONTROL: Final = re.compile(r"(?m)^\s*(if|for|while|case|function)\b|<<|^\w+\(\)|^set -")
NAMED: Final = re.compile(r"bench|perf|codspeed|asv|bencher", re.IGNORECASE)
SCORES: Final = {GAB: 100.0, "Bencher": 95.0, "CodSpeed": 90.0, "task": 40.0, "script": 30.0}
# A measurement that is only tried out, as tests do.
TRIED: Final = re.compile(r"--quick\b|-benchtime[= ]1x\b|--dry-run\b|--test\b|smoke|--profile[= ]test")
SURE: Final = 42.0
LONGEST_LINE: Final = 4_000
UNKNOWN_MATRIX: Final = "only GitHub knows `matrix."


@dataclass(frozen=True, kw_only=True, slots=True)
class Measuring:
    """A job, where in it is measured, by which command, and the file that the results go to, if one is named."""

    job: Job
    position: int
    command: str
    source: str
    output: str = ""
    tool: str = ""

    @property
    def step(self) -> Step:
        return self.job.steps[self.position]

    @property
    def score(self) -> float:
        """How sure it is that this is the suite that the project watches."""
        events = set(self.job.events)
        score = SCORES.get(self.source, 70.0)
        score += 12 * bool(NAMED.search(self.job.title)) + 4 * bool(events & {"push", "pull_request"})
        score -= 30 * bool(OTHER_SYSTEMS.search(self.job.runner)) + 15 * bool(TRIED.search(self.command))
        return score - 25 * (events <= {"release", "issue_comment"})

    @property
    def is_sure(self) -> bool:
        is_tried = TRIED.search(self.command) or re.search(r"smoke|\bcheck\b|validate", self.step.name, re.IGNORECASE)
        return self.score >= SURE and (self.source == "asv" or not is_tried)


def workflow_suggestions(repository: Repository) -> tuple[list[Suggestion], list[Suggestion]]:
    """One for each job that measures, the surest first, and apart from them those that only try benchmarks out."""
    every = [one for job in jobs(repository) for one in _of_job(job)]
    whole = [_elsewhere(one, every) for one in every]
    by_job: dict[str, list[Measuring]] = {}
    for one in sorted(whole, key=lambda one: -one.score):
        if one.command:
            by_job.setdefault(one.job.place, []).append(one)
    each = [(those[0].is_sure, _suggestion(_same_kind(those), repository)) for those in by_job.values()]
    sure = [one for is_sure, one in each if is_sure and not any(UNKNOWN_MATRIX in note for note in one.notes)]
    return sure, [one for _, one in each if one not in sure]


def _same_kind(those: list[Measuring]) -> list[Measuring]:
    """What one job measures by the surest tool, or stores, step by step, up to where it checks out another commit."""
    steps = those[0].job.steps
    alike = [one for one in those if one.source == those[0].source and one.is_sure == those[0].is_sure]
    if those[0].source in REWRITTEN:
        return those[:1]
    first = min(one.position for one in alike)
    changes = [i for i in range(first + 1, len(steps)) if CHECKS_OUT.search(f"{steps[i].uses}\n{steps[i].run}")]
    until = next(iter(changes), len(steps))
    near = {(one.step.folder, one.command): one for one in alike if one.position < until}
    return list(near.values())


def _elsewhere(one: Measuring, others: list[Measuring]) -> Measuring:
    """A job that only stores what another one of the file measured stands for that one."""
    takes = any("download-artifact" in step.uses for step in one.job.steps)
    if one.command and not (takes and one.source == GAB and not measuring_tool(one.command)):
        return one
    file = one.job.place.partition(",")[0]
    same = [other for other in others if other.command and other.job.place.startswith(f"{file},") and other != one]
    measured = max(same, key=lambda other: other.score, default=None)
    return one if measured is None else replace(measured, source=one.source, tool=one.tool, output=_uploaded(measured))


def _uploaded(one: Measuring) -> str:
    """What the job keeps of a measurement."""
    later = one.job.steps[one.position + 1 :]
    paths = [step.given.get("path", "").strip() for step in later if step.action.endswith("/upload-artifact")]
    return next((path for path in paths if path and "\n" not in path), "")


def _of_job(job: Job) -> Iterator[Measuring]:
    for end, step in enumerate(job.steps):
        if step.is_skipped:
            continue
        if step.action.endswith(GAB):
            output, tool = step.given.get("output-file-path", ""), step.given.get("tool", "")
            for position, command in _written(job, end, output):
                yield Measuring(
                    job=job,
                    position=position,
                    command=command,
                    source=GAB,
                    output=output.removeprefix("./"),
                    tool=tool,
                )
        elif "airspeedvelocity" in step.action:
            yield Measuring(job=job, position=end, command="benchpkg", source="Julia")
        elif CODSPEED.search(step.action) and step.given.get("run"):
            yield Measuring(job=job, position=end, command=step.given["run"].strip(), source="CodSpeed")
        elif BENCHER.search(step.run):
            command, adapter = bencher_command(step.run)
            yield Measuring(job=job, position=end, command=command, source="Bencher", tool=adapter)
        elif step.run and (source := measuring_tool(step.run)):
            one = Measuring(job=job, position=end, command=_without_noise(step.run), source=source)
            yield replace(one, output=_uploaded(one)) if source in ("task", "script") else one


def _written(job: Job, end: int, output: str) -> list[tuple[int, str]]:
    """The steps that the file comes from, each with its command and the measurement that it is made of."""
    writers = _writers(job, end, output)
    if not writers:
        return [(0, "")]
    last = job.steps[writers[0]].run
    first = writers[0]
    for i in range(first) if not measuring_tool(last) else ():
        made = re.findall(r"(?:\btee|>)\s+['\"]?([\w./-]+)", job.steps[i].run)
        if measuring_tool(job.steps[i].run) and any(re.search(rf"(?<!\w){re.escape(name)}\b", last) for name in made):
            first = i
    if first != writers[0]:
        return [(first, "\n".join(_without_noise(job.steps[i].run) for i in (first, writers[0])))]
    return [(position, _without_noise(job.steps[position].run)) for position in writers]


def _writers(job: Job, end: int, output: str) -> list[int]:
    """The steps before the one that stores which write the file, else the one that measures, else the last one."""
    stores = [i for i in range(end) if job.steps[i].action.endswith(GAB)]
    before = [i for i in range(end) if job.steps[i].run and not job.steps[i].is_skipped]
    # What another store has read is its own.
    before = [i for i in before if not stores or i > stores[-1]] or before
    name = output.rpartition("/")[2]
    written = re.compile(rf"(>|\btee)(\s+-\S+)*\s*\S*{re.escape(name)}")
    measuring = [i for i in before if measuring_tool(job.steps[i].run)]
    named = [i for i in before if name and name in job.steps[i].run]
    writing = [i for i in measuring if i in named and written.search(job.steps[i].run)]
    naming = [i for i in named if not TALK.match(job.steps[i].run) or written.search(job.steps[i].run)]
    return writing or naming[:1] or measuring[-1:] or before[-1:]


def measuring_tool(text: str) -> str:
    """What the first line that measures is called; "" where none does."""
    lines = [re.sub(r"^cd \S+ && ", "", line) for line in logical_lines(text)]
    lines = [line for line in lines if not TALK.search(line)]
    return next((tool for tool, pattern in MEASURING for line in lines if pattern.search(line)), "")


def logical_lines(text: str) -> list[str]:
    """Commands on lines of their own; a line longer than any that people write is none."""
    joined = re.sub(r"\\\n\s*", " ", text)
    return [line.strip() for line in joined.splitlines() if line.strip() and len(line) <= LONGEST_LINE]


def _without_noise(text: str) -> str:
    """Without the lines that only talk; a script with a control structure stays whole."""
    if CONTROL.search(text):
        return text.strip()
    return "\n".join(line for line in logical_lines(text) if not NOISE.search(line))


def bencher_command(text: str) -> tuple[str, str]:
    """What `bencher run` is given to run, and its adapter."""
    line = next(line for line in logical_lines(text) if BENCHER.search(line))
    try:
        words = shlex.split(BENCHER.split(line, maxsplit=1)[1])
    except ValueError:
        return "", ""
    adapter = ""
    while words:
        name, separator, value = words.pop(0).partition("=")
        if name == "--":
            break
        if not name.startswith("-"):
            words.insert(0, name + separator + value)
            break
        if not separator and not BENCHER_SWITCHES.fullmatch(name) and words:
            value = words.pop(0)
        adapter = value if name == "--adapter" else adapter
    return (words[0] if len(words) == 1 else shlex.join(words)), adapter


# Options of `bencher run` without a value.
BENCHER_SWITCHES: Final = re.compile(
    r"--(err|html|ci-(only|public)\S*|start-point-(reset|clone\S*)|thresholds-reset|allow-failure|dry-run"
    r"|quiet|error-on-alert|no-build|exec)"
)


# What comes before the measuring step: tools of the machine, and builds of the checkout.

TOOL_ACTIONS: Final = re.compile(
    r"^\./|setup|install|toolchain|micromamba|miniconda|bazel|depot|ghcup|opam|foundry|sccache"
    r"|/(hatch|pixi|just|poetry|pdm|bun|deno)\b"
)
IGNORED_ACTIONS: Final = re.compile(
    r"checkout|/cache|-cache\b|upload-artifact|harden-runner|github-script|paths-filter|free-disk|qemu|\bauth\b|login"
    r"|benchmark|codspeed|bencher|comment|label|gcloud"
)
ACTION_COMMANDS: Final = (
    (re.compile(r"^ramsey/composer-install"), "composer install --no-interaction --no-progress"),
    (re.compile(r"^bahmutov/npm-install"), "npm ci"),
    (re.compile(r"^julia-actions/julia-(buildpkg|instantiate)"), "julia --project -e 'using Pkg; Pkg.instantiate()'"),
)
MACHINE: Final = re.compile(
    r"^(sudo\b|(apt|apt-get|dnf|brew|apk)\b|rustup\b|cargo (\+\S+ )?(install|binstall)\b|go install\b"
    r"|npm (i|install) (-g|--global)\b|corepack\b|dotnet tool\b|uv (python|tool)\b|pipx\b"
    r"|(python3? -\S*m )?pip3? install\b|pnpm add -g|gem install\b|(curl|wget|conda|mamba|micromamba|ulimit)\b"
    r"|julia -e)"
)
PIP: Final = re.compile(r"\bpip3? install\b")
PROJECT_PIP: Final = re.compile(
    r"\bpip3? install\b.*(\s['\"]?\.(\[\S*)?['\"]?(\s|$)|\s(-e|--editable|-r|--requirement|-c)[= ]|\s['\"]?\./)"
)
OWN_VENV: Final = re.compile(r"\buv (venv|sync)\b|\b(virtualenv|python3? -m venv) ")
CODSPEED_BUILD: Final = re.compile(r"\bcargo\s+codspeed\s+build\b")
# `echo NAME=VALUE >> $GITHUB_ENV`, of a value that is no command.
STORED_VARIABLE: Final = re.compile(r"echo\s+['\"]?([A-Z_]\w*)=([^'\"\n>$]*?)['\"]?\s*>>\s*['\"]?\$\{?GITHUB_ENV")
# A step that runs, but not to build.
TESTS: Final = re.compile(
    r"\bsmoke\b|^(run )?(unit )?tests?\b|\blint|clippy|^check\b|\bdoc(s|umentation)?\b", re.IGNORECASE
)
VENV: Final = ". .venv/bin/activate"
BASH: Final = re.compile(
    r"\[\[|pipefail|<\(|\w=\(|\$\{\w+(//|\^|,|:[0-9])|\bsource\b|\bpushd\b|\bdeclare\b|^readonly\b"
)
OTHER_SHELL: Final = re.compile(r"\b(pwsh|python3?|julia|node|ruby|perl)\b")
SHELL_OPTIONS: Final = {"pwsh": "-Command", "python": "-c", "python3": "-c"}
UNUSED: Final = re.compile(
    r"COLOR|TELEMETRY|NOLOGO|TOKEN|CACHE|CODSPEED|^CI$|INCREMENTAL|BACKTRACE|^PIP_|CLOUD|^PRE_COMMIT|^TERM$|SECRET|^GH_"
    r"|XMLDOC|SCCACHE|^RUSTC_WRAPPER|RETR(Y|IES)$|_ACTION$|^PYTHON(IOENCODING|UTF8|UNBUFFERED)|^GITHUB_"
)
USUAL_RUNNER: Final = re.compile(r"^ubuntu-(latest|2[24]\.04)$")


@dataclass(slots=True)
class Preparation:
    """What the steps before the measuring one do, in their order.

    `builds` are those for `cargo codspeed`, `launcher` what enters the environment that an action made.
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


def _preparation(job: Job, position: int) -> Preparation:
    done = Preparation()
    there = [step for step in job.steps[:position] if not step.is_skipped and not TESTS.search(step.name)]
    before = [_as_command(step) for step in (*there, _before_asv(job.steps[position]))]
    lines = [line for step in before for line in logical_lines(step.run)]
    in_venv = any(PROJECT_PIP.search(line) for line in lines) and not any(OWN_VENV.search(line) for line in lines)
    for step in before:
        if step.uses:
            _action(step, done)
        elif step.run and measuring_tool(step.run) in ("", "task", "script"):
            _commands(step, done, in_venv=in_venv)
    if in_venv:
        # What `pip install .` leaves outside would be one commit's, for both sides.
        shared = " --system-site-packages" if done.launcher else ""
        done.build.insert(0, f"python3 -m venv{shared} .venv && {VENV}")
    return done


def _before_asv(step: Step) -> Step:
    """What its own step prepares: of asv's commands only this is kept, others stay as they are."""
    text = re.split(r"(?m)^.*\basv\s+(?:run|continuous)\b", step.run, maxsplit=1)
    lines = logical_lines(text[0]) if len(text) > 1 else []
    prepares = [line for line in lines if MACHINE.search(line) or line.startswith("git clone ")]
    return replace(step, uses="", run="\n".join(prepares))


def _as_command(step: Step) -> Step:
    """Actions that only do what one command does."""
    if step.action.endswith("/py-dependency-install"):
        return replace(step, uses="", run=f"pip install -r {step.given.get('path', 'requirements.txt')}")
    command = next((command for pattern, command in ACTION_COMMANDS if pattern.search(step.action)), "")
    return replace(step, uses="", run=command) if command else step


def _action(step: Step, done: Preparation) -> None:
    if step.action == "actions/checkout":
        _checkout(step, done)
    elif "download-artifact" in step.action:
        done.notes.append("it takes an artifact of another job, which the build has to make")
    elif TOOL_ACTIONS.search(step.action) and not IGNORED_ACTIONS.search(step.action):
        # A pull request's code must not write what a later job reads.
        given = {key: value for key, value in step.given.items() if value and "cache" not in key}
        done.steps.append({"uses": step.uses, **({"with": given} if given else {})})
        if (name := given.get("environment-name") or given.get("activate-environment")) and "mamba" in step.action:
            done.launcher = f"micromamba run -n {name}"
        elif name:
            done.launcher = f"conda run --no-capture-output -n {name}"
    elif not IGNORED_ACTIONS.search(step.action):
        done.notes.append(f"left out: uses {step.uses}")


def _checkout(step: Step, done: Preparation) -> None:
    if step.given.get("submodules", "false") not in ("", "false"):
        done.build.append("git submodule update --init --recursive")
    if step.given.get("lfs", "false") not in ("", "false"):
        done.build.append("git lfs pull")
    if (other := step.given.get("repository")) and (path := step.given.get("path")):
        done.build.append(f"git clone --depth 1 https://github.com/{other} {path}")
    elif other:
        done.notes.append(f"it checks out {other} as well: let the build clone it")


def _commands(step: Step, done: Preparation, *, in_venv: bool) -> None:
    lines = [step.run.strip()] if CONTROL.search(step.run) else logical_lines(step.run)
    built_for_codspeed = [line for line in logical_lines(step.run) if CODSPEED_BUILD.search(line)]
    done.builds.extend(text for line in built_for_codspeed for text in _each_value(step, line))
    parts = [line for line in lines if not NOISE.search(line) and not CODSPEED_BUILD.search(line)]
    done.unknown.extend(step.unknown * bool(parts))
    done.matrix_keys.update({step.matrix_key} if built_for_codspeed else ())
    for name, value in STORED_VARIABLE.findall(step.run):
        done.variables[name] = value
    if any(re.search(r"(?<!&)&$", part) for part in parts):
        done.servers.append(_placed("\n".join(parts), step))
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
        # What counts instructions for CodSpeed prints no times.
        done.build.append(_placed(re.sub(r"\s-DCODSPEED_MODE=\S+", "", built), step))


def _each_value(step: Step, line: str) -> list[str]:
    """A build for each value of the matrix that it names."""
    each = [text for variant in step.variants for text in logical_lines(variant) if CODSPEED_BUILD.search(text)]
    return each or [_without_empty(line, step)]


def _without_empty(line: str, step: Step) -> str:
    """Without options whose value only GitHub knows."""
    empty = "|".join(re.escape(name) for name, value in step.environment.items() if not value)
    return re.sub(rf"\s--?[\w-]+[= ]['\"]?\$\{{?({empty})\}}?['\"]?(?=\s|$)", "", line) if empty else line


def _placed(command: str, step: Step) -> str:
    """In the step's folder, environment and shell, leaving those of what follows as they are."""
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


def _environment(step: Step) -> list[tuple[str, str]]:
    return [
        (name, value)
        for name, value in step.environment.items()
        if value and re.fullmatch(r"[A-Za-z_]\w*", name) and not UNUSED.search(name)
    ]


def _suggestion(those: list[Measuring], repository: Repository) -> Suggestion:
    ordered = sorted(those, key=lambda one: one.position)
    first = ordered[0]
    done = _preparation(first.job, first.position)
    commands = [_native(one, done, repository) for one in ordered]
    rewritten = ("asv", "cargo codspeed") if not done.builds else ("asv", "cargo codspeed", "CodSpeed")
    done.unknown += [name for one in ordered if one.source not in rewritten for name in one.step.unknown]
    parts = [VENV] * any(VENV in part for part in done.build) + done.servers
    if _needs_folder(ordered, commands):
        parts.append(f"mkdir -p {OUTPUT}")
        names = [f"{i}-{one.output.rpartition('/')[2]}" for i, one in enumerate(ordered, 1)]
        commands = [command.into(name) for command, name in zip(commands, names, strict=True)]
    for command, one in zip(commands, ordered, strict=True):
        step = replace(one.step, environment={**done.variables, **one.step.environment})
        # What several fill together is copied once.
        parts = [part for part in parts if not command.after or part != command.after]
        parts += [_placed(command.text, step), command.after]
    customs = [one for one, command in zip(ordered, commands, strict=True) if command.output and "custom" in one.tool]
    notes = [*(note for command in commands for note in command.notes), *done.notes, *_lost(ordered, done)]
    if customs:
        files = ", ".join(one.output for one in customs)
        notes.append(f"which way is good does not stand in {files}: state `direction` in the configuration")
    return Suggestion(
        tool=first.source,
        setup=_joined(dict.fromkeys(done.setup)),
        build=_launched(_joined(dict.fromkeys(done.build)), done.launcher),
        run=_launched(_joined(parts), done.launcher),
        format=customs[0].tool if len(customs) == len(ordered) == 1 else "",
        place=first.job.place + f", step {first.step.name}" * bool(first.step.name),
        notes=tuple(dict.fromkeys(notes)),
        steps=tuple(done.steps),
        services=first.job.services,
    )


def _needs_folder(those: list[Measuring], commands: list[Command]) -> bool:
    """Whether they write results of their own; those that print, or fill one folder, write one together."""
    afters = {command.after for command in commands}
    outputs = {one.output for one in those if one.source == GAB}
    return len(those) > 1 and (len(afters) > 1 or len(outputs) > 1 or any(OUTPUT in one.text for one in commands))


def _joined(parts: Iterable[str]) -> str:
    """One command: on one line where each part is, so that `sh -e` ends at the first that fails."""
    texts = [part for part in parts if part]
    return ("\n" if any("\n" in text or text.endswith("&") for text in texts) else " && ").join(texts)


def _launched(command: str, launcher: str) -> str:
    return f"{launcher} sh -e -c {shlex.quote(command)}" if launcher and command else command


def _native(one: Measuring, done: Preparation, repository: Repository) -> Command:
    text = "\n".join(one.step.variants) if one.step.variants and one.source != "Bencher" else one.command
    if one.source == "asv":
        # Where its files are stands in variables.
        own = dict(re.findall(r"""(?m)^\s*(?:export\s+)?(\w+)=["']?([^"'\n]*)""", one.step.run))
        texts = {**one.step.environment, **own}
        text = re.sub(r"\$\{?(\w+)\}?", lambda match: texts.get(match[1], match[0]), text)
    inside = [line for line in logical_lines(text) if CODSPEED_BUILD.search(line)]
    builds = (*done.builds, *inside) if "codspeed run" in text else ()
    return native(Command(text=text, output=one.output, folder=one.step.folder, builds=builds), repository)


def _lost(those: list[Measuring], done: Preparation) -> Iterator[str]:
    """What of a job is not carried over."""
    job = those[0].job
    for key, values in job.others.items():
        if f"matrix.{key}" not in {*done.matrix_keys, *(one.step.matrix_key for one in those)}:
            yield f"of the matrix's `{key}` one value is taken, not: {', '.join(values[:6])}"
    yield from job.notes
    if job.runner and not USUAL_RUNNER.match(job.runner):
        yield f"it ran on {job.runner}: change `runs-on` where that matters"
    for name in list(dict.fromkeys(done.unknown))[:4]:
        secret = name.startswith("secret ")
        yield (
            f"its step is given the {name}, ours is not"
            if secret
            else f"only GitHub knows `{name}`, which is empty here"
        )
