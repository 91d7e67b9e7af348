"""Versions of a package: the newest that users install, the one in its manifest, and the tags of both."""

import json
import re
import subprocess
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from perf_culprit import git
from perf_culprit.errors import DataError, InfrastructureError, UsageError
from perf_culprit.files import temporary_folder
from perf_culprit.flows.compared_commits import ReferenceCommit

REGISTRY: Final = "registry"
MOST_SECONDS: Final = 60
# No name that begins with a hyphen or a dot: it would be an option or a path to the client.
_NAME: Final = re.compile(r"(?:@[A-Za-z0-9][\w.-]*/)?[A-Za-z0-9][\w.-]*")
_VERSION: Final = r"(\d[\w.+!-]*)"
_WHOLE_VERSION: Final = re.compile(_VERSION)
_NUMBER: Final = re.compile(r"\d+")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Registry:
    """A registry and its client. `answer` has the newest version as its group.

    `tables` of the manifest may hold the name and the version.
    """

    name: str
    load: Callable[[str], Any]
    tables: tuple[tuple[str, ...], ...]
    command: tuple[str, ...]
    answer: re.Pattern[str]


_REGISTRIES: Final[Mapping[str, _Registry]] = {
    "pyproject.toml": _Registry(
        name="PyPI",
        load=tomllib.loads,
        tables=(("project",), ("tool", "poetry")),
        command=("pip", "index", "versions", "{}"),
        answer=re.compile(rf"^\S+ \({_VERSION}\)$", re.MULTILINE),
    ),
    "package.json": _Registry(
        name="npm",
        load=json.loads,
        tables=((),),
        command=("npm", "view", "{}", "version"),
        answer=re.compile(rf"\A{_VERSION}\s*\Z"),
    ),
    "Cargo.toml": _Registry(
        name="crates.io",
        load=tomllib.loads,
        tables=(("package",), ("workspace", "package")),
        command=("cargo", "info", "{}"),
        answer=re.compile(rf"^version: {_VERSION}$", re.MULTILINE),
    ),
}

MANIFESTS: Final = tuple(_REGISTRIES)


def registry_release(repository: Path) -> ReferenceCommit:
    """Return the tag of the newest version in the registry of the first manifest that names a package."""
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
    return _entry(manifest, registry, "name", _NAME)


def _entry(manifest: Any, registry: _Registry, key: str, form: re.Pattern[str]) -> str | None:
    """Return the first table's text under this key that has this form."""
    for path in registry.tables:
        table = manifest
        for name in path:
            table = table.get(name) if isinstance(table, Mapping) else None
        value = table.get(key) if isinstance(table, Mapping) else None
        if isinstance(value, str) and form.fullmatch(value):
            return value
    return None


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


def _tagged(repository: Path, name: str, version: str, registry: _Registry) -> ReferenceCommit:
    tags = git.tags(repository)
    if (tag := _tag_of(tags, name, version)) is not None:
        return ReferenceCommit(name=tag, commit=tags[tag])
    raise UsageError(
        f"{registry.name}'s newest release of {name} is {version}, and no tag here has that version",
        place="--reference registry",
        next_step="fetch the tags (`git fetch --tags`), or name the commit that was released: `--reference COMMIT`",
    )


def _tag_of(tags: Collection[str], name: str, version: str) -> str | None:
    short = name.rpartition("/")[2]
    forms = ("{1}", "v{1}", "{0}-{1}", "{0}-v{1}", "{0}@{1}", "{0}@v{1}", "{0}/v{1}", "release-{1}", "{0}_{1}")
    names = (form.format(package, version) for form in forms for package in (name, short))
    return next((tag for tag in names if tag in tags), None)


@dataclass(frozen=True, kw_only=True, slots=True)
class Release:
    """A release as its commit names it. `before` is the version in the manifest before, of this `package`."""

    name: str
    package: str = ""
    before: str = ""


def bumped(file: str, before: bytes, after: bytes) -> Release | None:
    """Return the release that this change of a manifest makes, or None if the version stays or is missing."""
    registry = _REGISTRIES[file]
    try:
        manifests = [registry.load(content.decode()) for content in (before, after)]
    except (ValueError, RecursionError):
        return None
    old, new = (_entry(manifest, registry, "version", _WHOLE_VERSION) for manifest in manifests)
    if old is None or new is None or old == new:
        return None
    return Release(name=new, package=_entry(manifests[1], registry, "name", _NAME) or "", before=old)


def release_before(repository: Path, release: Release, *, commit: str) -> ReferenceCommit | None:
    """Return the release before that of `commit`: the tag of the manifest's version before, else the newest such tag.

    Tags on earlier commits that differ from this one's only in their numbers are preferred.
    """
    earlier = set(git.ancestors(repository, [commit])) - {commit}
    tags = {name: at for name, at in git.tags(repository).items() if at in earlier}
    alike = [name for name in tags if _NUMBER.sub("0", name) == _NUMBER.sub("0", release.name)]
    of_version = _tag_of(tags, release.package, release.before) if release.before else None
    name = of_version or next(reversed(alike or list(tags)), None)
    return None if name is None else ReferenceCommit(name=name, commit=tags[name])
