"""The attacker is another process of the same user, such as one that a measured command left running."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux"),
    pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user"),
]
PROJECT = Path(__file__).parents[3]
NOBODY = 65534
# The action's start: it takes its secrets, then root becomes the workspace's owner. It works until it is told to end.
ACTION = """
import os, sys
sys.path.insert(0, sys.argv[1])
from perf_culprit.action.runner_token import become_owner
from perf_culprit.action.runner_token import SECRET_INPUTS, own_secrets
from pathlib import Path
from perf_culprit.undumpable import PR_SET_DUMPABLE, close_process
import ctypes
is_open = sys.argv[3] == "open"
secrets = {name: os.environ[name] for name in SECRET_INPUTS} if is_open else own_secrets()
close_process()
become_owner(Path(sys.argv[2]))
if is_open:
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
os.system("tr '\\\\0' '\\\\n' < /proc/self/environ")
print("works", flush=True)
sys.stdin.readline()
print(*secrets.values())
"""
LOOK = """
import os, re, sys
from pathlib import Path
os.setgroups([]); os.setgid(int(sys.argv[2])); os.setuid(int(sys.argv[2]))
process = Path("/proc", sys.argv[1])
def read(path):
    try:
        return path.read_bytes()
    except OSError as error:
        return type(error).__name__.encode()
try:
    opened = list((process / "fd").iterdir())
except PermissionError:
    opened = []
for path in (process / "environ", process / "cmdline", *(each for each in opened if int(each.name) > 2)):
    print(read(path))
try:
    with (process / "mem").open("rb", 0) as memory:
        for line in (process / "maps").read_text().splitlines():
            start, end = (int(part, 16) for part in line.split()[0].split("-"))
            if "rw" in line and end - start < 1 << 26:
                memory.seek(start)
                print(b"hunter2" in memory.read(end - start) and "hunter2 in memory")
except OSError as error:
    print(type(error).__name__)
"""


@contextmanager
def working(case: str, workspace: Path) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """The running action, and the environment that its own children see."""
    workspace.chmod(0o755)
    os.chown(workspace, NOBODY, NOBODY)
    names = ("INPUT_GITHUB-TOKEN", "INPUT_NOTIFY-URL", "ACTIONS_RUNTIME_TOKEN")
    environment = {"PATH": os.environ["PATH"]} | dict.fromkeys(names, "hunter2")
    command = [sys.executable, "-B", "-c", ACTION, str(PROJECT), str(workspace), case]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as action:
        assert action.stdout is not None
        lines = takewhile(lambda line: line != "works\n", action.stdout)
        yield action, "".join(lines)
        output, _ = action.communicate("\n")
        assert output == "hunter2 hunter2\n"


@pytest.mark.parametrize("case", ["open", "closed"])
@pytest.mark.parametrize("user", [0, NOBODY], ids=["root", "nobody"])
def test_wanted_the_actions_token_by_proc_got_permission_denied(case: str, user: int, tmp_path: Path) -> None:
    with working(case, tmp_path) as (action, seen_by_children):
        look = [sys.executable, "-I", "-S", "-c", LOOK, str(action.pid), str(user)]
        loot = subprocess.run(look, capture_output=True, text=True, check=True).stdout
    assert ("hunter2" in seen_by_children) == (case == "open")
    if user:
        assert ("hunter2" in loot) == (case == "open")
        assert ("PermissionError" in loot) == (case == "closed")
    else:
        # Root can read any memory, but the token is no longer in the environment.
        assert ("hunter2" in loot.partition("memory")[0].splitlines()[0]) == (case == "open")
