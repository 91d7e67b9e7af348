"""The processor time of commands, and their wait for a processor."""

import os
import subprocess
import sys
from pathlib import Path
from statistics import median

import pytest

from perf_culprit.measure.processes import Log, run_command
from perf_culprit.measure.processor_time import Meter
from perf_culprit.model.run import Execution

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the wait")
PYTHON = f"{sys.executable} -S -c"
COMPUTE = f"{PYTHON} 'sum(i * i for i in range(2000000))'"


def executed(command: str, folder: Path) -> Execution:
    meter = Meter()
    with Log(folder / "log.txt") as log:
        environment = {"PATH": os.environ["PATH"]}
        fault = run_command(
            command, directory=folder, environment=environment, log=log, timeout_seconds=30, meter=meter
        )
    assert fault is None
    assert meter.execution is not None
    return meter.execution


def on_processor(command: str, folder: Path) -> float:
    """The median share of a command's time, without its wait for a processor, in which it computed."""
    each = [executed(command, folder) for _ in range(5)]
    return median(one.cpu_seconds / (one.seconds - (one.delay_seconds or 0.0)) for one in each)


def test_the_times_of_all_processes_are_added(tmp_path: Path) -> None:
    alone, both = (executed(command, tmp_path).cpu_seconds for command in (COMPUTE, f"{COMPUTE}; {COMPUTE} | cat"))
    assert both == pytest.approx(2 * alone, rel=0.4)
    assert executed("sleep 0.1", tmp_path).cpu_seconds < 0.05


def test_what_computes_and_what_sleeps(tmp_path: Path) -> None:
    assert on_processor(f"true; {COMPUTE}", tmp_path) == pytest.approx(1, abs=0.1)
    assert on_processor(f"sleep 0.2; {COMPUTE}", tmp_path) < 0.75


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="keeps two processes on one processor")
def test_the_wait_for_a_processor_is_no_part_of_it(tmp_path: Path) -> None:
    one = str(min(os.sched_getaffinity(0)))
    pinned = ["taskset", "--cpu-list", one]
    with subprocess.Popen([*pinned, sys.executable, "-c", "while True: pass"]) as burner:
        try:
            execution = executed(f"exec {' '.join(pinned)} {COMPUTE}", tmp_path)
        finally:
            burner.kill()
    assert execution.delay_seconds is not None
    assert execution.delay_seconds > 0.2 * execution.seconds
    assert execution.cpu_seconds == pytest.approx(execution.seconds - execution.delay_seconds, rel=0.25)


def test_the_wait_of_processes_side_by_side_is_unknown(tmp_path: Path) -> None:
    assert executed(f"{COMPUTE} & {COMPUTE} & {COMPUTE}; wait", tmp_path).delay_seconds is None
