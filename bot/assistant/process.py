"""One command of ours in a process of its own: reports as it goes, ends when its call is cancelled."""

import json
import os
import signal
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from subprocess import DEVNULL
from tempfile import TemporaryDirectory
from typing import Any, Final

import anyio
from anyio.abc import ByteReceiveStream, Process
from anyio.streams.text import TextReceiveStream

from bot.assistant.place import Place
from bot.children import python
from bot.errors import BotError, DataError, InfrastructureError, UsageError
from bot.files import read_limited
from bot.report.inert import plain

MOST_BYTES: Final = 64 << 20
MOST_LOG: Final = 16_000
# bisect and measure remove their worktrees in it.
STOP_SECONDS: Final = 20.0
ERROR: Final = "error: "
KINDS: Final = {kind.exit_code: kind for kind in (UsageError, DataError, InfrastructureError)}

Tell = Callable[[str], Awaitable[None]]


async def run_json(command: str, *options: str, place: Place, tell: Tell) -> tuple[Any, bytes]:
    """What a command writes as JSON, whatever its exit code; its error where that is nothing."""
    with TemporaryDirectory(prefix="perf-culprit-") as folder:
        file = Path(folder) / "answer.json"
        _, failure = await _run([command, *options, f"--json={file}"], place=place, tell=tell)
        if not file.exists():
            raise failure or InfrastructureError("wrote no answer", place=command)
        data = read_limited(file, MOST_BYTES, next_step="name fewer benchmarks or files")
    return json.loads(data), data


async def run_text(command: str, *options: str, place: Place, tell: Tell) -> str:
    """What a command prints; its error where it fails."""
    output, failure = await _run([command, *options], place=place, tell=tell)
    if failure is not None:
        raise failure
    return output


async def _run(arguments: Sequence[str], *, place: Place, tell: Tell) -> tuple[str, BotError | None]:
    """The beginning of what it prints, and why it failed. `tell` hears the other lines of its standard error."""
    command = python("-m", "bot", *arguments)
    async with (
        place.turns,
        await anyio.open_process(command, cwd=place.root, stdin=DEVNULL, start_new_session=True) as process,
    ):
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
    failure = KINDS.get(code, InfrastructureError)(error.strip() or f"ended with exit code {code}")
    return output[0], failure if code else None


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
        # As Ctrl-C does: a command that reads then removes its temporary files, too.
        process.send_signal(signal.SIGINT if os.name == "posix" else signal.SIGTERM)
        with anyio.move_on_after(STOP_SECONDS):
            await process.wait()
        if process.returncode is None:
            process.kill()
