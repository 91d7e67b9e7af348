"""A token for git that no other process can read: neither in git's environment nor in a file.

Git calls a credential helper, which reads from a socket that git inherits. The socket appears in no list of arguments
and no environment. Unlike a pipe or a deleted file, it cannot be opened again through /proc/PID/fd.
"""

import contextlib
import shlex
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from perf_culprit.model.work_limits import WORK_LIMITS
from perf_culprit.python_child import python

USER: Final = "x-access-token"
# One answer is one packet, so the next question finds the next one. The shell itself cannot read it: dash redirects
# only from descriptors of one digit.
_ANSWER_PROGRAM: Final = "import posix, sys; posix.write(1, posix.read(int(sys.argv[1]), 4096))"
CAN_HAND_OVER: Final = sys.platform == "linux"


@contextmanager
def handed_over(token: str | None) -> Iterator[int | None]:
    """Open the descriptor from which the helper reads the token; None if there is no token or no support."""
    if token is None or not CAN_HAND_OVER:
        yield None
        return
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        ours.setblocking(False)
        answer = f"username={USER}\npassword={token}\n".encode()
        with contextlib.suppress(BlockingIOError):
            for _ in range(WORK_LIMITS.credential_questions):
                ours.send(answer)
        # The helper reads end-of-file instead of waiting for more.
        ours.shutdown(socket.SHUT_WR)
        yield theirs.fileno()


def helper_config(url: str, handle: int) -> tuple[tuple[str, str], ...]:
    """Return the settings of the helper for this URL; the empty value removes the helpers of the user's configuration.

    Since 2.46, git sends the helper's answer at once, not only after the server requested it.
    """
    key = f"credential.{url}.helper"
    answer = shlex.join(python("-I", "-S", "-c", _ANSWER_PROGRAM, str(handle)))
    # Store and erase requests are ignored, without starting Python.
    helper = f'!answer() {{ test "$1" != get || exec {answer}; }}; answer'
    return (key, ""), (key, helper), (f"http.{url}.proactiveAuth", "basic")
