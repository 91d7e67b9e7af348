"""Podman with the settings that work on small machines."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import IO

CONFIGURATION = Path(__file__).with_name("containers.conf")


class ContainersUnavailableError(Exception):
    """Containers cannot run on this machine; the message says what is missing."""


def require_podman() -> None:
    """Raise ContainersUnavailableError unless this machine can run containers as another user."""
    for program in ("podman", "runc"):
        if shutil.which(program, path=_search_path()) is None:
            raise ContainersUnavailableError(f"{program} is missing: apt-get install podman runc iptables mmdebstrap")
    if os.geteuid() != 0:
        raise ContainersUnavailableError("files are given to another user, as the runner does: run the tests as root")


def podman(*arguments: str, timeout_s: float = 600, stdin: IO[bytes] | None = None) -> subprocess.CompletedProcess[str]:
    """Run podman and return its result; the caller checks the return code."""
    environment = {"CONTAINERS_CONF": str(CONFIGURATION), **os.environ, "PATH": _search_path()}
    return subprocess.run(
        ["podman", *arguments],
        env=environment,
        stdin=stdin if stdin is not None else subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def image_exists(tag: str) -> bool:
    return podman("image", "exists", tag).returncode == 0


def _search_path() -> str:
    # runc and iptables live in sbin, which a plain user's PATH may lack.
    return os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
