"""The two tiers of tests, told apart by tests/tiers.toml: what a developer runs before a push, and the rest."""

import os
import subprocess
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

import pytest

PROJECT: Final = Path(__file__).parents[2]
TABLE: Final = PROJECT / "tests" / "tiers.toml"
LEFT_OUT: Final = pytest.StashKey["LeftOut"]()


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """The tests that a run leaves out. `named` are the files of its command line, which run in any case."""

    files: frozenset[Path]
    patterns: tuple[str, ...]
    fixtures: frozenset[str]
    named: frozenset[Path] = frozenset()

    def is_file_out(self, path: Path) -> bool:
        return path in self.files and path not in self.named

    def is_test_out(self, item: pytest.Item) -> bool:
        if item.path in self.named:
            return False
        if not self.fixtures.isdisjoint(getattr(item, "fixturenames", ())):
            return True
        return any(fnmatchcase(item.nodeid, pattern) for pattern in self.patterns)


def table() -> dict[str, dict[str, list[str]]]:
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


def entries(tiers: Mapping[str, Mapping[str, Sequence[str]]], key: str) -> list[str]:
    return [entry for tier in tiers.values() for entry in tier.get(key, ())]


def left_out(changed: Sequence[str], named: Iterable[Path] = ()) -> LeftOut:
    """Return the second tier, without those of its parts that a changed file brings into the first."""
    tiers = {
        name: tier
        for name, tier in table().items()
        if not any(path.startswith(tuple(tier.get("changes", ()))) for path in changed)
    }
    tests = entries(tiers, "tests")
    return LeftOut(
        files=frozenset(PROJECT / test for test in tests if "::" not in test),
        # `[` is a character of a test's id, not the start of a set.
        patterns=tuple(test.replace("[", "[[]") for test in tests if "::" in test),
        fixtures=frozenset(entries(tiers, "fixtures")),
        named=frozenset(named),
    )


def changed_files(project: Path = PROJECT) -> list[str]:
    """Return the files that differ from the base of the branch: in CI the pull request's, elsewhere that with main."""
    target = os.environ.get("GITHUB_BASE_REF")
    for branch in [f"origin/{target}"] if target else ["main", "origin/main"]:
        if base := _git(project, "merge-base", "HEAD", branch):
            changed = _git(project, "diff", "--name-only", "--no-renames", base[0])
            return changed + _git(project, "ls-files", "--others", "--exclude-standard")
    return []


def _git(project: Path, *arguments: str) -> list[str]:
    command = ["git", "-C", str(project), *arguments]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return []
    return ended.stdout.splitlines()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="run the second tier as well (tests/tiers.toml)")


def pytest_configure(config: pytest.Config) -> None:
    if not config.getoption("--all"):
        paths = [config.invocation_params.dir / argument.partition("::")[0] for argument in config.args]
        config.stash[LEFT_OUT] = left_out(changed_files(), (path.resolve() for path in paths))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even import a file that is left out: its libraries may be large."""
    rest = config.stash.get(LEFT_OUT, None)
    return True if rest is not None and rest.is_file_out(collection_path) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if (rest := config.stash.get(LEFT_OUT, None)) is not None:
        judged = [(item, rest.is_test_out(item)) for item in items]
        items[:] = [item for item, is_out in judged if not is_out]
        config.hook.pytest_deselected(items=[item for item, is_out in judged if is_out])


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say what the run cost. The processes of xdist have ended by now, and so have those that tests started."""
    spent = os.times()
    seconds = spent.user + spent.system + spent.children_user + spent.children_system
    rest = "" if config.getoption("--all") else "; the second tier (tests/tiers.toml) runs with --all"
    terminalreporter.write_line(f"{seconds:.0f} processor seconds of all processes together{rest}")
