"""Deterministic counts of the user's command by valgrind: instructions, allocations, allocated bytes.

All processes of the command are counted, the shell among them. What makes two runs of one program differ is fixed: the
seed of Python's hashes, the layout of addresses, the locale. What is left is noise that a search learns like any other.
"""

import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Final

from bot.model.metric import Direction, Metric
from bot.model.run import Benchmark, Run

BENCHMARK: Final = "command"  # what a count is of: the whole command
MINIMUM_EFFECT: Final = 0.005  # below it a different path of a worktree, a longer file, is a change too
PACKAGE: Final = "valgrind"


class Count(StrEnum):
    """What can be counted, as `--metric` names it."""

    INSTRUCTIONS = "instructions"
    ALLOCATIONS = "allocations"
    ALLOCATED_BYTES = "allocated-bytes"


@dataclass(frozen=True, kw_only=True, slots=True)
class Method:
    """`total` finds the number of one process in its log."""

    options: tuple[str, ...]
    total: re.Pattern[str]
    unit: str
    environment: Mapping[str, str]


# Python takes small objects from pools of its own, which valgrind does not see.
_EVERY_OBJECT: Final = {"PYTHONMALLOC": "malloc"}
_HEAP: Final = ("--tool=dhat", "--dhat-out-file=/dev/null")
METHODS: Final[Mapping[Count, Method]] = {
    Count.INSTRUCTIONS: Method(
        options=("--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"),
        total=re.compile(r"==\d+== I +refs: +([\d,]+)"),
        unit="instructions",
        environment={},
    ),
    Count.ALLOCATIONS: Method(
        options=_HEAP,
        total=re.compile(r"==\d+== Total: +[\d,]+ bytes in ([\d,]+) blocks"),
        unit="allocations",
        environment=_EVERY_OBJECT,
    ),
    Count.ALLOCATED_BYTES: Method(
        options=_HEAP,
        total=re.compile(r"==\d+== Total: +([\d,]+) bytes in"),
        unit="B/op",
        environment=_EVERY_OBJECT,
    ),
}
FIXED: Final = {"PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8"}


def is_missing() -> str | None:
    """Why nothing can be counted here, with what to install; None where it can."""
    return None if shutil.which("valgrind") else f"valgrind is not installed (package {PACKAGE})"


@cache
def _fixed_layout() -> tuple[str, ...]:
    """The prefix that fixes addresses; nothing where the machine does not allow it (some containers)."""
    if shutil.which("setarch") is None:
        return ()
    done = subprocess.run(["setarch", "-R", "true"], capture_output=True, check=False)
    return ("setarch", "-R") if done.returncode == 0 else ()


def counted_command(command: str, count: Count, logs: Path) -> str:
    """The shell command that runs `command` and leaves one log per process in `logs`."""
    valgrind = ("valgrind", *METHODS[count].options, "--trace-children=yes", f"--log-file={logs}/%p.log")
    return shlex.join([*_fixed_layout(), *valgrind, "sh", "-e", "-c", command])


def environment(count: Count) -> dict[str, str]:
    return {**FIXED, **METHODS[count].environment}


def counted_run(count: Count, logs: Path) -> Run | None:
    """The sum over all processes as a run; None where no process left a number."""
    method = METHODS[count]
    found = [method.total.search(log.read_text(errors="replace")) for log in sorted(logs.iterdir())]
    numbers = [int(one[1].replace(",", "")) for one in found if one is not None]
    if not numbers:
        return None
    metric = Metric(name=count.value, unit=method.unit, direction=Direction.LOWER_IS_BETTER)
    return Run(benchmarks=(Benchmark(name=BENCHMARK, metric=metric, samples=(float(sum(numbers)),)),))
