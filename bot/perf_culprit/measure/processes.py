"""A command as a process group: its log, its time limit, its output, and nothing of it left behind."""

import contextlib
import ctypes
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
from perf_culprit.undumpable import close_process

# Ctrl-C and a cancelled job: stop once, in order.

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def interruptible() -> Iterator[None]:
    """Within: the first signal that asks to stop raises KeyboardInterrupt, and later ones are ignored.

    So SIGTERM too ends the children and removes the worktrees, and an impatient second Ctrl-C cannot leave half of
    them. To be used in the main thread, once, around everything that needs cleaning up.
    """
    stopping = False

    def stop(_number: int, _frame: FrameType | None) -> None:
        nonlocal stopping
        if not stopping:
            stopping = True
            raise KeyboardInterrupt

    # What was ignored before stays so: that is what nohup asks for.
    heard = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, stop) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# A command among processes of its own: it sees none of ours, and none of its own outlives it. Linux only.
#
# In a PID namespace with a /proc of its own (pid_namespaces(7)) the step's shell, the runner and our process are not
# there to be read, and the kernel ends whatever is left when the first process ends. Root makes one right away,
# another
# user in a user namespace, where set-user-ID programs such as sudo do not work. Many containers, and Ubuntu since
# 23.10
# without a profile, forbid it.

PROBE_SECONDS: Final = 10
# The first process of a namespace ignores TERM where nothing handles it, so it only waits for the one that does not.
FIRST_PROCESS: Final = 'sh -e -c "$0"\nexit $?'
BECOMES_ROOT: Final = re.compile(r"\b(sudo|doas|su)\b")


def shell(command: str, *, confined: bool) -> list[str]:
    """The arguments that run a shell command, `confined` where this machine allows it."""
    prefix = namespace() if confined and is_confinable(command) else ()
    return [*prefix, "sh", "-c", FIRST_PROCESS, command] if prefix else ["sh", "-e", "-c", command]


def is_confinable(command: str) -> bool:
    """Whoever may become root reads and ends what he likes; without the right to, such a command would only fail."""
    return os.geteuid() == 0 or BECOMES_ROOT.search(command) is None


@cache
def namespace() -> tuple[str, ...]:
    """The words before a command that give it a PID namespace; none where this machine does not allow one."""
    as_user = () if os.geteuid() == 0 else ("--user", "--map-current-user")
    words = ("unshare", *as_user, "--pid", "--fork", "--kill-child=KILL", "--mount-proc", "--")
    try:
        probe = subprocess.run([*words, "true"], capture_output=True, timeout=PROBE_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return words if probe.returncode == 0 else ()


# Processes that left a command's group, and what they can read of us. Linux only; elsewhere they stay.
#
# A command's child that moves to a session of its own (`setsid`, a daemon) is in no group of the command any more. A
# child subreaper (prctl(2), Linux 3.4) gets such orphans as its own children, whatever they did to their sessions, so
# they can be found. What was started by another process on request (a container engine, systemd) is not among them.

PR_SET_CHILD_SUBREAPER: Final = 36
# A process that forks faster than it is killed would keep us here for ever.
SWEEP_SECONDS: Final = 3.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Process:
    id: int
    parent: int
    session: int


@cache
def guard() -> bool:
    """Orphans of our commands become our children, and our own environment is closed to them; whether that worked.

    /proc/PID/environ of a process that is not dumpable belongs to root: a command's child cannot read there what its
    own environment withholds.
    """
    if sys.platform != "linux":
        return False
    close_process()
    return bool(ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


def end_escaped() -> tuple[int, int]:
    """Kill every descendant in another session than ours, and theirs; how many there were, and how many are left.

    Our own helpers (git) share our session. Commands get one of their own, which nothing of them can leave for ours.
    """
    if not guard():
        return 0, 0
    ended: set[int] = set()
    deadline = time.monotonic() + SWEEP_SECONDS
    while (left := escaped()) and time.monotonic() < deadline:
        for process in left:
            ended.add(process.id)
            # Ended meanwhile, or another user's.
            with contextlib.suppress(OSError):
                os.kill(process.id, signal.SIGKILL)
        for process in left:
            if process.parent == os.getpid():
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(process.id, os.WNOHANG)
        time.sleep(0.005)
    return len(ended), len(left)


def escaped() -> tuple[Process, ...]:
    try:
        # Looks, and takes no child's end from whoever waits for it.
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return ()  # who has no child has no descendant
    processes = tuple(_processes())
    session = os.getsid(0)
    ours = {os.getpid()}
    grown = True
    while grown:
        children = {process.id for process in processes if process.parent in ours} - ours
        ours |= children
        grown = bool(children)
    return tuple(process for process in processes if process.id in ours and process.session != session)


def _processes() -> Iterator[Process]:
    names = os.listdir("/proc")  # noqa: PTH208 - of hundreds, only the names are wanted
    for number in filter(str.isdigit, names):
        try:
            with Path(f"/proc/{number}/stat").open("rb", buffering=0) as file:
                # The name stands in brackets and may hold anything, brackets too.
                _, parent, _, session = file.read().rpartition(b")")[2].split(maxsplit=4)[:4]
        except OSError:
            continue
        yield Process(id=int(number), parent=int(parent), session=int(session))


# What the commands wrote, in one file that can be watched while they run.

MAXIMUM_SECTION_BYTES: Final = 4 << 20  # a benchmark that prints for ever must not fill the disk
TAIL_BYTES: Final = 4096
SHOWN_LINES: Final = 4
SHOWN_CHARACTERS: Final = 400
# Python's last line of a traceback, as it is and as pytest shows it: "E   ModuleNotFoundError: No module named 'x'".
_ERROR: Final = re.compile(r"(?:E\s+)?[\w.]*(?:Error|Exception)\b.*")
_COMPILER_ERROR: Final = re.compile(r".*:\d+.*\berror: ")
_POINTER: Final = re.compile(r"[|^~\s]+")  # below a quoted line of code


class Log:
    """One section per command. `tail` is the section's end as one line, for messages. `keep` adds to an older log."""

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
        self._left = MAXIMUM_SECTION_BYTES
        self._end = b""
        self.remark(f"{title}, {time.strftime('%H:%M:%S')}")

    def remark(self, text: str) -> None:
        self._file.write(f"=== {text}\n".encode())

    def write(self, data: bytes) -> None:
        self._end = (self._end + data)[-TAIL_BYTES:]
        kept = data[: self._left]
        if kept:
            self._file.write(kept)
        if kept and len(data) >= self._left:
            self.remark(f"output cut after {MAXIMUM_SECTION_BYTES >> 20} MiB")
        self._left -= len(kept)

    @property
    def tail(self) -> str:
        return shown_output(self._end)


def shown_output(data: bytes) -> str:
    """Foreign output as one line: the error (Python's last, a compiler's first), then its last lines.

    Nothing in it can move a terminal's cursor or command a runner, which reads `::command::` where a line begins and
    `##[command]` anywhere. Names such as `test_a.py::test_b` stay as they are.
    """
    lines = [line for line in map(str.strip, data.decode(errors="replace").splitlines()) if line]
    lines = [line for line in lines if not _POINTER.fullmatch(line)]
    errors = [line for line in lines if _ERROR.match(line)][-1:] or list(filter(_COMPILER_ERROR.match, lines))[:1]
    shown = [line for line in lines[-SHOWN_LINES:] if line not in errors]
    joined = " | ".join([*(error[: SHOWN_CHARACTERS // 2] for error in errors), *shown])
    printable = "".join(character if character.isprintable() else " " for character in joined)
    inert = printable.replace("##[", "## [")
    start = inert[: SHOWN_CHARACTERS // 2] if len(inert) > SHOWN_CHARACTERS else ""
    rest = inert[-(SHOWN_CHARACTERS - len(start)) :]
    return (f"{start} … {rest}" if start and errors else rest).lstrip(": ")


# One command as a process group: its time limit, its output, and that nothing of it stays behind.

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
