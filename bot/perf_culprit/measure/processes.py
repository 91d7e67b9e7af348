"""Run a command as a process group: its log, time limit and output; no process remains afterwards.

On Linux, a confined command sees only its own processes, and none of them outlives it. In a PID namespace with its own
/proc (pid_namespaces(7)), the step's shell, the runner and our process are invisible. The kernel ends all remaining
processes when the first one ends. Root creates the namespace directly, other users in a user namespace, where
set-user-ID programs such as sudo do not work. Many containers forbid it, and so does Ubuntu since 23.10 without a
profile.

A command's child with its own session (`setsid`, a daemon) has left the command's group. A child subreaper (prctl(2),
Linux 3.4) becomes the parent of such orphans, whatever their session, so they can be found. Processes started by
another one on request (a container engine, systemd) are not among them.
"""

import contextlib
import ctypes
import errno
import os
import re
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FrameType, TracebackType
from typing import BinaryIO, Final, Self

from perf_culprit.errors import InfrastructureError, unwritable
from perf_culprit.measure.processor_time import Meter, has_meter
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.undumpable import close_process

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def interruptible() -> Iterator[None]:
    """Let the first stop signal raise KeyboardInterrupt, and ignore later ones.

    So SIGTERM also ends the children and removes the worktrees, and a second Ctrl-C cannot interrupt this. Use it once,
    in the main thread, around everything that needs cleaning up.
    """
    stopping = False

    def stop(_number: int, _frame: FrameType | None) -> None:
        nonlocal stopping
        if not stopping:
            stopping = True
            raise KeyboardInterrupt

    # Ignored signals stay ignored, as nohup requires.
    heard = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, stop) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


PROBE_SECONDS: Final = 10
# The first process of a namespace ignores TERM unless it handles it. So it only waits for the one that does not.
FIRST_PROCESS: Final = 'sh -e -c "$0"\nexit $?'
BECOMES_ROOT: Final = re.compile(r"\b(sudo|doas|su)\b")


def shell(command: str, *, confined: bool) -> list[str]:
    """Return the arguments that run a shell command, `confined` if this machine allows it."""
    prefix = namespace() if confined and is_confinable(command) else ()
    return [*prefix, "sh", "-c", FIRST_PROCESS, command] if prefix else ["sh", "-e", "-c", command]


def is_confinable(command: str) -> bool:
    """Return whether to confine the command. One that uses sudo could escape, and would fail in a user namespace."""
    return os.geteuid() == 0 or BECOMES_ROOT.search(command) is None


@cache
def namespace() -> tuple[str, ...]:
    """Return the words before a command that give it a PID namespace; empty if this machine does not allow one."""
    as_user = () if os.geteuid() == 0 else ("--user", "--map-current-user")
    words = ("unshare", *as_user, "--pid", "--fork", "--kill-child=KILL", "--mount-proc", "--")
    try:
        probe = subprocess.run([*words, "true"], capture_output=True, timeout=PROBE_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return words if probe.returncode == 0 else ()


PR_SET_CHILD_SUBREAPER: Final = 36
# A process that forks faster than it is killed would keep us here forever.
SWEEP_SECONDS: Final = 3.0


@dataclass(frozen=True, kw_only=True, slots=True)
class _Process:
    id: int
    parent: int
    session: int


@cache
def guard() -> bool:
    """Adopt orphans of our commands, and hide our own environment from them; return whether that worked.

    /proc/PID/environ of a process that is not dumpable belongs to root. So a command's child cannot read variables
    there that its own environment withholds.
    """
    if sys.platform != "linux":
        return False
    close_process()
    return bool(ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


def end_escaped() -> tuple[int, int]:
    """Kill every descendant in another session than ours; return the numbers of ended and of remaining ones.

    Our own helpers (git) share our session. Commands get their own session, and their processes cannot join ours.
    """
    if not guard():
        return 0, 0
    ended: set[int] = set()
    deadline = time.monotonic() + SWEEP_SECONDS
    while (survivors := escaped()) and time.monotonic() < deadline:
        for process in survivors:
            ended.add(process.id)
            # It has ended already, or belongs to another user.
            with contextlib.suppress(OSError):
                os.kill(process.id, signal.SIGKILL)
        for process in survivors:
            if process.parent == os.getpid():
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(process.id, os.WNOHANG)
        time.sleep(0.005)
    return len(ended), len(survivors)


def escaped() -> tuple[_Process, ...]:
    try:
        # WNOWAIT leaves the exit status of the child to its waiter.
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return ()  # without children there are no descendants
    processes = tuple(_processes())
    session = os.getsid(0)
    ours = {os.getpid()}
    grown = True
    while grown:
        children = {process.id for process in processes if process.parent in ours} - ours
        ours |= children
        grown = bool(children)
    return tuple(process for process in processes if process.id in ours and process.session != session)


def _processes() -> Iterator[_Process]:
    names = os.listdir("/proc")  # noqa: PTH208 - of hundreds, only the names are wanted
    for number in filter(str.isdigit, names):
        try:
            with Path(f"/proc/{number}/stat").open("rb", buffering=0) as file:
                # The name is in brackets and may contain any characters, including brackets.
                _, parent, _, session = file.read().rpartition(b")")[2].split(maxsplit=4)[:4]
        except OSError:
            continue
        yield _Process(id=int(number), parent=int(parent), session=int(session))


TAIL_BYTES: Final = 4096
# The last line of a Python traceback, plain or from pytest: "E   ModuleNotFoundError: No module named 'x'".
_ERROR: Final = re.compile(r"(?:E\s+)?[\w.]*(?:Error|Exception)\b.*")
_COMPILER_ERROR: Final = re.compile(r".*:\d+.*\berror: ")
_POINTER: Final = re.compile(r"[|^~\s]+")  # below a quoted line of code


class Log:
    """One section per command. `tail` is the section's end as one line, for messages. `keep` appends to an old log."""

    def __init__(self, path: Path, *, keep: bool = False) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("ab" if keep else "wb", buffering=0)
        except OSError as error:
            raise unwritable(error, path) from None
        self._left = 0
        self._end = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def begin(self, title: str) -> None:
        self._left = FILE_LIMITS.log_section_bytes
        self._end = b""
        self.remark(f"{title}, {time.strftime('%H:%M:%S')}")

    def remark(self, text: str) -> None:
        self._file.write(f"=== {text}\n".encode())

    def write(self, data: bytes) -> None:
        self._end = (self._end + data)[-TAIL_BYTES:]
        part = data[: self._left]
        if part:
            self._file.write(part)
        if part and len(data) >= self._left:
            self.remark(f"output cut after {FILE_LIMITS.log_section_bytes >> 20} MiB")
        self._left -= len(part)

    @property
    def tail(self) -> str:
        return shown_output(self._end)

    @property
    def tells_of_full_disk(self) -> bool:
        return any(os.strerror(number).encode() in self._end for number in (errno.ENOSPC, errno.EDQUOT))


def shown_output(data: bytes) -> str:
    """Foreign output as one line: the error (Python's last, a compiler's first), then its last lines.

    It cannot move a terminal's cursor. It cannot command a runner either, which reads `::command::` at the start of a
    line and `##[command]` anywhere. Names such as `test_a.py::test_b` stay unchanged.
    """
    lines = [line for line in map(str.strip, data.decode(errors="replace").splitlines()) if line]
    lines = [line for line in lines if not _POINTER.fullmatch(line)]
    errors = [line for line in lines if _ERROR.match(line)][-1:] or list(filter(_COMPILER_ERROR.match, lines))[:1]
    ordinary = [line for line in lines[-TEXT_LIMITS.output_lines :] if line not in errors]
    joined = " | ".join([*(error[: TEXT_LIMITS.output_characters // 2] for error in errors), *ordinary])
    printable = "".join(character if character.isprintable() else " " for character in joined)
    inert = printable.replace("##[", "## [")
    start = inert[: TEXT_LIMITS.output_characters // 2] if len(inert) > TEXT_LIMITS.output_characters else ""
    rest = inert[-(TEXT_LIMITS.output_characters - len(start)) :]
    return (f"{start} … {rest}" if start and errors else rest).lstrip(": ")


# GitHub cancels a job with SIGINT, SIGTERM after 7.5 s and SIGKILL 2.5 s later: we must finish before that.
GRACE_SECONDS: Final = 3.0
POLL_SECONDS: Final = 0.1
DRAIN_SECONDS: Final = 1.0
_CHUNK_BYTES: Final = 1 << 16


def run_command(
    command: str,
    *,
    directory: Path,
    environment: Mapping[str, str],
    log: Log,
    timeout_seconds: float,
    standard_output: BinaryIO | None = None,
    confined: bool = False,
    meter: Meter | None = None,
) -> str | None:
    """Run a shell command to its end; return why it failed, or None. All its processes are ended on return or error.

    `confined`: in a PID namespace, if this machine allows one. `meter` gets its times.
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
            # A new session: no terminal to read from, and Ctrl-C reaches only us, who then end the command in order.
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise InfrastructureError(
            f"the command could not be started: {error}", place=str(directory), next_step="check the command"
        ) from None
    except BaseException:
        # Interrupted right after the fork: the command runs without a handle to it.
        end_escaped()
        raise
    meter = meter or Meter()
    meter.start(process.pid)
    with process:
        try:
            output = _Output(process, log=log, standard_output=standard_output, meter=meter)
            fault = output.pump(started + timeout_seconds, timeout_seconds) or _fault(process.returncode)
        finally:
            end_group(process)
            gone, survivors = end_escaped()
        output.drain()
    if gone:
        log.remark(f"ended {gone - survivors} processes that had left the command's session")
    if survivors:
        log.remark(f"could not end {survivors}, as they are another user's: they may disturb what is measured next")
    log.remark(f"{fault or 'done'} after {time.monotonic() - started:.1f} s")
    return fault


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Send TERM and, after a grace period, KILL to the rest of the group, even if the process itself has ended."""
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
    """Kill the processes that work inside a folder of ours, or write into it, after their parent is gone. Linux only.

    Git adds a worktree from elsewhere, and outlives its parent.
    """
    deadline = time.monotonic() + SWEEP_SECONDS
    while (orphans := _orphans(folder)) and time.monotonic() < deadline:
        for orphan in orphans:
            # It has ended already, or belongs to another user.
            with contextlib.suppress(OSError):
                # Git's helpers are in its process group.
                is_leader = os.getpgid(orphan) == orphan != os.getpgrp()
                os.kill(-orphan if is_leader else orphan, signal.SIGKILL)
        time.sleep(0.005)


def _orphans(folder: Path) -> list[int]:
    """Return the other processes whose folder, or an argument, is inside the folder."""
    orphans = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (path / "cmdline").read_bytes().split(b"\0")
            is_named = any(word.startswith(os.fsencode(folder) + b"/") for word in words)
            if is_named or (path / "cwd").readlink().is_relative_to(folder):
                orphans.append(int(path.name))
    return [orphan for orphan in orphans if orphan != os.getpid()]


def _signal(process: subprocess.Popen[bytes], number: int) -> bool:
    """Signal the group; False if nobody is left in it."""
    process.poll()
    _reap(process.pid)
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        # A member has another user: more is not permitted.
        return False
    return True


def _reap(group: int) -> None:
    """Collect exit statuses of orphans if we are the container's first process: zombies would look alive."""
    try:
        while os.waitpid(-group, os.WNOHANG) != (0, 0):
            pass
    except ChildProcessError:
        pass


class _Output:
    """Both pipes of a process: all into the log, standard output also into its file."""

    def __init__(
        self, process: subprocess.Popen[bytes], *, log: Log, standard_output: BinaryIO | None, meter: Meter
    ) -> None:
        self._process = process
        self._meter = meter
        self._log = log
        self._file = standard_output
        self._written = 0
        self._selector = selectors.DefaultSelector()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                self._selector.register(stream, selectors.EVENT_READ, stream is process.stdout)
        self._end: int | None = None
        if has_meter():
            with contextlib.suppress(OSError):  # a kernel before 5.3
                self._end = os.pidfd_open(process.pid)
                self._selector.register(self._end, selectors.EVENT_READ)

    def pump(self, deadline: float, timeout_seconds: float) -> str | None:
        """Read until the process ends or must be ended, and return why. A remaining child may hold the pipes open."""
        while not self._has_ended():
            if time.monotonic() > deadline:
                return f"took longer than {timeout_seconds:g} s"
            if self._written > FILE_LIMITS.large_file_bytes:
                return f"printed more than {FILE_LIMITS.large_file_bytes >> 20} MiB"
            if self._selector.get_map():
                self._read(min(POLL_SECONDS, self._meter.pause) if has_meter() else POLL_SECONDS)
            else:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(max(min(POLL_SECONDS, deadline - time.monotonic()), 0))
        return None

    def _has_ended(self) -> bool:
        if has_meter() and self._process.returncode is None and not self._meter.has_ended():
            return False
        if self._process.poll() is None:
            return False
        self._meter.end()
        return True

    def drain(self) -> None:
        """Read the rest of the pipes, but not later output of an escaped child."""
        if self._end is not None:
            self._selector.unregister(self._end)
            os.close(self._end)
        deadline = time.monotonic() + DRAIN_SECONDS
        while time.monotonic() < deadline and self._selector.get_map() and self._read(0):
            pass
        self._selector.close()

    def _read(self, timeout_seconds: float) -> bool:
        ready = self._selector.select(timeout_seconds)
        for key, _ in ready:
            if key.fileobj == self._end:
                continue
            data = os.read(key.fd, _CHUNK_BYTES)
            if not data:
                self._selector.unregister(key.fileobj)
                continue
            self._log.write(data)
            if key.data and self._file is not None and self._written <= FILE_LIMITS.large_file_bytes:
                self._file.write(data)
                self._written += len(data)
        return bool(ready)


ENDED_BY_ITSELF: Final = "ended with exit code"


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
    return f"{ENDED_BY_ITSELF} {exit_code}"


UNTESTABLE: Final = _fault(125)  # as for `git bisect run`
