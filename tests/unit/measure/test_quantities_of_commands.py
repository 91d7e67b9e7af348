"""Counts by valgrind: its options, its logs, and the behaviour without it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from perf_culprit.measure.processes import Log
from perf_culprit.measure.quantities_of_commands import (
    FIXED,
    METHODS,
    _has_counter,
    counted_command,
    sum_of_processes,
    why_uncountable,
)
from perf_culprit.measure.runner import Commands, ExecutionError
from perf_culprit.measure.workplace import open_workplace
from perf_culprit.model.count import Count
from perf_culprit.read.results.collect import collect
from tests.support.git_repository import import_commits, init_repository

INSTRUCTIONS = "==7== Cachegrind, a profiler\n==7== \n==7== I   refs:      380,855,843\n"
HEAP = "==8== Total:     5,061,246 bytes in 19,031 blocks\n==8== At t-gmax: 1,028 bytes in 2 blocks\n"
STRACE = (
    "% time     seconds  usecs/call     calls    errors syscall\n"
    "  0.00    0.000000           0         2           rseq\n"
    "------ ----------- ----------- --------- --------- ----------------\n"
    "100.00    0.000231           1       218        31 total\n"
)


def logs_of(tmp_path: Path, *texts: str) -> Path:
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.log").write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("count", "text", "total"),
    [
        (Count.INSTRUCTIONS, INSTRUCTIONS, 380855843.0),
        (Count.ALLOCATIONS, HEAP, 19031.0),
        (Count.ALLOCATED_BYTES, HEAP, 5061246.0),
        (Count.INSTRUCTIONS_U, "# started on Sun\n\n1234567;;instructions:u;0;100.00;;\n", 1234567.0),
        (Count.SYSTEM_CALLS, STRACE, 218.0),
        (Count.IO_BYTES, "rchar: 700\nwchar: 81\nsyscr: 9\nread_bytes: 4096\n", 781.0),
    ],
)
def test_all_processes_are_summed(tmp_path: Path, count: Count, text: str, total: float) -> None:
    entry = sum_of_processes(count, logs_of(tmp_path, text, "==9== killed\n", text))
    assert entry is not None
    assert (entry.key.benchmark, entry.key.metric) == ("command", count.value)
    assert entry.samples == (2 * total,)


def test_the_peak_is_that_of_the_largest_process(tmp_path: Path) -> None:
    entry = sum_of_processes(Count.PEAK_HEAP, logs_of(tmp_path, HEAP, HEAP.replace("1,028", "2,056")))
    assert entry is not None
    assert entry.samples == (2056.0,)


def test_no_process_left_a_number(tmp_path: Path) -> None:
    assert sum_of_processes(Count.INSTRUCTIONS, logs_of(tmp_path, "==9== killed\n")) is None


def test_the_command_stays_one_word_for_the_shell(tmp_path: Path) -> None:
    command = counted_command("echo 'a b' | ./bench", METHODS[Count.INSTRUCTIONS].command, tmp_path)
    assert command.endswith("sh -e -c 'echo '\"'\"'a b'\"'\"' | ./bench'")
    assert "--cache-sim=no" in command


@pytest.fixture
def fake_valgrind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install a fake valgrind that runs the command and reports the count in the worktree's file `value`."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "valgrind"
    script.write_text(
        '#!/bin/sh\nfor option in "$@"; do case "$option" in --log-file=*) log="${option#--log-file=}";; esac; done\n'
        'while [ "$1" != sh ]; do shift; done\n"$@" || exit\n'
        'echo "==1== I   refs:      $(cat value)" > "$(dirname "$log")/1.log"\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{Path('/usr/bin')}:/bin")
    return script


def instructions(repository: Path, run: str) -> float:
    commit = import_commits(repository, {"one": [], "two": ["one"]})["two"]
    commands = Commands(run=run, build="echo 1,234 > value", count=Count.INSTRUCTIONS, run_timeout_seconds=20)
    with (
        Log(repository.parent / "log.txt") as log,
        open_workplace(repository, commands=commands, read=lambda path: collect([str(path)]), log=log) as workplace,
    ):
        workplace.warm_up(commit)
        _, run_of_one = workplace.execute(commit)
        (entry,) = run_of_one.benchmarks
        return entry.samples[0]


@pytest.mark.usefixtures("fake_valgrind")
def test_a_counted_execution(tmp_path: Path) -> None:
    assert why_uncountable(Count.INSTRUCTIONS) is None
    repository = init_repository(tmp_path / "repository")
    assert instructions(repository, "echo whatever it prints is no result") == 1234.0


@pytest.mark.usefixtures("fake_valgrind")
def test_what_differs_from_run_to_run_is_fixed(tmp_path: Path) -> None:
    repository = init_repository(tmp_path / "repository")
    seen = tmp_path / "seen"
    instructions(repository, f'echo "$PYTHONHASHSEED $LC_ALL" >> {seen}')
    _, execution = seen.read_text().splitlines()
    assert execution == f"{FIXED['PYTHONHASHSEED']} {FIXED['LC_ALL']}"


@pytest.mark.usefixtures("fake_valgrind")
def test_a_command_that_fails_under_valgrind(tmp_path: Path) -> None:
    repository = init_repository(tmp_path / "repository")
    with pytest.raises(ExecutionError, match="exit code 7"):
        instructions(repository, "exit 7")


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="the kernel does not count reads and writes")
def test_reads_and_writes_of_all_processes_are_bytes(tmp_path: Path) -> None:
    assert why_uncountable(Count.IO_BYTES) is None

    def counted_bytes(size: int) -> float:
        folder = tmp_path / f"logs {size}"  # a name that the shell must not split
        folder.mkdir()
        run = f"head -c {size} /dev/zero | cat > {tmp_path}/out; (exit 3) || sh -c 'exit 0'"
        command = counted_command(run, METHODS[Count.IO_BYTES].command, folder)
        subprocess.run(["sh", "-e", "-c", command], check=True)
        entry = sum_of_processes(Count.IO_BYTES, folder)
        assert entry is not None
        return entry.samples[0]

    # Each byte is read and written twice: by head, and by cat.
    assert counted_bytes(500_000) - counted_bytes(100_000) == pytest.approx(4 * 400_000, rel=0.01)


@pytest.mark.parametrize("quantity", [Count.IO_BYTES, Count.PEAK_MEMORY])
def test_a_command_keeps_its_exit_code_under_every_counter_of_ours(tmp_path: Path, quantity: Count) -> None:
    command = counted_command("exit 7", METHODS[quantity].command, tmp_path)
    assert subprocess.run(["sh", "-e", "-c", command], check=False).returncode == 7


def test_the_peak_of_memory_is_the_largest_process_s_and_not_our_own(tmp_path: Path) -> None:
    def peak(run: str) -> float:
        subprocess.run(
            ["sh", "-e", "-c", counted_command(run, METHODS[Count.PEAK_MEMORY].command, tmp_path)], check=True
        )
        entry = sum_of_processes(Count.PEAK_MEMORY, tmp_path)
        assert entry is not None
        return entry.samples[0]

    assert peak(":") < 5e6  # a Python process needs twice as much
    allocating = f"{sys.executable} -S -c 'bytearray(SIZE * 1000000)'"
    grown = peak(f"true | {allocating.replace('SIZE', '60')}") - peak(allocating.replace("SIZE", "20"))
    assert grown == pytest.approx(40e6, rel=0.05)


def test_without_valgrind_the_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    packages = {Count.PEAK_HEAP: "valgrind", Count.SYSTEM_CALLS: "strace", Count.INSTRUCTIONS_U: "linux-perf"}
    for count, package in packages.items():
        assert f"package {package}" in (why_uncountable(count) or "")


@pytest.mark.usefixtures("fake_valgrind")
def test_a_machine_without_hardware_counters_says_so(tmp_path: Path) -> None:
    perf = tmp_path / "bin" / "perf"
    for answer, missing in (("<not supported>", True), ("1234", False)):
        perf.write_text(f"#!/bin/sh\necho '{answer};;instructions:u;0;100.00;;' >&2\n")
        perf.chmod(0o755)
        _has_counter.cache_clear()
        assert ("hardware counters" in (why_uncountable(Count.INSTRUCTIONS_U) or "")) is missing
    _has_counter.cache_clear()


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_the_real_one_repeats_itself(tmp_path: Path) -> None:
    repository = init_repository(tmp_path / "repository")
    first, second = (instructions(repository, "sort /etc/hostname > /dev/null") for _ in range(2))
    assert first > 10_000
    assert abs(first - second) < 0.005 * first
