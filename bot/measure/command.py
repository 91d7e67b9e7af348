"""One command as a process group: its time limit, its output, and that nothing of it stays behind."""

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO, Final

from bot.errors import InfrastructureError
from bot.measure.confined import shell
from bot.measure.escaped import end_escaped, guard
from bot.measure.log import Log

# GitHub cancels a job with SIGINT, SIGTERM after 7.5 s and SIGKILL 2.5 s later: we must be done before that.
GRACE_SECONDS: Final = 3.0
POLL_SECONDS: Final = 0.1
DRAIN_SECONDS: Final = 1.0
CHUNK_BYTES: Final = 1 << 16
MAXIMUM_OUTPUT_BYTES: Final = 1 << 30  # as much as `collect` reads of one JSON file


def run_command(
    command: str,
    *,
    directory: Path,
    environment: Mapping[str, str],
    log: Log,
    timeout_seconds: float,
    standard_output: BinaryIO | None = None,
    confined: bool = False,
) -> str | None:
    """Run a shell command to its end: why it failed, or None. All that it started is gone when this returns or raises.

    `confined`: in a PID namespace, where this machine allows one.
    """
    guard()
    started = time.monotonic()
    try:
        process = subprocess.Popen(
            shell(command, confined=confined),
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # A session of its own: no terminal to read from, and Ctrl-C reaches us alone, who then end it in order.
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise InfrastructureError(
            f"the command could not be started: {error}", place=str(directory), next_step="check the command"
        ) from None
    except BaseException:
        # Interrupted right after the fork: the command runs, and nobody holds it.
        end_escaped()
        raise
    with process:
        try:
            output = _Output(process, log=log, standard_output=standard_output)
            fault = output.pump(started + timeout_seconds, timeout_seconds) or _fault(process.returncode)
        finally:
            end_group(process)
            gone, left = end_escaped()
        output.drain()
    if gone:
        log.remark(f"ended {gone - left} processes that had left the command's session")
    if left:
        log.remark(f"could not end {left}, as they are another user's: they may disturb what is measured next")
    log.remark(f"{fault or 'done'} after {time.monotonic() - started:.1f} s")
    return fault


def end_group(process: subprocess.Popen[bytes]) -> None:
    """TERM, a moment, KILL, for all that is left of the process's group, also after the process itself has ended."""
    group = process.pid
    if not _signal(process, signal.SIGTERM):
        return
    deadline = time.monotonic() + GRACE_SECONDS
    while time.monotonic() < deadline:
        if not _signal(process, 0):
            return
        time.sleep(0.01)
    _signal(process, signal.SIGKILL)
    process.wait()
    _reap(group)


def end_orphans(folder: Path) -> None:
    """Kill what still works inside a folder of ours after its parent is gone. Only Linux tells; elsewhere it stays."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            is_inside = (entry / "cwd").readlink().is_relative_to(folder)
            if is_inside:
                os.kill(int(entry.name), signal.SIGKILL)
        except OSError:
            # Ended meanwhile, or another user's.
            continue


def _signal(process: subprocess.Popen[bytes], number: int) -> bool:
    """False where nobody is left in the group."""
    process.poll()
    _reap(process.pid)
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        # A member became another user: as much as we may is done.
        return False
    return True


def _reap(group: int) -> None:
    """Orphans are ours to wait for where we are the container's first process: zombies would look alive."""
    try:
        while os.waitpid(-group, os.WNOHANG) != (0, 0):
            pass
    except ChildProcessError:
        pass


class _Output:
    """Both pipes of a process: all into the log, the standard one also into its file."""

    def __init__(self, process: subprocess.Popen[bytes], *, log: Log, standard_output: BinaryIO | None) -> None:
        self._process = process
        self._log = log
        self._file = standard_output
        self._written = 0
        self._selector = selectors.DefaultSelector()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                self._selector.register(stream, selectors.EVENT_READ, stream is process.stdout)

    def pump(self, deadline: float, timeout_seconds: float) -> str | None:
        """Until the process ends (a child that stays may hold the pipes open) or must be ended; then why."""
        while self._process.poll() is None:
            if time.monotonic() > deadline:
                return f"took longer than {timeout_seconds:g} s"
            if self._written > MAXIMUM_OUTPUT_BYTES:
                return f"printed more than {MAXIMUM_OUTPUT_BYTES >> 20} MiB"
            if self._selector.get_map():
                self._read(POLL_SECONDS)
            else:
                self._wait(min(POLL_SECONDS, deadline - time.monotonic()))
        return None

    def drain(self) -> None:
        """What is still in the pipes; not what an escaped child writes later."""
        deadline = time.monotonic() + DRAIN_SECONDS
        while time.monotonic() < deadline and self._selector.get_map() and self._read(0):
            pass
        self._selector.close()

    def _wait(self, seconds: float) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(max(seconds, 0))

    def _read(self, timeout_seconds: float) -> bool:
        ready = self._selector.select(timeout_seconds)
        for key, _ in ready:
            data = os.read(key.fd, CHUNK_BYTES)
            if not data:
                self._selector.unregister(key.fileobj)
                continue
            self._log.write(data)
            if key.data and self._file is not None and self._written <= MAXIMUM_OUTPUT_BYTES:
                self._file.write(data)
                self._written += len(data)
        return bool(ready)


def _fault(exit_code: int) -> str | None:
    if exit_code == 0:
        return None
    # A shell reports its last child's signal as 128 + number.
    number = -exit_code if exit_code < 0 else exit_code - 128
    if exit_code < 0 or exit_code > 128:
        try:
            name = signal.Signals(number).name
        except ValueError:
            return f"ended with exit code {exit_code}"
        hint = " (killed from outside: out of memory?)" if number == signal.SIGKILL else ""
        return f"ended by {name}{hint}"
    return f"ended with exit code {exit_code}"
