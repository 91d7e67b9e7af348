"""The action's first steps: take the token out of the environment, and change from root to the workspace's owner."""

import contextlib
import os
import socket
import sys
from pathlib import Path
from typing import Final

# From root to the workspace's owner, before anything is read or written.
#
# GitHub demands that a docker action starts as root. Staying root would leave files in the workspace that the runner
# cannot delete, and git would refuse a workspace of another user.


def become_owner(workspace: Path) -> None:
    """Give up root for the workspace's owner. Do nothing if we are not root, or root owns the workspace."""
    if os.geteuid() != 0 or not workspace.is_dir():
        return
    owner = workspace.stat()
    if owner.st_uid == 0:
        return
    os.setgroups([])
    os.setgid(owner.st_gid)
    os.setuid(owner.st_uid)


# Remove the token from the environment before anything else: children inherit it, and /proc shows it.
#
# The environment at a process's start stays readable in /proc/PID/environ. So this process restarts itself without the
# token, which waits in a socket. Unlike a pipe or a file, nobody else can open that by /proc/PID/fd. All this happens
# as root, whose processes nobody else can read.

INPUT: Final = "INPUT_GITHUB-TOKEN"
HANDLE: Final = "PERF_CULPRIT_TOKEN_HANDLE"
# The runner's own credentials (cache, artifacts, OpenID), which the bot does not need, and the usual names of others.
UNUSED_PREFIX: Final = "ACTIONS_"
UNUSED: Final = ("GITHUB_TOKEN", "GH_TOKEN")
MOST_BYTES: Final = 1 << 16


def own_token() -> str:
    """Return the token; on Linux, the second start of this program returns it."""
    handle = os.environ.pop(HANDLE, "")
    # If somebody else set it, it is no socket of ours: then this is the first start.
    with contextlib.suppress(OSError, OverflowError):
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
