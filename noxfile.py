"""The sections of `.ci/run` by the names that contributors know, each in the environment that `.ci/env` makes."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

import nox

nox.options.default_venv_backend = "none"
nox.options.error_on_external_run = False

ACTIONLINT: Final = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"
SCRIPTS: Final = (".ci/env", ".ci/fuzz", ".ci/lock", ".ci/run", ".ci/tests")
SCHEMA: Final = "check-jsonschema --builtin-schema vendor"
LINTERS: Final[dict[str, tuple[str, ...]]] = {
    "ruff": ("ruff check .", "ruff format --check ."),
    "mypy": ("mypy",),
    "imports": ("lint-imports",),
    "house": ("python .ci/house.py",),
    "reference": ("python .ci/reference.py --check", "python .ci/rule_pictures.py --check"),
    "subjects": ("python .ci/subjects.py",),
    "zizmor": ("zizmor --offline --no-progress --color never --persona auditor .",),
    "schemas": (
        f"{SCHEMA}.github-workflows {' '.join(map(str, sorted(Path('.github/workflows').glob('*.yml'))))}",
        f"{SCHEMA}.github-actions action.yml",
        f"{SCHEMA}.dependabot .github/dependabot.yml",
        f"{SCHEMA}.github-issue-forms .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/format.yml",
    ),
    "hadolint": ("hadolint Dockerfile",),
    "shellcheck": (f"shellcheck {' '.join(SCRIPTS)}",),
    "site": ("mkdocs build --strict --quiet --config-file .ci/mkdocs.yml",),  # links, anchors, navigation
    "actionlint": ("actionlint -no-color -pyflakes=", "pytest -q -p no:cacheprovider tests/unit/test_recipes.py"),
}


@nox.session
def lint(session: nox.Session) -> None:
    """Run all linters, or those that are named: nox -s lint -- mypy house."""
    if unknown := set(session.posargs) - LINTERS.keys():
        session.error(f"no linter {', '.join(sorted(unknown))}; these exist: {', '.join(LINTERS)}")
    failed = [name for name in session.posargs or LINTERS if not _passes(session, name)]
    if failed:
        session.error(f"lint failed: {', '.join(failed)}")


def _passes(session: nox.Session, name: str) -> bool:
    if name == "actionlint":
        if not shutil.which("go"):
            session.warn("go is not installed; actionlint is skipped")
            return True
        # From Go's module proxy, checked by its sum database.
        folder = {"GOBIN": str(Path(".venv/bin").resolve()), "GOFLAGS": "-modcacherw"}
        session.run("sh", ".ci/env", "go", "install", ACTIONLINT, env=folder)
    results = [_succeeds(session, command) for command in LINTERS[name]]
    return all(results)


def _succeeds(session: nox.Session, command: str) -> bool:
    try:
        session.run("sh", ".ci/env", *command.split(), env={"NO_MKDOCS_2_WARNING": "1"})
    except nox.command.CommandFailed:
        return False
    return True


def _script(name: str) -> Callable[[nox.Session], None]:
    def section(session: nox.Session) -> None:
        session.run("bash", f".ci/{name}", env=dict(os.environ))

    section.__doc__ = f"Run .ci/{name}, which installs what it needs."
    return section


for _name in ("tests", "fuzz"):
    nox.session(_script(_name), name=_name)
