"""The token leaves the environment before anything else is done: children inherit that, and /proc shows it.

What a process was started with stays readable in /proc/PID/environ, so this one restarts itself without the token,
which waits in a socket. Nobody else can open that one by /proc/PID/fd, as he could a pipe or a file. All this happens
as root, whose processes nobody reads.
"""

import os
import socket
import sys
from typing import Final

INPUT: Final = "INPUT_GITHUB-TOKEN"
HANDLE: Final = "PERF_CULPRIT_TOKEN_HANDLE"
# The runner's own credentials (cache, artifacts, OpenID), of which the bot needs none, and the usual names of others.
UNUSED_PREFIX: Final = "ACTIONS_"
UNUSED: Final = ("GITHUB_TOKEN", "GH_TOKEN")
MOST_BYTES: Final = 1 << 16


def own_token() -> str:
    """The token; on Linux it is the second start of this program that returns it."""
    handle = os.environ.pop(HANDLE, "")
    if handle.isdecimal():
        with socket.socket(fileno=int(handle)) as waiting:
            return waiting.recv(MOST_BYTES).decode()
    token = os.environ.get(INPUT, "")
    if token and sys.platform == "linux":
        _start_without(token)
    return token


def _start_without(token: str) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.send(token.encode()[:MOST_BYTES])
    theirs.set_inheritable(True)
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in (INPUT, *UNUSED) and not name.startswith(UNUSED_PREFIX)
    }
    sys.stdout.flush()
    os.execve(sys.executable, sys.orig_argv, {**kept, HANDLE: str(theirs.fileno())})  # noqa: S606  # this program again
