"""The program `perf-culprit` without its start: each call is a fork of one process that has imported everything.

The PATH of a workflow's step has a script that passes its arguments, folder, environment and streams to that process.
The script exits with the fork's exit code. `forking-python` does the same for `-m perf_culprit` and `-P -m
perf_culprit`.
The real program's start is tested by tests/unit/test_cli.py, and by the wheel and the containers of tests/e2e.
"""

import atexit
import gc
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from ast import literal_eval
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from socketserver import BaseRequestHandler, ForkingMixIn, UnixStreamServer
from typing import Final

from perf_culprit import flows
from perf_culprit.__main__ import run
from perf_culprit.cli.command_parser import all_parsers
from perf_culprit.git.command import _command_layer
from tests.support.installed import installed

PROJECT: Final = Path(__file__).parents[2]
TEMPORARY: Final = tempfile.gettempdir()  # before a test sets another
# It uses built-in modules only: importing json and socket would double the cost of a call.
CALL: Final = """#!{python} -IS
import _socket, posix, sys
server = _socket.socket(_socket.AF_UNIX)
server.connect({address!r})
streams = b"".join(stream.to_bytes(4, sys.byteorder) for stream in (0, 1, 2))
call = ascii((sys.argv, posix.getcwd(), posix.environ)).encode() + b"\\n"
server.sendmsg([call], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
posix._exit(int(server.recv(3) or 137))
"""
# The variable that gives the program's path to test runs started by a test.
SHARED: Final = "SERVED_PERF_CULPRIT"
PYTHON: Final = """#!/bin/sh
case "$*" in "-P -m perf_culprit "*) shift 3;; "-m perf_culprit "*) shift 2;; *) exec {python} "$@";; esac
exec {program} "$@"
"""


@cache
def served_program() -> Path:
    """Return the program. Its server lives as long as this process, or as the parent that already runs it."""
    if shared := os.environ.get(SHARED):
        return Path(shared)
    folder = Path(tempfile.mkdtemp(prefix="served-", dir=TEMPORARY))
    program, address = folder / "perf-culprit", folder / "socket"
    program.write_text(CALL.format(python=sys.executable, address=str(address)))
    stand_in = program.with_name("forking-python")
    stand_in.write_text(PYTHON.format(program=program, python=sys.executable))
    for script in (program, stand_in):
        script.chmod(0o755)
    server = subprocess.Popen([sys.executable, "-m", "tests.support.served", str(address)], cwd=PROJECT)

    def end() -> None:
        server.terminate()
        server.wait()
        shutil.rmtree(folder)

    atexit.register(end)
    while not address.exists():
        assert server.poll() is None, "the server of perf-culprit ended"
        time.sleep(0.01)
    os.environ[SHARED] = str(program)
    return program


class Call(BaseRequestHandler):
    request: socket.socket

    def handle(self) -> None:
        received, streams, *_ = socket.recv_fds(self.request, 1 << 16, 3)
        while not received.endswith(b"\n"):
            received += self.request.recv(1 << 16)
        sys.argv, folder, environment = literal_eval(received.decode())
        for standard, stream in enumerate(streams):
            os.dup2(stream, standard)
            os.close(stream)
        os.chdir(folder)
        os.environ.clear()
        os.environb.update(environment)
        try:
            code: object = run()
        except SystemExit as ended:
            code = ended.code
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        self.request.send(str(code if isinstance(code, int) else int(bool(code))).encode())


class Server(ForkingMixIn, UnixStreamServer):
    parent = os.getppid()

    def service_actions(self) -> None:
        super().service_actions()
        if os.getppid() != self.parent:
            sys.exit()


def serve(address: str) -> None:
    for module in ("tabulate", *(entry.name for entry in iter_modules(flows.__path__, f"{flows.__name__}."))):
        import_module(module)
    all_parsers()
    _command_layer()
    installed()
    gc.freeze()
    # A process that a fork starts as `python -m perf_culprit` is a fork, too.
    sys.executable = str(Path(address).with_name("forking-python"))
    with Server(f"{address}.new", Call) as server:
        # The server answers only from now on.
        Path(f"{address}.new").rename(address)
        server.serve_forever()


if __name__ == "__main__":
    serve(sys.argv[1])
