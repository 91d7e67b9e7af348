"""The attacker reads every process's environment and arguments while git talks to the server."""

import base64
import contextlib
import sys
import uuid
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar

import pytest

from perf_culprit import git
from perf_culprit.git import credentials
from perf_culprit.git.command import REMOTE_NAME
from tests.support import git_http
from tests.support.git_http import GitHandler, serve_git
from tests.support.git_repository import chain, import_commits, init_repository, run_git

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux")


def readable() -> bytes:
    """The environment and the arguments of all processes."""
    loot = []
    for name in ("environ", "cmdline"):
        for path in Path("/proc").glob(f"[0-9]*/{name}"):
            with contextlib.suppress(OSError):
                loot.append(path.read_bytes())
    return b"\0".join(loot)


@pytest.mark.parametrize(("can_hand_over", "in_proc"), [(False, True), (True, False)], ids=["environment", "socket"])
def test_wanted_the_token_from_gits_environment_got_none(
    can_hand_over: bool, in_proc: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = uuid.uuid4().hex
    loot: list[bytes] = []
    answer = GitHandler.do_GET

    def watched(handler: GitHandler) -> None:
        loot.append(readable())
        answer(handler)

    monkeypatch.setattr(credentials, "CAN_HAND_OVER", can_hand_over)
    monkeypatch.setattr(git_http, "TOKEN", token)
    monkeypatch.setattr(GitHandler, "do_GET", watched)
    served = init_repository(tmp_path / "served.git", bare=True)
    import_commits(served, chain("main", 2))
    with serve_git(tmp_path) as root:
        remote = git.Remote(url=f"{root}/served.git", token=token)
        told = git.run_git(tmp_path / "served.git", "ls-remote", REMOTE_NAME, remote=remote)
    assert told
    encoded = base64.b64encode(f"{credentials.USER}:{token}".encode())
    assert any(token.encode() in each or encoded in each for each in loot) is in_proc


def test_a_persons_own_helpers_are_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    witness = tmp_path / "asked"
    settings = tmp_path / "gitconfig"
    settings.write_text(f'[credential]\n\thelper = "!touch {witness}; echo"\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    served = init_repository(tmp_path / "served.git", bare=True)
    import_commits(served, chain("main", 1))
    with serve_git(tmp_path) as root:
        url = f"{root}/served.git"
        git.run_git(served, "ls-remote", REMOTE_NAME, remote=git.Remote(url=url, token=git_http.TOKEN))
        with pytest.raises(git.GitError, match="Authentication failed"):
            git.run_git(served, "ls-remote", REMOTE_NAME, remote=git.Remote(url=url, token="wrong"))
    assert not witness.exists()


class Recorder(BaseHTTPRequestHandler):
    """A proxy that records each request and answers it with an error."""

    heard: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.heard.append(f"{self.path} {self.headers}")
        self.send_error(502)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture
def proxy() -> Iterator[str]:
    Recorder.heard.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Recorder) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.mark.parametrize("kept_in", ["person", "machine", "checkout"])
@pytest.mark.parametrize("key", ["http.proxy", "http.{}.proxy", f"remote.{REMOTE_NAME}.proxy"])
def test_wanted_the_token_by_a_proxy_of_gits_configuration_got_none(
    kept_in: str, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    served = init_repository(tmp_path / "served.git", bare=True)
    import_commits(served, chain("main", 1))
    with serve_git(tmp_path) as root:
        url = f"{root}/served.git"
        file = served / "config" if kept_in == "checkout" else tmp_path / "gitconfig"
        run_git(tmp_path, "config", "--file", str(file), key.format(url), proxy)
        if kept_in == "machine":
            monkeypatch.delenv("GIT_CONFIG_NOSYSTEM")
            monkeypatch.setenv("GIT_CONFIG_SYSTEM", str(file))
        elif kept_in == "person":
            monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(file))
        told = git.run_git(served, "ls-remote", REMOTE_NAME, remote=git.Remote(url=url, token=git_http.TOKEN))
    assert told
    assert Recorder.heard == []


def test_the_proxy_of_the_environment_gets_what_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    served = init_repository(tmp_path / "served.git", bare=True)
    remote = git.Remote(url="http://somewhere.invalid/x.git", token=git_http.TOKEN)
    monkeypatch.setenv("http_proxy", proxy)
    with pytest.raises(git.GitError, match="502"):
        git.run_git(served, "ls-remote", REMOTE_NAME, remote=remote)
    assert len(Recorder.heard) == 1
    monkeypatch.setenv("no_proxy", "somewhere.invalid")
    with pytest.raises(git.GitError, match="resolve host"):
        git.run_git(served, "ls-remote", REMOTE_NAME, remote=remote)
    assert len(Recorder.heard) == 1


def test_a_persons_certificates_are_kept_beside_a_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = tmp_path / "gitconfig"
    settings.write_text("[http]\n\tsslCAInfo = /etc/ours.pem\n\tsslVerify = false\n[perf]\n\tx = 1\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    url = "https://somewhere.invalid/x.git"
    told = [
        git.run_git(tmp_path, "config", "--list", remote=git.Remote(url=url, token=token)).decode().splitlines()
        for token in (git_http.TOKEN, None)
    ]
    assert ["http.sslcainfo=/etc/ours.pem" in lines for lines in told] == [True, True]
    assert ["perf.x=1" in lines for lines in told] == [False, True]
    assert [f"http.{url}.sslverify=true" in lines for lines in told] == [True, False]
