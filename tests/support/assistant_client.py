"""The SDK's own client, speaking to a `perf-culprit mcp` over its standard input and output."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support.git_repository import ENVIRONMENT
from tests.support.served import served_program

if TYPE_CHECKING:  # the SDK is a large import, which only its tests need
    from anyio.from_thread import BlockingPortal
    from mcp.client.client import Client
    from mcp.types import CallToolResult


@dataclass(frozen=True)
class Assistant:
    """A client's session. `progress` holds the progress messages of all calls."""

    portal: "BlockingPortal"
    client: "Client"
    progress: list[str] = field(default_factory=list)

    def tools(self) -> list[Any]:
        return list(self.portal.call(self.client.list_tools).tools)

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return the structured content of a call, and check that it succeeded and that its text holds the same."""
        result = self.result(tool, **arguments)
        assert not result.is_error, result.content
        content: dict[str, Any] = result.structured_content
        assert json.loads(text(result)) == content
        return content

    def refused(self, tool: str, **arguments: Any) -> str:
        result = self.result(tool, **arguments)
        assert result.is_error
        return text(result)

    def result(self, tool: str, **arguments: Any) -> "CallToolResult":
        result: CallToolResult = self.portal.call(self._call, tool, arguments)
        return result

    def call_until(self, file: Path, tool: str, **arguments: Any) -> None:
        """Call the tool, and cancel the call as soon as `file` exists."""
        self.portal.call(self._call_until, file, tool, arguments)

    async def _call(self, tool: str, arguments: dict[str, Any]) -> "CallToolResult":
        async def hear(progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG001 - SDK's names
            self.progress.append(message or "")

        return await self.client.call_tool(tool, arguments, progress_callback=hear)

    async def _call_until(self, file: Path, tool: str, arguments: dict[str, Any]) -> None:
        import anyio

        async with anyio.create_task_group() as calls:
            calls.start_soon(self._call, tool, arguments)
            while not await anyio.Path(file).exists():
                await anyio.sleep(0.02)
            calls.cancel_scope.cancel()


def text(result: "CallToolResult") -> str:
    (block,) = result.content
    assert block.type == "text"
    return block.text


@contextmanager
def assistant(
    repository: Path,
    *options: str,
    environment: Mapping[str, str] | None = None,
    command: Sequence[str] | None = None,
) -> Iterator[Assistant]:
    """Start a server and connect to it: a fork whose calls are forks too, or a process started by `command`."""
    from anyio.from_thread import start_blocking_portal
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    program, *arguments = command or (str(served_program()), "mcp")
    server = StdioServerParameters(
        command=program,
        args=[*arguments, *options],
        cwd=repository,
        env={**ENVIRONMENT, "OPENBLAS_NUM_THREADS": "1", **(environment or {})},
    )
    with (
        Path(os.devnull).open("w", encoding="utf-8") as log,
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(stdio_client(server, errlog=log))) as client,
    ):
        yield Assistant(portal, client)
