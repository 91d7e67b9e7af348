"""A PostgreSQL server of Debian's package on loopback, in a folder of its own, run by an unprivileged user."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final
from urllib.parse import quote

import pytest

OWNER: Final = "owner"
# It has characters that a URL must escape.
PASSWORD: Final = "p@ss:w/rd %25"
SETTINGS: Final = """\
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
fsync = off
"""


@dataclass(frozen=True, kw_only=True)
class Server:
    folder: Path
    port: int

    def url(self, database: str, *, user: str = OWNER, password: str | None = PASSWORD) -> str:
        secret = "" if password is None else f":{quote(password, safe='')}"
        return f"postgresql://{user}{secret}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        self._control("start", "--log", str(self.folder / "log"))

    def stop(self) -> None:
        """Stop the server immediately, as a loss of power would."""
        self._control("stop", "--mode", "immediate")

    def execute(self, *statements: str, database: str = "postgres") -> None:
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def fresh(self, name: str = "history") -> str:
        """Make an empty database of this name and return its URL."""
        self.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)", f"CREATE DATABASE {name}")
        return self.url(name)

    def _control(self, *arguments: str) -> None:
        _run("pg_ctl", "--pgdata", str(self.folder / "data"), "--silent", "--wait", *arguments)


def is_installed() -> bool:
    return _program("initdb") is not None


@contextmanager
def running() -> Iterator[Server]:
    """Start a new cluster, removed at the end; skip the test if no server is installed."""
    if not is_installed():
        pytest.skip("PostgreSQL's server is not installed (apt-get install postgresql)")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # Not below pytest's own folder, which other users may not enter.
    folder = Path(tempfile.mkdtemp(prefix="perf-culprit-postgresql-"))
    secret = folder / "password"
    secret.write_text(f"{PASSWORD}\n")
    if os.geteuid() == 0:
        for path in (folder, secret):
            shutil.chown(path, _user())
    options = ("--no-sync", "--auth", "scram-sha-256", "--encoding", "UTF8", "--no-locale")
    server = Server(folder=folder, port=port)
    try:
        _run("initdb", "--pgdata", str(folder / "data"), "--username", OWNER, "--pwfile", str(secret), *options)
        with (folder / "data" / "postgresql.conf").open("a") as settings:
            settings.write(f"{SETTINGS}port = {port}\n")
        server.start()
        yield server
    finally:
        if (folder / "data" / "postmaster.pid").exists():
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def when_needed() -> Iterator[Callable[[], Server]]:
    """Yield a function that starts a server at its first call."""
    with ExitStack() as stack:
        yield cache(lambda: stack.enter_context(running()))


def _run(name: str, *arguments: str) -> None:
    user = _user() if os.geteuid() == 0 else None
    program = _program(name)
    assert program is not None
    # A started server keeps the pipes of its starter open, so its output is not read.
    subprocess.run(
        [program, *arguments],
        check=True,
        user=user,
        extra_groups=[] if user else None,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
        cwd="/",
    )


def _program(name: str) -> str | None:
    of_debian = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)
    return shutil.which(name) or next(map(str, of_debian), None)


def _user() -> str:
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"
