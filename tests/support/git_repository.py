"""Real git repositories for tests, made quickly: commits by name, merges, copies of limited depth."""

import atexit
import hashlib
import os
import shutil
import subprocess
import tempfile
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

TEMPORARY: Final = tempfile.gettempdir()  # before a test sets another
# Nobody's own configuration, names or clock reach a test.
ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "LC_ALL": "C",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
}


def run_git(folder: Path, *arguments: str, stdin: str = "") -> str:
    result = subprocess.run(
        ["git", "-C", str(folder), *arguments],
        input=stdin,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, f"git {arguments}: {result.stderr}"
    return result.stdout.strip()


def init_repository(folder: Path, *, bare: bool = False) -> Path:
    """Make an empty repository without git's sample hooks, in which fetch and push collect no garbage."""
    shutil.copytree(_initialized(is_bare=bare), folder, dirs_exist_ok=True)
    return folder


def lasting_folder() -> Path:
    """Make a folder for files that several tests copy. It is removed when the process ends."""
    folder = Path(tempfile.mkdtemp(prefix="tests-copied-", dir=TEMPORARY))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def _initialized(*, is_bare: bool) -> Path:
    """Make an empty repository to copy, once per process."""
    folder = lasting_folder()
    run_git(folder, "init", "--quiet", "--template=", "--initial-branch=main", *(["--bare"] if is_bare else []))
    place = folder if is_bare else folder / ".git"
    (place / "hooks").mkdir()
    with (place / "config").open("a") as config:
        config.write("[maintenance]\n\tauto = false\n[receive]\n\tautoGC = false\n")
    return folder


def import_commits(repository: Path, parents: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Make one commit and one branch per name, parents first, by one fast-import; return name -> hash."""
    names = list(parents)
    marks = {name: mark for mark, name in enumerate(names, start=1)}
    lines = []
    for name in names:
        time = 1_700_000_000 + marks[name] * 60
        lines += [f"commit refs/heads/{name}", f"mark :{marks[name]}", f"committer Ada <ada@example.org> {time} +0000"]
        lines += [f"data {len(name)}", name]
        lines += [f"{'merge' if i else 'from'} :{marks[parent]}" for i, parent in enumerate(parents[name])]
        lines += [f"M 100644 inline {name}.txt", f"data {len(name)}", name, "", f"get-mark :{marks[name]}"]
    # Keep the pack: git would unpack few objects by one more process.
    command = ("-c", "fastimport.unpackLimit=0", "fast-import", "--quiet", "--force")
    hashes = run_git(repository, *command, stdin="\n".join(lines) + "\n")
    return dict(zip(names, hashes.splitlines(), strict=True))


@cache
def http_backend() -> str:
    """Return the program that `git http-backend` starts as a separate process."""
    return str(Path(run_git(Path(), "--exec-path"), "git-http-backend"))


def configured(settings: Mapping[str, str]) -> dict[str, str]:
    """Return git settings as environment variables."""
    variables = {"GIT_CONFIG_COUNT": str(len(settings))}
    for at, (key, value) in enumerate(settings.items()):
        variables |= {f"GIT_CONFIG_KEY_{at}": key, f"GIT_CONFIG_VALUE_{at}": value}
    return variables


def write_object(repository: Path, kind: str, content: bytes) -> str:
    """Write a loose object into this bare repository as git does, but without a process; return its hash."""
    data = f"{kind} {len(content)}\0".encode() + content
    name = hashlib.sha1(data, usedforsecurity=False).hexdigest()
    file = repository / "objects" / name[:2] / name[2:]
    if not file.exists():
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(zlib.compress(data))
    return name


def chain(prefix: str, count: int, *, start: Sequence[str] = ()) -> dict[str, Sequence[str]]:
    """A line of commits prefix1 <- prefix2 <- …"""
    return {f"{prefix}{i}": [f"{prefix}{i - 1}"] if i > 1 else start for i in range(1, count + 1)}
