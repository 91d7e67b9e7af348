"""Trace a command by the best means at hand: files for each commit, or the reason why there are none."""

import math
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from perf_culprit.errors import BotError, DataError
from perf_culprit.explain.tracer.trace_profile import encode_trace
from perf_culprit.explain.tracer.traced_command import HOOK_FOLDER, programs_of
from perf_culprit.files import replace_file
from perf_culprit.machine.this_machine import TracePlan, trace_commits
from perf_culprit.measure.workplace import Workplace
from perf_culprit.model.call_tree import Profile
from perf_culprit.progress import Say
from perf_culprit.read.profiles.profile_reading import read_profiles
from perf_culprit.read.profiles.stack_formats import JFR_PRINT

# Executions of a profiled command: five show noise (docs/diagnosis.md), fewer than two show none.
TRACED_EXECUTIONS: Final = 5
FEWEST_EXECUTIONS: Final = 2
# Callgrind takes about this many times as long as the program *(measured on C and Rust)*.
CALLGRIND_TIMES: Final = 50
PYTHON_MINORS: Final = range(11, 16)

_TraceFiles = Mapping[str, tuple[Path, ...]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Traced:
    """`files`: by the commit's name, one or more each; empty if `error` says why nothing was traced."""

    by: str
    files: _TraceFiles = field(default_factory=dict)
    error: BotError | None = None

    @property
    def line(self) -> str:
        if self.error is None:
            return f"traced by {self.by}"
        return f"not traced, because {self.error.message}" + (
            f" ({self.error.next_step})" if self.error.next_step else ""
        )

    def profiles(self) -> list[tuple[Profile, ...]]:
        """Return each commit's profiles, in their order; raise `error` if there are none."""
        if self.error is not None:
            raise self.error
        return [read_profiles([*map(str, files)], trusted=True).profiles for files in self.files.values()]


@dataclass(frozen=True, kw_only=True, slots=True)
class Recording:
    """One trace to make. `folder` keeps its files."""

    command: str
    workplace: Workplace
    commits: Mapping[str, str]
    plan: TracePlan
    folder: Path
    say: Say

    def run(self, name: str, command: str | None = None, variables: Mapping[str, str] | None = None) -> Path:
        own = {**self.plan.variables.get(name, {}), **(variables or {})}
        return self.workplace.run(self.commits[name], command=command or self.command, variables=own)


@dataclass(frozen=True, kw_only=True, slots=True)
class Means:
    """`tools`: the ids of result formats that only this language's tools write, and `words` of its commands."""

    title: str
    record: Callable[[Recording], _TraceFiles]
    words: str
    tools: tuple[str, ...] = ()


def trace_revisions(
    command: str,
    tool: str,
    *,
    workplace: Workplace,
    commits: Mapping[str, str],
    plan: TracePlan,
    folder: Path,
    say: Say,
) -> Traced:
    """Trace each of `commits` (by name, the baseline first) executing `command`, and write the files into `folder`.

    `tool` is the format of the command's results, or `auto`; `PROFILED`: the command writes a profile to
    $PERF_CULPRIT_OUTPUT. A failure is in the answer: it changes no verdict, and costs no measurement.
    """
    means = means_of(command, tool)
    task = Recording(command=command, workplace=workplace, commits=commits, plan=plan, folder=folder, say=say)
    try:
        if means is None:
            # A script or a Makefile: its processes show what it runs.
            programs = programs_of(lambda: task.run(next(iter(commits))))
            means = means_of(" ".join(programs), tool) or NATIVE_MEANS
        if means is NATIVE_MEANS and not _has_perf():
            means = COUNTED_MEANS
        return Traced(by=means.title, files=means.record(task))
    except BotError as error:
        return Traced(by="" if means is None else means.title, error=error)


def means_of(command: str, tool: str) -> Means | None:
    """Return the means for the language of the tool, or else of the command's words, or None if both tell nothing."""
    by_tool = (means for means in MEANS if tool in means.tools)
    by_words = (
        means for means in MEANS if means.words and re.search(rf"(?<![\w.-])(?:{means.words})(?![\w-])", command)
    )
    return next(by_tool, None) or next(by_words, None)


def _by_tracer(task: Recording) -> _TraceFiles:
    with reached_python(task.command) as (command, site):
        traces = trace_commits(
            task.workplace, task.commits, plan=task.plan, say=task.say, command=command, variables=site
        )
    files = {name: (task.folder / f"{name}-trace.json",) for name in traces}
    for name, one in traces.items():
        replace_file(files[name][0], encode_trace(one))
    return files


@contextmanager
def reached_python(command: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the command and further variables by which its Python finds the tracer, even with its own PYTHONPATH."""
    with tempfile.TemporaryDirectory(prefix="culprit-site-") as name:
        yield own_python_path(command), _user_site(Path(name))


def own_python_path(command: str) -> str:
    """Return the command with the tracer's folder in front of each PYTHONPATH that it sets."""
    return re.sub(r"\bPYTHONPATH=(?=\S)", lambda match: f"{match[0]}{shlex.quote(str(HOOK_FOLDER))}:", command)


def _user_site(folder: Path) -> Mapping[str, str]:
    """A user site that finds the tracer even if a script of the command sets a PYTHONPATH of its own."""
    own = os.environ.get("PYTHONUSERBASE") or str(Path.home() / ".local")
    for minor in PYTHON_MINORS:
        place = f"lib/python3.{minor}/site-packages"
        (folder / place).mkdir(parents=True)
        lines = (
            f"import sys; sys.path.insert(0, {str(HOOK_FOLDER)!r})",
            f"import site; site.addsitedir({f'{own}/{place}'!r})",
        )
        (folder / place / "tracer.pth").write_text("\n".join(lines))
    return {"PYTHONUSERBASE": str(folder)}


# Executes the command on a commit with a profiler whose files go into a folder, and returns one profile.
Profiler = Callable[[Recording, str, Path], Path]


def in_turn(task: Recording, profiler: Profiler) -> _TraceFiles:
    """Profile all commits alternately, so that all see the same machine conditions."""
    files: dict[str, list[Path]] = {name: [] for name in task.commits}
    begun = time.monotonic()
    for number in range(TRACED_EXECUTIONS):
        spent = time.monotonic() - begun
        if number >= FEWEST_EXECUTIONS and spent * (number + 1) / number > len(files) * task.plan.budget_s:
            break
        for name in task.commits:
            with tempfile.TemporaryDirectory(prefix="culprit-profile-") as scratch:
                made = profiler(task, name, Path(scratch))
                if not made.stat().st_size or not _samples(made):
                    raise DataError("the command ended before it was sampled", next_step="trace a longer one")
                files[name].append(task.folder / f"{name}-trace-{number + 1}{made.suffix}")
                shutil.copyfile(made, files[name][-1])
    return {name: tuple(some) for name, some in files.items()}


def _own(task: Recording, name: str, _scratch: Path) -> Path:
    """Execute a command that writes a profile itself."""
    return task.run(name)


def _go(task: Recording, name: str, scratch: Path) -> Path:
    options = shlex.join([f"-cpuprofile={scratch}/cpu.pprof", f"-o={scratch}/package.test"])
    _run_with(task, name, scratch, "go", f'[ "$1" != test ] || {{ shift; set -- test {options} "$@"; }}\nexec %s "$@"')
    return _busiest(scratch.glob("*.pprof"), next_step="write `go test` with one package in the command")


# These start the program. A short one would have fewer samples than they have.
STARTERS: Final = "npm|npx|npm-cli.js|npx-cli.js|pnpm|pnpm.cjs|yarn|yarn.js|yarn.cjs|corepack|corepack.js"


def _node(task: Recording, name: str, scratch: Path) -> Path:
    options = f"--cpu-prof --cpu-prof-dir={shlex.quote(str(scratch))}"
    _run_with(
        task, name, scratch, "node", f'case "${{1##*/}}" in {STARTERS}) exec %s "$@" ;; esac\nexec %s {options} "$@"'
    )
    return _busiest(scratch.glob("*.cpuprofile"), next_step="start Node as `node`, which the PATH finds")


def _run_with(task: Recording, name: str, scratch: Path, program: str, script: str) -> None:
    """Execute the command with a script instead of a program, which npm and make find by the PATH as well."""
    path = os.environ.get("PATH", os.defpath)
    real = shutil.which(program, path=path)
    if real is None:
        raise DataError(f"{program} is not installed", next_step="install it, or give a profiler's command (--profile)")
    shim = scratch / "bin" / program
    shim.parent.mkdir()
    shim.write_text(f"#!/bin/sh\n{script.replace('%s', shlex.quote(real))}\n")
    shim.chmod(0o755)
    task.run(name, variables={"PATH": f"{shim.parent}:{path}"})


def _java(task: Recording, name: str, scratch: Path) -> Path:
    flag = f"-XX:StartFlightRecording=filename={scratch}/%p.jfr,settings=profile"
    options = f"{os.environ.get('JAVA_TOOL_OPTIONS', '')} {flag}".strip()
    task.run(name, variables={"JAVA_TOOL_OPTIONS": options})
    for file in scratch.glob("*.jfr"):
        _print([*JFR_PRINT, str(file)], file.with_suffix(".json"))
    return _busiest(scratch.glob("*.json"), next_step="run Java 17 or newer, and let it end by itself")


def _native(task: Recording, name: str, scratch: Path) -> Path:
    data = scratch / "perf.data"
    record = ["perf", "record", "-q", "-F", "199", "--call-graph", "dwarf,16384", "-o", str(data)]
    task.run(name, shlex.join([*record, "--", "sh", "-e", "-c", task.command]))
    return _print(["perf", "script", "--no-inline", "-i", str(data)], scratch / "stacks.perf")


def _by_counting(task: Recording) -> _TraceFiles:
    """Count instructions by function: exact, but so slow that the command has to be short."""
    begun = time.monotonic()
    task.run(next(iter(task.commits)))
    wanted_s = CALLGRIND_TIMES * (time.monotonic() - begun)
    if wanted_s > task.plan.budget_s:
        raise DataError(
            f"perf does not work on this machine, and counting instructions would take about {wanted_s:.0f} s a commit",
            next_step="give a command that runs one short benchmark, or a profiler's command (--profile)",
        )
    files = {}
    for name, commit in task.commits.items():
        made = _busiest(task.workplace.count_functions(commit), next_step="let the program end by itself")
        files[name] = (task.folder / f"{name}-trace.callgrind",)
        shutil.copyfile(made, files[name][0])
    return files


def _has_perf() -> bool:
    if shutil.which("perf") is None:
        return False
    probe = ["perf", "record", "-q", "-g", "-o", os.devnull, "--", "true"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


def _busiest(files: Iterable[Path], *, next_step: str) -> Path:
    """The profile with the most samples: a shell or npm may have started the program, and waited."""
    chosen = max(files, key=_samples, default=None)
    if chosen is None:
        raise DataError("the command left no profile", next_step=next_step)
    return chosen


def _samples(file: Path) -> float:
    profiles = read_profiles([str(file)], trusted=True).profiles
    return sum(math.fsum(node.self_ms) for profile in profiles for node in profile.nodes)


def _print(command: Sequence[str], file: Path) -> Path:
    with file.open("wb") as output:
        done = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, check=False)
    if done.returncode:
        raise DataError(f"{command[0]} could not print the profile: {done.stderr.decode(errors='replace')[-200:]}")
    return file


PYTHON_MEANS: Final = Means(
    title="our tracer for Python",
    record=_by_tracer,
    words=r"python[0-9.]*|pytest|asv|pyperf|tox|nox|uv run",
    tools=("pytest_benchmark", "pytest_benchmark_text", "pyperf", "asv", "asv_text"),
)
NATIVE_MEANS: Final = Means(
    title="perf",
    record=lambda task: in_turn(task, _native),
    words="",
    tools=(
        "google_benchmark",
        "google_benchmark_csv",
        "google_benchmark_text",
        "catch2_xml",
        "catch2_text",
        "nanobench",
        "criterion",
        "divan",
    ),
)
COUNTED_MEANS: Final = Means(title="callgrind", record=_by_counting, words="")
GO_MEANS: Final = Means(
    title="go test -cpuprofile",
    record=lambda task: in_turn(task, _go),
    words="go test",
    tools=("go_text", "go_json"),
)
NODE_MEANS: Final = Means(
    title="node --cpu-prof",
    record=lambda task: in_turn(task, _node),
    words="node|npm|npx|pnpm|yarn|vitest",
    tools=("mitata", "mitata_text", "tinybench", "vitest", "vitest_5_text"),
)
JAVA_MEANS: Final = Means(
    title="Java's Flight Recorder",
    record=lambda task: in_turn(task, _java),
    words=r"java|mvn|mvnw|gradle|gradlew",
    tools=("jmh", "jmh_csv"),
)
PROFILED: Final = "profile"
GIVEN_PROFILER: Final = Means(
    title="the given profiler", record=lambda task: in_turn(task, _own), words="", tools=(PROFILED,)
)
MEANS: Final = (GIVEN_PROFILER, GO_MEANS, PYTHON_MEANS, NODE_MEANS, JAVA_MEANS, NATIVE_MEANS)
