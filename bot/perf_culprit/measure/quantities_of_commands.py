"""Quantities of whole commands: the programs that count them, and the logs.

All processes of the command are counted, including the shell. Variation between runs of one program is fixed: the
seed of Python's hashes, the layout of addresses, the locale. The rest is noise, which a search estimates like any
other.
"""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

from perf_culprit.model.count import COMMAND_BENCHMARK, Count
from perf_culprit.model.counted_metric import metric_of
from perf_culprit.model.run import TIME, Benchmark, Direction, Execution, Metric
from perf_culprit.python_child import python


@dataclass(frozen=True, kw_only=True, slots=True)
class CountingMethod:
    """`command` starts with the program that counts; `{logs}` is the folder of its logs.

    `total` finds a process's numbers in its log, and `combine` makes one of those of all processes.
    """

    command: tuple[str, ...]
    total: re.Pattern[str]
    combine: Callable[[Iterable[int]], int] = sum
    environment: Mapping[str, str] = field(default_factory=dict)


# Python takes small objects from its own pools, which valgrind does not see.
_EVERY_OBJECT: Final = {"PYTHONMALLOC": "malloc"}
_VALGRIND: Final = ("valgrind", "--trace-children=yes", "--log-file={logs}/%p.log")
_HEAP: Final = (*_VALGRIND, "--tool=dhat", "--dhat-out-file=/dev/null")
# The kernel adds a process's reads and writes to its parent's when the parent has waited for it (proc(5)). `cat` would
# count its own. In a PID namespace only `self` is certain to be the shell.
_KEEPING_IO: Final = (
    'log=$1; shift; "$@"; code=$?; while read -r line; do echo "$line"; done < /proc/self/io > "$log"; exit $code'
)
# A shell's children count once it has waited for them, even after it became another program. A Python process around
# the command would count itself, 10 MB.
_SAY_MEMORY: Final = f"""
import resource, sys
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
open(sys.argv[1], "w").write(f"peak: {{peak * {1 if sys.platform == "darwin" else 1024}}}\\n")
sys.exit(int(sys.argv[2]))
"""
_KEEPING_MEMORY: Final = f'log=$1; shift; "$@"; exec {shlex.join(python("-I", "-S", "-c", _SAY_MEMORY))} "$log" "$?"'
METHODS: Final[Mapping[str, CountingMethod]] = {
    Count.INSTRUCTIONS: CountingMethod(
        command=(*_VALGRIND, "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"),
        total=re.compile(r"==\d+== I +refs: +([\d,]+)"),
    ),
    Count.INSTRUCTIONS_U: CountingMethod(
        command=("perf", "stat", "-x;", "-e", "instructions:u", "-o", "{logs}/perf.log", "--"),
        total=re.compile(r"^(\d+);[^;]*;instructions:u", re.MULTILINE),
    ),
    Count.ALLOCATIONS: CountingMethod(
        command=_HEAP,
        total=re.compile(r"==\d+== Total: +[\d,]+ bytes in ([\d,]+) blocks"),
        environment=_EVERY_OBJECT,
    ),
    Count.ALLOCATED_BYTES: CountingMethod(
        command=_HEAP,
        total=re.compile(r"==\d+== Total: +([\d,]+) bytes in"),
        environment=_EVERY_OBJECT,
    ),
    Count.PEAK_HEAP: CountingMethod(
        command=_HEAP,
        total=re.compile(r"==\d+== At t-gmax: +([\d,]+) bytes in"),
        combine=max,
        environment=_EVERY_OBJECT,
    ),
    Count.SYSTEM_CALLS: CountingMethod(
        command=("strace", "-f", "-c", "-o", "{logs}/strace.log"),
        total=re.compile(r"^100\.00 +[\d.]+ +\d+ +(\d+)(?: +\d+)? +total", re.MULTILINE),
    ),
    Count.IO_BYTES: CountingMethod(
        command=("sh", "-c", _KEEPING_IO, "sh", "{logs}/io.log"),
        total=re.compile(r"^[rw]char: (\d+)", re.MULTILINE),
    ),
    Count.PEAK_MEMORY: CountingMethod(
        command=("sh", "-c", _KEEPING_MEMORY, "sh", "{logs}/memory.log"),
        total=re.compile(r"peak: (\d+)"),
        combine=max,
    ),
}
# As INSTRUCTIONS, but by function: twice as slow, so only for a culprit and its parent.
BY_FUNCTION: Final = (*_VALGRIND, "--tool=callgrind", "--callgrind-out-file={logs}/%p.callgrind")
PACKAGES: Final = {"perf": "linux-perf, on Ubuntu linux-tools-generic"}  # the other packages are named after them
FIXED: Final = {"PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8"}


def why_uncountable(quantity: str) -> str | None:
    """Return why it cannot be counted here, with what to install. None if it can, or needs no counting."""
    if quantity not in METHODS:
        return None
    program, *_ = METHODS[quantity].command
    if shutil.which(program) is None:
        return not_installed(program)
    if quantity == Count.IO_BYTES and not Path("/proc/self/io").exists():
        return "this system does not count a process's reads and writes (/proc/self/io)"
    if quantity == Count.INSTRUCTIONS_U and not _has_counter():
        return "this machine shows no hardware counters (most virtual ones do not; use instructions)"
    return None


def not_installed(program: str) -> str:
    return f"{program} is not installed (package {PACKAGES.get(program, program)})"


@cache
def _has_counter() -> bool:
    probe = ["perf", "stat", "-x;", "-e", "instructions:u", "true"]
    done = subprocess.run(probe, capture_output=True, check=False, text=True)
    return METHODS[Count.INSTRUCTIONS_U].total.search(done.stderr) is not None


@cache
def _fixed_layout() -> tuple[str, ...]:
    """The prefix that fixes addresses; empty if the machine does not allow it (some containers)."""
    if shutil.which("setarch") is None:
        return ()
    done = subprocess.run(["setarch", "-R", "true"], capture_output=True, check=False)
    return ("setarch", "-R") if done.returncode == 0 else ()


def counted_command(command: str, counter: tuple[str, ...], logs: Path, *, fixed: bool = True) -> str:
    """Return the shell command that runs `command` under `counter`, whose logs go to `logs`.

    `fixed`: with the same layout of addresses each time.
    """
    words = [word.replace("{logs}", str(logs)) for word in counter]
    return shlex.join([*(_fixed_layout() if fixed else ()), *words, "sh", "-e", "-c", command])


def sum_of_processes(quantity: str, logs: Path) -> Benchmark | None:
    """Return the combined number of all processes, or None if no process left a number."""
    method = METHODS[quantity]
    texts = [log.read_text(errors="replace") for log in sorted(logs.iterdir())]
    numbers = [int(one.replace(",", "")) for text in texts for one in method.total.findall(text)]
    if not numbers:
        return None
    return benchmark_of(quantity, method.combine(numbers))


def benchmark_of(quantity: str, value: float) -> Benchmark:
    return Benchmark.of(name=COMMAND_BENCHMARK, metric=metric_of(quantity), samples=(float(value),))


def times(execution: Execution) -> tuple[Benchmark, ...]:
    """Both times of the command: the processor's, and by the clock, which is judged if the command waits."""
    wall = Metric(name=TIME, unit="s", direction=Direction.LOWER_IS_BETTER)
    by_clock = Benchmark.of(name=COMMAND_BENCHMARK, metric=wall, samples=(execution.seconds,))
    return benchmark_of(Count.CPU_TIME, execution.cpu_seconds), by_clock
