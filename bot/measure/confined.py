"""A command among processes of its own: it sees none of ours, and none of its own outlives it. Linux only.

In a PID namespace with a /proc of its own (pid_namespaces(7)) the step's shell, the runner and our process are not
there to be read, and the kernel ends whatever is left when the first process ends. Root makes one right away, another
user in a user namespace, where set-user-ID programs such as sudo do not work. Many containers, and Ubuntu since 23.10
without a profile, forbid it.
"""

import os
import re
import subprocess
from functools import cache
from typing import Final

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
