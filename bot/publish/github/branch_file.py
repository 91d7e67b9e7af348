"""A file of a branch, whole or not at all: who reads one decides by it."""

from typing import Any, Final
from urllib.parse import quote

from github import UnknownObjectException

from bot.errors import ConfigError
from bot.publish.github.answer import file_bytes
from bot.publish.github.client import Client
from bot.publish.github.failure import explained

MAXIMUM_FILE_BYTES: Final = 256 * 1024


def read_branch_file(client: Client, *, path: str, branch: str) -> bytes | None:
    """None only where the branch has no such file."""
    with explained(f"read {path} of {branch}"):
        try:
            answer = _get(client, f"contents/{quote(path)}?ref={quote(branch, safe='')}")
        except UnknownObjectException:
            # Also what GitHub answers a token that may not read; to that one it doesn't show the branch either.
            if _get(client, f"git/ref/heads/{quote(branch)}")["ref"] == f"refs/heads/{branch}":
                return None
            raise
        if isinstance(answer, list) or answer["type"] != "file":
            raise ConfigError("is no file", place=f"{path} of {branch}", next_step="name a file in the input `config`")
        if answer["size"] > MAXIMUM_FILE_BYTES:
            raise ConfigError(
                f"has {answer['size']:,} bytes; at most {MAXIMUM_FILE_BYTES:,} are read",
                place=f"{path} of {branch}",
                next_step="shorten it",
            )
        if answer["encoding"] != "base64":
            raise ValueError(answer["encoding"])
        return file_bytes(answer)


def _get(client: Client, path: str) -> Any:
    _, answer = client.repository.requester.requestJsonAndCheck("GET", f"{client.repository.url}/{path}")
    return answer
