"""The newest version that users install, asked of the package's own client, and the commit of its tag."""

import json
import re
import subprocess
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from perf_culprit import git
from perf_culprit.errors import DataError, InfrastructureError, UsageError
from perf_culprit.files import temporary_folder
from perf_culprit.flows.compared_commits import Reference

REGISTRY: Final = "registry"
MOST_SECONDS: Final = 60
# No name that begins with a hyphen or a dot: it would be an option or a path to the client.
_NAME: Final = re.compile(r"(?:@[A-Za-z0-9][\w.-]*/)?[A-Za-z0-9][\w.-]*")
_VERSION: Final = r"(\d[\w.+!-]*)"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Registry:
    """A registry and its client. `answer` has the newest version as its group."""

    name: str
    load: Callable[[str], Any]
    table: str | None
    command: tuple[str, ...]
    answer: re.Pattern[str]


_REGISTRIES: Final[Mapping[str, _Registry]] = {
    "pyproject.toml": _Registry(
        name="PyPI",
        load=tomllib.loads,
        table="project",
        command=("pip", "index", "versions", "{}"),
        answer=re.compile(rf"^\S+ \({_VERSION}\)$", re.MULTILINE),
    ),
    "package.json": _Registry(
        name="npm",
        load=json.loads,
        table=None,
        command=("npm", "view", "{}", "version"),
        answer=re.compile(rf"\A{_VERSION}\s*\Z"),
    ),
    "Cargo.toml": _Registry(
        name="crates.io",
        load=tomllib.loads,
        table="package",
        command=("cargo", "info", "{}"),
        answer=re.compile(rf"^version: {_VERSION}$", re.MULTILINE),
    ),
}


def registry_release(repository: Path) -> Reference:
    """The tag of the newest version in the registry of the first manifest that names a package."""
    for file, registry in _REGISTRIES.items():
        if (name := _package(repository / file, registry)) is not None:
            version = _newest(name, registry)
            return _tagged(repository, name, version, registry)
    raise UsageError(
        "no manifest here names a package",
        place=str(repository),
        next_step=f"add its name to {' or '.join(_REGISTRIES)}, or write `--reference latest-release`",
    )


def _package(path: Path, registry: _Registry) -> str | None:
    try:
        manifest = registry.load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(
            f"cannot be read: {type(error).__name__}", place=str(path), next_step="correct it, or name a tag instead"
        ) from None
    table = manifest.get(registry.table) if registry.table and isinstance(manifest, Mapping) else manifest
    name = table.get("name") if isinstance(table, Mapping) else None
    return name if isinstance(name, str) and _NAME.fullmatch(name) else None


def _newest(name: str, registry: _Registry) -> str:
    """Ask the client, in an empty folder: in a package's own folder cargo answers with that package."""
    command = [word.format(name) for word in registry.command]
    why = "it names no version"
    with temporary_folder() as scratch:
        try:
            done = subprocess.run(command, cwd=scratch, capture_output=True, timeout=MOST_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            why = type(error).__name__
        else:
            if done.returncode == 0 and (match := registry.answer.search(done.stdout.decode("utf-8", "replace"))):
                return match[1]
    raise InfrastructureError(
        f"{registry.name} has no answer for {name}: {why}",
        place=" ".join(command),
        next_step="run this command yourself to see why, or name a tag or commit: `--reference v1.2`",
    )


def _tagged(repository: Path, name: str, version: str, registry: _Registry) -> Reference:
    tags = git.tags(repository)
    short = name.rpartition("/")[2]
    forms = ("{1}", "v{1}", "{0}-{1}", "{0}-v{1}", "{0}@{1}", "{0}@v{1}", "{0}/v{1}", "release-{1}", "{0}_{1}")
    for form in forms:
        for package in (name, short):
            if (tag := form.format(package, version)) in tags:
                return Reference(name=tag, commit=tags[tag])
    raise UsageError(
        f"{registry.name}'s newest release of {name} is {version}, and no tag here has that version",
        place="--reference registry",
        next_step="fetch the tags (`git fetch --tags`), or name the commit that was released: `--reference COMMIT`",
    )
