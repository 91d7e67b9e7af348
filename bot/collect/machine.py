"""The environment of this machine, for results that do not say where they were measured."""

import os
import platform
from collections.abc import Mapping
from pathlib import Path

from bot.collect.packages import lock_environment
from bot.collect.parser import components
from bot.collect.toolchain import toolchain
from bot.model.environment import Environment

CPU_FACTS = Path("/proc/cpuinfo")
MEMORY_FACTS = Path("/proc/meminfo")
# Docker's and podman's.
CONTAINER_MARKS = (Path("/.dockerenv"), Path("/run/.containerenv"))
# The action's image: what runs in it measured nothing.
OWN_IMAGE = Path("/opt/perf-culprit/bot")
# "name=value" lines of a workflow, about what a container can't see: "gcc=14.2.0".
TOLD_VARIABLE = "PERF_CULPRIT_ENVIRONMENT"
# x86 writes "model name"; some ARM kernels "Model"; s390 and others nothing that names the model.
CPU_MODEL_FIELDS = ("model name", "Model", "cpu model")
BYTES_PER_GIB = 1 << 30


def machine_environment(environ: Mapping[str, str] | None = None) -> Environment:
    """CPU, memory, system, what the workflow says and, on a GitHub runner, its image. What is not known is left out."""
    variables = os.environ if environ is None else environ
    lines = (line.partition("=") for line in variables.get(TOLD_VARIABLE, "").splitlines())
    told = components(**{name.strip(): value for name, _, value in lines if name.strip()})
    return told.merged(_seen(variables))


def surroundings(folder: Path) -> Environment:
    """This machine, the compilers and runtimes on it, and the packages that the lock files in `folder` name."""
    tools = Environment() if OWN_IMAGE.exists() else toolchain(folder)
    return machine_environment().merged(tools).merged(lock_environment(folder))


def _seen(variables: Mapping[str, str]) -> Environment:
    return components(
        cpu=_cpu_model(_read(CPU_FACTS)),
        cpu_count=os.cpu_count(),
        architecture=platform.machine(),
        memory=_memory(_read(MEMORY_FACTS)),
        os=platform.system(),
        os_release=platform.release(),
        runner_image=_runner_image(variables),
        # A container's name is no machine's.
        host=None if any(map(Path.exists, CONTAINER_MARKS)) else platform.node(),
        python=None if OWN_IMAGE.exists() else platform.python_version(),
    )


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _cpu_model(facts: str) -> str | None:
    fields = _fields(facts)
    return next((fields[name] for name in CPU_MODEL_FIELDS if fields.get(name)), None)


def _memory(facts: str) -> str | None:
    """Whole GiB: the kernel's own share differs from boot to boot."""
    number, _, unit = _fields(facts).get("MemTotal", "").partition(" ")
    return f"{round(int(number) * 1024 / BYTES_PER_GIB)} GiB" if number.isdecimal() and unit == "kB" else None


def _fields(facts: str) -> dict[str, str]:
    """`name : value` lines; the first of a name counts (one block per CPU)."""
    fields: dict[str, str] = {}
    for line in facts.splitlines():
        name, _, value = line.partition(":")
        fields.setdefault(name.strip(), value.strip())
    return fields


def _runner_image(variables: Mapping[str, str]) -> str | None:
    """GitHub's hosted runners say their image; others at least say that they are runners of their own."""
    image, version = variables.get("ImageOS"), variables.get("ImageVersion")
    if image:
        return f"{image} {version}" if version else image
    return variables.get("RUNNER_ENVIRONMENT") or None
