"""One command of ours in a process of its own: told as it goes, ended when its call is cancelled."""

import json
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from subprocess import DEVNULL
from tempfile import TemporaryDirectory
from typing import Any, Final

import anyio
from anyio.abc import ByteReceiveStream, Process
from anyio.streams.text import TextReceiveStream

from bot.errors import EXIT_INFRASTRUCTURE, BotError
from bot.files import read_limited
from bot.report.inert import plain

MOST_BYTES: Final = 64 << 20
MOST_LOG: Final = 16_000
# bisect and measure remove their worktrees in it.
STOP_SECONDS: Final = 20.0
ERROR: Final = "error: "

Tell = Callable[[str], Awaitable[None]]


class CommandError(BotError):
    """A command that gave no answer, with its own words and exit code."""

    def __init__(self, message: str, *, code: int) -> None:
        super().__init__(message)
        self.code = code


async def run_json(command: str, *options: str, root: Path, tell: Tell) -> tuple[Any, bytes]:
    """What a command writes as JSON, whatever its exit code; a CommandError where that is nothing."""
    with TemporaryDirectory(prefix="perf-culprit-") as folder:
        file = Path(folder) / "answer.json"
        code, _, message = await _run([command, *options, f"--json={file}"], root=root, tell=tell)
        if not file.exists():
            raise CommandError(message, code=code)
        data = read_limited(file, MOST_BYTES, next_step="name fewer benchmarks or files")
    return json.loads(data), data


async def run_text(command: str, *options: str, root: Path, tell: Tell) -> str:
    """What a command prints; a CommandError where it fails."""
    code, output, message = await _run([command, *options], root=root, tell=tell)
    if code:
        raise CommandError(message, code=code)
    return output


async def _run(arguments: Sequence[str], *, root: Path, tell: Tell) -> tuple[int, str, str]:
    """Exit code, the beginning of what it prints, its error. `tell` hears the other lines of its standard error."""
    command = [sys.executable, "-m", "bot", *arguments]
    async with await anyio.open_process(command, cwd=root, stdin=DEVNULL, start_new_session=True) as process:
        assert process.stdout is not None and process.stderr is not None  # noqa: S101, PT018 - pipes by default
        output, log = [""], [""]
        try:
            async with anyio.create_task_group() as readers:
                readers.start_soon(_listen, process.stderr, log, tell)
                async for part in TextReceiveStream(process.stdout, errors="replace"):
                    output[0] = (output[0] + part)[:MOST_BYTES]
            code = await process.wait()
        finally:
            await _stop(process)
    _, _, error = f"\n{log[0]}".rpartition(f"\n{ERROR}")
    return (code if code > 0 else EXIT_INFRASTRUCTURE if code else 0), output[0], error.strip()


async def _listen(stream: ByteReceiveStream, log: list[str], tell: Tell) -> None:
    line, failed = "", False
    async for part in TextReceiveStream(stream, errors="replace"):
        log[0] = (log[0] + part)[-MOST_LOG:]
        *lines, line = (line + part)[-MOST_LOG:].split("\n")
        for one in lines:
            failed = failed or one.startswith(ERROR)
            if one.strip() and not failed:
                await tell(plain(one))


async def _stop(process: Process) -> None:
    if process.returncode is not None:
        return
    with anyio.CancelScope(shield=True):
        process.terminate()
        with anyio.move_on_after(STOP_SECONDS):
            await process.wait()
        if process.returncode is None:
            process.kill()
