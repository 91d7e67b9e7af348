"""The newest version of a package that users install, and its tag."""

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from perf_culprit import git
from perf_culprit.errors import DataError, InfrastructureError, UsageError
from perf_culprit.files import temporary_folder
from perf_culprit.flows.compared_commits import ReferenceCommit
from perf_culprit.measure.package_manifests import (
    MANIFESTS,
    PACKAGE_NAME,
    PACKAGE_VERSION,
    PackageManifest,
    tag_of_version,
)
from perf_culprit.model.artifact_limits import ARTIFACT_LIMITS

REGISTRY: Final = "registry"
_VERSION: Final = PACKAGE_VERSION.pattern


@dataclass(frozen=True, kw_only=True, slots=True)
class _Registry:
    """A registry and its client. `answer` has the newest version as its group."""

    name: str
    command: tuple[str, ...]
    answer: re.Pattern[str]


_REGISTRIES: Final[Mapping[str, _Registry]] = {
    "pyproject.toml": _Registry(
        name="PyPI",
        command=("pip", "index", "versions", "{}"),
        answer=re.compile(rf"^\S+ \({_VERSION}\)$", re.MULTILINE),
    ),
    "package.json": _Registry(
        name="npm",
        command=("npm", "view", "{}", "version"),
        answer=re.compile(rf"\A{_VERSION}\s*\Z"),
    ),
    "Cargo.toml": _Registry(
        name="crates.io",
        command=("cargo", "info", "{}"),
        answer=re.compile(rf"^version: {_VERSION}$", re.MULTILINE),
    ),
}


def registry_release(repository: Path) -> ReferenceCommit:
    """Return the tag of the newest version in the registry of the first manifest that names a package."""
    for file, registry in _REGISTRIES.items():
        if (name := _package(repository / file, MANIFESTS[file])) is not None:
            version = _newest(name, registry)
            return _commit_of_tag(repository, name, version, registry)
    raise UsageError(
        "no manifest here names a package",
        place=str(repository),
        next_step=f"add its name to {' or '.join(_REGISTRIES)}, or write `--reference latest-release`",
    )


def _package(path: Path, manifest: PackageManifest) -> str | None:
    try:
        content = manifest.load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(
            f"cannot be read: {type(error).__name__}", place=str(path), next_step="correct it, or name a tag instead"
        ) from None
    return manifest.entry(content, "name", PACKAGE_NAME)


def _newest(name: str, registry: _Registry) -> str:
    """Ask the client, in an empty folder: in a package's own folder cargo answers with that package."""
    command = [word.format(name) for word in registry.command]
    why = "it names no version"
    with temporary_folder() as scratch:
        try:
            done = subprocess.run(
                command, cwd=scratch, capture_output=True, timeout=ARTIFACT_LIMITS.download_s, check=False
            )
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


def _commit_of_tag(repository: Path, name: str, version: str, registry: _Registry) -> ReferenceCommit:
    tags = git.tags(repository)
    if (tag := tag_of_version(tags, name, version)) is not None:
        return ReferenceCommit(name=tag, commit=tags[tag])
    raise UsageError(
        f"{registry.name}'s newest release of {name} is {version}, and no tag here has that version",
        place="--reference registry",
        next_step="fetch the tags (`git fetch --tags`), or name the commit that was released: `--reference COMMIT`",
    )
