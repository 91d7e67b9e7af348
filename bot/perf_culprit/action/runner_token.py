"""The action's first steps: take its secrets out of the environment, and change from root to the workspace's owner."""

import contextlib
import json
import os
import socket
import sys
from pathlib import Path
from typing import Final

from perf_culprit.model.file_limits import FILE_LIMITS


def become_owner(workspace: Path) -> None:
    """Give up root for the workspace's owner. Do nothing if we are not root, or root owns the workspace.

    GitHub demands that a docker action starts as root. Staying root would leave files in the workspace that the runner
    cannot delete, and git would refuse a workspace of another user.
    """
    if os.geteuid() != 0 or not workspace.is_dir():
        return
    owner = workspace.stat()
    if owner.st_uid == 0:
        return
    os.setgroups([])
    os.setgid(owner.st_gid)
    os.setuid(owner.st_uid)


SECRET_INPUTS: Final = ("INPUT_GITHUB-TOKEN", "INPUT_NOTIFY-URL")
HANDLE: Final = "PERF_CULPRIT_TOKEN_HANDLE"
# The runner's own credentials (cache, artifacts, OpenID), which the bot does not need, and the usual names of others.
UNUSED_PREFIX: Final = "ACTIONS_"
_UNUSED_TOKENS: Final = ("GITHUB_TOKEN", "GH_TOKEN")


def own_secrets() -> dict[str, str]:
    """Return the secret inputs, and take them out of the environment: children inherit it, and /proc shows it.

    The environment at a process's start stays readable in /proc/PID/environ. So on Linux this process restarts itself
    without the secrets, which wait in a socket. Unlike a pipe or a file, nobody else can open that by /proc/PID/fd.
    All this happens as root, whose processes nobody else can read. The second start returns the secrets.
    """
    handle = os.environ.pop(HANDLE, "")
    # If somebody else set it, it is no socket of ours: then this is the first start.
    with contextlib.suppress(OSError, OverflowError, ValueError):
        if handle.isdecimal():
            with socket.socket(fileno=int(handle)) as waiting:
                received: dict[str, str] = json.loads(waiting.recv(FILE_LIMITS.runner_file_bytes))
                return received
    secrets = {name: os.environ[name] for name in SECRET_INPUTS if os.environ.get(name)}
    if secrets and sys.platform == "linux":
        _start_without(secrets)
    return secrets


def _start_without(secrets: dict[str, str]) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.send(json.dumps(secrets).encode())
    theirs.set_inheritable(True)
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in (*SECRET_INPUTS, *_UNUSED_TOKENS) and not name.startswith(UNUSED_PREFIX)
    }
    sys.stdout.flush()
    os.execve(sys.executable, sys.orig_argv, {**environment, HANDLE: str(theirs.fileno())})  # noqa: S606  # this program again
