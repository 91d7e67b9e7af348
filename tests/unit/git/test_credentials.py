"""The attacker reads what every process of the machine was started with, while git speaks to the server."""

import base64
import contextlib
import sys
import uuid
from pathlib import Path

import pytest

from perf_culprit import git
from perf_culprit.git import credentials
from perf_culprit.git.command import REMOTE_NAME
from tests.support import git_http
from tests.support.git_http import GitHandler, serve_git
from tests.support.git_repository import chain, import_commits, init_repository

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
