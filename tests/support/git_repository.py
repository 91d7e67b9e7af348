"""Real git repositories for tests, made quickly: commits by name, merges, copies of limited depth."""

import hashlib
import os
import subprocess
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

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
    """Without the samples of hooks that git copies, and whoever fetches or pushes does not look for garbage."""
    folder.mkdir(parents=True)
    run_git(folder, "init", "--quiet", "--template=", "--initial-branch=main", *(["--bare"] if bare else []))
    place = folder if bare else folder / ".git"
    (place / "hooks").mkdir()
    with (place / "config").open("a") as config:
        config.write("[maintenance]\n\tauto = false\n[receive]\n\tautoGC = false\n")
    return folder


def import_commits(repository: Path, parents: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """One commit and one branch per name, parents first, by one fast-import; gives name -> hash."""
    names = list(parents)
    marks = {name: mark for mark, name in enumerate(names, start=1)}
    lines = []
    for name in names:
        time = 1_700_000_000 + marks[name] * 60
        lines += [f"commit refs/heads/{name}", f"mark :{marks[name]}", f"committer Ada <ada@example.org> {time} +0000"]
        lines += [f"data {len(name)}", name]
        lines += [f"{'merge' if i else 'from'} :{marks[parent]}" for i, parent in enumerate(parents[name])]
        lines += [f"M 100644 inline {name}.txt", f"data {len(name)}", name, ""]
    run_git(repository, "fast-import", "--quiet", "--force", stdin="\n".join(lines) + "\n")
    hashes = run_git(repository, "for-each-ref", "--format=%(refname:short) %(objectname)", "refs/heads")
    by_name = dict(line.split(" ") for line in hashes.splitlines())
    return {name: by_name[name] for name in names}


def write_object(repository: Path, kind: str, content: bytes) -> str:
    """The hash of a loose object in this bare repository, as git writes it, but without a process."""
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
