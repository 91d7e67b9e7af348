"""The environment of a measurement: this machine, its toolchain, and which files they may complete."""

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Final

from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.run import Environment, Run
from perf_culprit.read.results.locked_packages import lock_environment
from perf_culprit.read.results.parsed import components, epoch_time

TOOLS: Final[Mapping[str, tuple[str, ...]]] = {
    "gcc": ("gcc", "-dumpfullversion"),
    "clang": ("clang", "-dumpversion"),
    "rust": ("rustc", "--version"),
    "go": ("go", "version"),
    "node": ("node", "--version"),
    "java": ("java", "-version"),
    "dotnet": ("dotnet", "--version"),
    "python": ("python3", "--version"),
}
# Our environment may hold a token, so only the variables that locate the tools are passed on. Nothing is downloaded.
PASSED_ON: Final = ("PATH", "HOME", "CARGO_HOME", "RUSTUP_HOME", "JAVA_HOME", "DOTNET_ROOT", "LD_LIBRARY_PATH")
OFFLINE: Final = {"GOTOOLCHAIN": "local", "RUSTUP_AUTO_INSTALL": "0", "DOTNET_CLI_TELEMETRY_OPTOUT": "1"}
BOOT_FACT: Final = Path("/proc/sys/kernel/random/boot_id")
# Of GitHub, GitLab, Jenkins, CircleCI, Buildkite and Azure.
CI_RUNS: Final = (
    ("GITHUB_RUN_ID", "GITHUB_RUN_ATTEMPT", "GITHUB_JOB", "RUNNER_NAME"),
    ("CI_JOB_ID",),
    ("BUILD_TAG",),
    ("CIRCLE_WORKFLOW_JOB_ID",),
    ("BUILDKITE_JOB_ID",),
    ("SYSTEM_JOBID",),
)
_VERSION: Final = re.compile(r"\d+(?:\.[\w+-]+)+|\b\d+\b")


@cache
def toolchain(folder: Path) -> Environment:
    """Return the versions of the tools that answer. They run in parallel in `folder`, whose files may choose one."""
    answers = {name: _start_tool(words, folder) for name, words in TOOLS.items() if shutil.which(words[0])}
    return components(**{name: None if tool is None else _version(tool) for name, tool in answers.items()})


def _start_tool(words: tuple[str, ...], folder: Path) -> "subprocess.Popen[str] | None":
    try:
        return subprocess.Popen(
            words,
            cwd=folder,
            env={**{name: os.environ[name] for name in PASSED_ON if name in os.environ}, **OFFLINE},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    except OSError:
        return None


def _version(tool: "subprocess.Popen[str]") -> str | None:
    with tool:
        try:
            text, _ = tool.communicate(timeout=FILE_LIMITS.machine_answer_s)
        except subprocess.TimeoutExpired:
            tool.kill()
            return None
    match = _VERSION.search(text.partition("\n")[0])
    return match[0] if match and tool.returncode == 0 else None


CPU_FACTS = Path("/proc/cpuinfo")
MEMORY_FACTS = Path("/proc/meminfo")
# The marks of Docker and Podman.
CONTAINER_MARKS = (Path("/.dockerenv"), Path("/run/.containerenv"))
# The action's image, in which nothing was measured.
OWN_IMAGE = Path("/opt/perf-culprit/bot/perf_culprit")
# "name=value" lines of a workflow, about what a container can't see: "gcc=14.2.0".
TOLD_VARIABLE = "PERF_CULPRIT_ENVIRONMENT"
# x86 writes "model name", and some ARM kernels "Model". s390 and others have no field for the model.
CPU_MODEL_FIELDS = ("model name", "Model", "cpu model")
BYTES_PER_GIB = 1 << 30


def machine_environment(environ: Mapping[str, str] | None = None) -> Environment:
    """Return CPU, memory, system, the workflow's facts and a GitHub runner's image. Unknown facts are left out."""
    variables = os.environ if environ is None else environ
    lines = (line.partition("=") for line in variables.get(TOLD_VARIABLE, "").splitlines())
    stated = components(**{name.strip(): value for name, _, value in lines if name.strip()})
    return stated.merged(_seen(variables))


def surroundings(folder: Path) -> Environment:
    """Return this machine's environment, its compilers and runtimes, and the packages of lock files in `folder`."""
    tools = Environment() if OWN_IMAGE.exists() else toolchain(folder)
    return machine_environment().merged(tools).merged(lock_environment(folder))


def _seen(variables: Mapping[str, str]) -> Environment:
    return components(
        cpu=_cpu_model(_read_fact(CPU_FACTS)),
        cpu_count=os.cpu_count(),
        architecture=platform.machine(),
        memory=_memory(_read_fact(MEMORY_FACTS)),
        os=platform.system(),
        os_release=platform.release(),
        runner_image=_runner_image(variables),
        # A container's name does not identify a machine.
        boot=_read_fact(BOOT_FACT).strip() or None,
        ci_run=_ci_run(variables),
        host=None if any(map(Path.exists, CONTAINER_MARKS)) else platform.node(),
        python=None if OWN_IMAGE.exists() else platform.python_version(),
    )


def _read_fact(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _cpu_model(facts: str) -> str | None:
    fields = _fields(facts)
    return next((fields[name] for name in CPU_MODEL_FIELDS if fields.get(name)), None)


def _memory(facts: str) -> str | None:
    """Return the memory in whole GiB, because the kernel's own share differs between boots."""
    number, _, unit = _fields(facts).get("MemTotal", "").partition(" ")
    return f"{round(int(number) * 1024 / BYTES_PER_GIB)} GiB" if number.isdecimal() and unit == "kB" else None


def _fields(facts: str) -> dict[str, str]:
    """Parse `name : value` lines; the first of each name counts (one block per CPU)."""
    fields: dict[str, str] = {}
    for line in facts.splitlines():
        name, _, value = line.partition(":")
        fields.setdefault(name.strip(), value.strip())
    return fields


def _ci_run(variables: Mapping[str, str]) -> str | None:
    """Return what names one run of a job: runs of one share its machine and its time."""
    return next(
        (" ".join(variables[name] for name in names) for names in CI_RUNS if all(map(variables.get, names))), None
    )


def _runner_image(variables: Mapping[str, str]) -> str | None:
    """Return the image of a GitHub-hosted runner. Other runners state at least that they are self-hosted."""
    image, version = variables.get("ImageOS"), variables.get("ImageVersion")
    if image:
        return f"{image} {version}" if version else image
    return variables.get("RUNNER_ENVIRONMENT") or None


# GitHub's own machines end a job after six hours, so the job that collects older results did not measure them.
LONGEST_JOB: Final = timedelta(hours=6)
# Clocks that count from the start of a test are far below this; no test lasts ten years.
FIRST_DATE_S: Final = 10 * 365 * 86_400
ARCHITECTURES: Final[Mapping[str, str]] = {"amd64": "x86_64", "x64": "x86_64", "arm64": "aarch64"}
SYSTEMS: Final[Mapping[str, str]] = {"macos": "darwin"}
_NOISE: Final = re.compile(r"\((?:r|tm)\)|@.*|\b(?:cpu|processor|\d+-core)\b", re.IGNORECASE)


def elsewhere(run: Run, machine: Environment, *, now: datetime) -> str | None:
    """Return the evidence that the file was measured elsewhere or earlier, such as "os: Windows"; None without any.

    Otherwise this machine's environment may complete the file. docs/history.md states the rule in words.
    """
    theirs, ours = run.environment.components, machine.components
    for name, same in _SAME.items():
        if name in theirs and name in ours and not same(theirs[name], ours[name]):
            return f"{name}: {theirs[name]}"
    if "host" in theirs and "host" not in ours and not run.benchmarks:
        # Counters are often a server's. In a container, this machine's name is unknown and cannot be compared.
        return f"host: {theirs['host']}"
    if (time := _time(run)) is not None and abs(now - time) > LONGEST_JOB:
        return f"time: {time.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    return None


def _time(run: Run) -> datetime | None:
    """Return the end of the file's measurement if it is dated, else the run's time."""
    ends = [float(table.times_s[-1]) for table in run.counters if len(table.times_s)]
    dated = [end for end in ends if end >= FIRST_DATE_S]
    return epoch_time(max(dated)) if dated else run.time


def _same_cpu(first: str, second: str) -> bool:
    """Whether two names denote one processor. Tools may add "(R)", "CPU @ 2.50GHz" or "64-Core Processor"."""
    words = [set(re.findall(r"[a-z0-9]+", _NOISE.sub(" ", name).lower())) for name in (first, second)]
    return words[0] <= words[1] or words[1] <= words[0]


def _known_as(names: Mapping[str, str]) -> Callable[[str, str], bool]:
    return lambda *both: len({names.get(name.lower(), name.lower()) for name in both}) == 1


def _same_host(first: str, second: str) -> bool:
    return first.partition(".")[0].lower() == second.partition(".")[0].lower()


_SAME: Final[Mapping[str, Callable[[str, str], bool]]] = {
    "cpu": _same_cpu,
    "architecture": _known_as(ARCHITECTURES),
    "os": _known_as(SYSTEMS),
    "host": _same_host,
    "cpu_count": _known_as({}),
}
