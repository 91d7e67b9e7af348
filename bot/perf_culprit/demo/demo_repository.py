"""The demo's git repository: its commits, its bare remote, checkouts of single commits, and the programs run there."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from perf_culprit.errors import InfrastructureError, UsageError
from perf_culprit.git.command import run_git
from perf_culprit.git.revisions import resolve_commit


@dataclass(frozen=True, kw_only=True, slots=True)
class DemoCommit:
    """One commit: its message and the full new text of the files that it changes."""

    message: str
    changes: Mapping[str, str]


IDENTITY = {
    "GIT_AUTHOR_NAME": "Demo",
    "GIT_AUTHOR_EMAIL": "demo@example.invalid",
    "GIT_COMMITTER_NAME": "Demo",
    "GIT_COMMITTER_EMAIL": "demo@example.invalid",
}
BRANCH = "fold-accents"
_DEMO_MARKER = ".perf-culprit-demo"
TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class DemoRepository:
    """`remote` stands in for GitHub. `main` and `branch` are commits, oldest first; `head` is the branch's last."""

    work: Path
    remote: Path
    main: tuple[str, ...]
    branch: tuple[str, ...]

    @property
    def head(self) -> str:
        return self.branch[-1]


def fresh_directory(directory: Path) -> None:
    """Create an empty directory for the demo. Raise a UsageError if it holds anything that the demo did not make."""
    step = "give another place with --directory"
    if directory.exists() and not directory.is_dir():
        raise UsageError("is a file, not a folder", place=str(directory), next_step=step)
    if directory.exists():
        if not (directory / _DEMO_MARKER).is_file() and any(directory.iterdir()):
            raise UsageError("is not empty and was not made by the demo", place=str(directory), next_step=step)
        shutil.rmtree(directory)
    directory.mkdir(parents=True)
    (directory / _DEMO_MARKER).write_text("made by perf-culprit demo, which replaces it each time\n", encoding="utf-8")


def build_repository(directory: Path) -> DemoRepository:
    """Create a repository with a main branch, a branch that regresses, and a bare remote that has both."""
    work, remote = directory / "textkit", directory / "remote.git"
    for path in (work, remote):
        path.mkdir()
    run_git(remote, "init", "--quiet", "--bare", "--initial-branch=main")
    run_git(work, "init", "--quiet", "--initial-branch=main")
    run_git(work, "remote", "add", "origin", str(remote.resolve()))
    main = tuple(_commit_all(work, main_steps()))
    run_git(work, "checkout", "--quiet", "-b", BRANCH)
    branch = tuple(_commit_all(work, branch_steps()))
    run_git(work, "push", "--quiet", "origin", "main", BRANCH)
    run_git(work, "fetch", "--quiet", "origin")
    return DemoRepository(work=work, remote=remote, main=main, branch=branch)


def checkout(repository: DemoRepository, commit: str, directory: Path) -> Path:
    """Create a worktree of `commit` in `directory`, and return it."""
    run_git(repository.work, "worktree", "add", "--quiet", "--detach", str(directory.resolve()), commit)
    return directory


def run_program(tree: Path, name: str, output: Path, *arguments: str) -> Path:
    """Run `python NAME OUTPUT ARGUMENT...` in a checkout, and return the output file."""
    command = [sys.executable, name, str(output.resolve()), *arguments]
    try:
        done = subprocess.run(
            command,
            cwd=tree,
            env=dict(os.environ),
            check=False,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise InfrastructureError(
            f"the demo's {name} took longer than {TIMEOUT_SECONDS:.0f} s",
            place=str(tree),
            next_step="run the demo again when the machine is less busy",
        ) from None
    if done.returncode != 0:
        raise InfrastructureError(
            f"the demo's {name} ended with {done.returncode}: {done.stderr.strip()[-300:]}",
            place=str(tree),
            next_step="report this as a bug",
        )
    return output


def _commit_all(work: Path, steps: Iterable[DemoCommit]) -> Iterable[str]:
    for step in steps:
        for name, text in step.changes.items():
            (work / name).write_text(text, encoding="utf-8")
        run_git(work, "add", "--all")
        run_git(work, "commit", "--quiet", "--message", step.message, environment=IDENTITY)
        yield resolve_commit(work, "HEAD")


def _project(name: str) -> str:
    return (files("perf_culprit.demo") / "project" / name).read_text(encoding="utf-8")


def main_steps() -> tuple[DemoCommit, ...]:
    """Return main's commits, oldest first. None of them changes what is measured."""
    code = _project("textkit.py")
    programs = {name: _project(name) for name in ("bench.py", "serve.py")}
    start = DemoCommit(message="Text toolkit with a benchmark", changes={"textkit.py": code, **programs})
    notes = ("Describe the toolkit", "Say how to run the benchmark", "Fix a typing error", "Name the licence")
    return (start, *(DemoCommit(message=note, changes={"README.md": f"# textkit\n\n{note}.\n"}) for note in notes))


def branch_steps() -> tuple[DemoCommit, ...]:
    """Return the pull request's five commits. The third folds accents word by word and is slow."""
    code = _project("textkit.py")
    documented = code.replace('"""A small text library', '"""A small text library for plain and accented English')
    named = documented.replace("places", "places_of_words")
    folded = named.replace("import re\n", "import re\nimport unicodedata\n").replace(
        "    return WORD.findall(text.lower())\n",
        '    return [unicodedata.normalize("NFKD", word) for word in WORD.findall(text.lower())]\n',
    )
    return (
        DemoCommit(message="Say which texts are meant", changes={"textkit.py": documented}),
        DemoCommit(message="Name what the index holds", changes={"textkit.py": named}),
        DemoCommit(message="Fold accents, so that café finds cafe", changes={"textkit.py": folded}),
        DemoCommit(message="Spell out the width of a line", changes={"textkit.py": folded.replace("width", "columns")}),
        DemoCommit(
            message="Mention accents in the readme", changes={"README.md": "# textkit\n\nNow with accents. MIT.\n"}
        ),
    )
