"""A folder with a stand-in for every module that our Python could import; each stand-in records its import."""

import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import entry_points, packages_distributions
from pathlib import Path
from typing import Final

from tests.support.git_repository import run_git

(_PROGRAM,) = entry_points(group="console_scripts", name="perf-culprit")
PACKAGE: Final = _PROGRAM.module.partition(".")[0]
SPY: Final = """import sys
with open({record!r}, "a") as file:
    print({name!r}, "in", sys.orig_argv, file=file)
raise ImportError("a spy")
"""


def importable() -> set[str]:
    """Return the top-level modules of the standard library, of installed packages, of this process, and ours.

    They include those that `site` looks for: sitecustomize, usercustomize.
    """
    loaded = {name.partition(".")[0] for name in sys.modules}
    names = {PACKAGE, "sitecustomize", "usercustomize", *sys.stdlib_module_names, *packages_distributions(), *loaded}
    return {name for name in names if name.isidentifier()} - {"__main__"}


def imported_by_python_itself() -> set[str]:
    """Return the modules that `python -m PACKAGE` would import from the current folder before our code runs."""
    code = "import runpy, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    return {PACKAGE, *(name.partition(".")[0] for name in done.stdout.split())}


def write_spies(folder: Path, names: Iterable[str], *, record: Path) -> None:
    """Write spies: modules that append their name and the process's command to `record`, and fail."""
    record.touch()
    for name in names:
        (folder / f"{name}.py").write_text(SPY.format(record=str(record), name=name))
    (folder / "spy.pth").write_text(f"import {min(names)}\n")


# A key of git's configuration whose value is a program: git runs it in a repository that names it.
PROGRAMS: Final = (
    "alias.log",
    "core.alternateRefsCommand",
    "core.askPass",
    "core.editor",
    "core.fsmonitor",
    "core.gitProxy",
    "core.pager",
    "core.sshCommand",
    "credential.helper",
    "diff.external",
    "diff.spy.command",
    "diff.spy.textconv",
    "filter.spy.clean",
    "filter.spy.smudge",
    "gpg.program",
    "gpg.ssh.program",
    "interactive.diffFilter",
    "merge.spy.driver",
    "pager.log",
    "remote.origin.receivepack",
    "remote.origin.uploadpack",
    "sequence.editor",
    "uploadpack.packObjectsHook",
)
# Settings that make git use them, or run another program.
SETTINGS: Final[Mapping[str, str]] = {
    "commit.gpgSign": "true",
    "diff.spy.cachetextconv": "false",
    "gc.auto": "1",
    "log.showSignature": "true",
    "protocol.ext.allow": "always",
    "push.gpgSign": "if-asked",
    "tag.gpgSign": "true",
}
HOOKS: Final = (
    "fsmonitor-watchman",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "pre-auto-gc",
    "pre-commit",
    "pre-push",
    "reference-transaction",
)


def write_git_spies(repository: Path, *, record: Path) -> None:
    """Set every program that a repository can make git run to a spy that writes to `record` and fails; sign HEAD.

    Filters have no `process`: git would stop at its failure, before it runs the others.
    """
    record.touch()
    head = run_git(repository, "rev-parse", "HEAD")
    header, _, message = run_git(repository, "cat-file", "commit", head).partition("\n\n")
    header = re.sub("^parent .*$", f"parent {head}", header, flags=re.MULTILINE)
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----"
    text = f"{header}\n{signature}\n\n{message}\n"
    signed = run_git(repository, "hash-object", "-t", "commit", "-w", "--stdin", stdin=text)
    run_git(repository, "reset", "--quiet", "--soft", signed)
    folder = repository / ".git" / "spies"
    (repository / ".git" / "info").mkdir(exist_ok=True)
    (repository / ".git" / "info" / "attributes").write_text("* filter=spy diff=spy merge=spy\n")
    # Each has a separate program, because not every key may hold arguments.
    for name in (*HOOKS, *PROGRAMS):
        folder.mkdir(exist_ok=True)
        (folder / name).write_text(f"#!/bin/sh\necho {name} >> {record}\nexit 1\n")
        (folder / name).chmod(0o755)
    for key in PROGRAMS:
        run_git(repository, "config", key, f"{'!' if key.startswith(('alias', 'credential')) else ''}{folder / key}")
    for key, value in {"core.hooksPath": str(folder), **SETTINGS}.items():
        run_git(repository, "config", key, value)
