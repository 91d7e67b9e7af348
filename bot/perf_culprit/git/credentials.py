"""A token for git that no other process can read: neither in git's environment nor in a file.

Git asks a credential helper, and the helper reads from a socket that git inherits. The socket is in nobody's list of
arguments or environment, and unlike a pipe or a deleted file it cannot be opened again by /proc/PID/fd.
"""

import contextlib
import shlex
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from perf_culprit.python_child import python

USER: Final = "x-access-token"
# One call of git may ask several times: for each lot of objects that a partial clone lacks.
MOST_QUESTIONS: Final = 64
# One answer is one packet, so the next question finds the next one. Not the shell itself: dash redirects from
# descriptors of one digit only.
ANSWER: Final = "import posix, sys; posix.write(1, posix.read(int(sys.argv[1]), 4096))"
CAN_HAND_OVER: Final = sys.platform == "linux"


@contextmanager
def handed_over(token: str | None) -> Iterator[int | None]:
    """The file descriptor from which the helper reads the token; None where there is none to hand over."""
    if token is None or not CAN_HAND_OVER:
        yield None
        return
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        ours.setblocking(False)
        answer = f"username={USER}\npassword={token}\n".encode()
        with contextlib.suppress(BlockingIOError):
            for _ in range(MOST_QUESTIONS):
                ours.send(answer)
        # The helper sees the end instead of waiting for more.
        ours.shutdown(socket.SHUT_WR)
        yield theirs.fileno()


def helper_config(url: str, handle: int) -> tuple[tuple[str, str], ...]:
    """For this URL only; the empty value drops the helpers of the person's own configuration.

    Since 2.46 git sends what the helper says at once, not only after the server asked for it.
    """
    key = f"credential.{url}.helper"
    answer = shlex.join(python("-I", "-S", "-c", ANSWER, str(handle)))
    # Nothing is stored or erased, and for that no Python starts.
    helper = f'!answer() {{ test "$1" != get || exec {answer}; }}; answer'
    return (key, ""), (key, helper), (f"http.{url}.proactiveAuth", "basic")
