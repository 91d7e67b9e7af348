"""A line of commits from good's packages to bad's: each changes the version of one package in the lock files.

The search goes over them as over any other commits. They are on no branch, and git removes them some day.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from perf_culprit import git
from perf_culprit.errors import list_names
from perf_culprit.read.results.surroundings import ecosystem_of

MOST_PACKAGES: Final = 1000
GONE: Final = "none"
Texts = Mapping[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Pins:
    """The pinned packages of one lock file: `versions` by package, and the file with another file's `package`."""

    versions: Callable[[str], dict[str, str]]
    moved: Callable[[str, str, str], str]


@dataclass(frozen=True, kw_only=True, slots=True)
class PackageChain:
    """`last` is the commit with good's files and all of bad's packages; `steps` counts the packages."""

    last: str
    steps: int


def package_chain(repository: Path, good: str, bad: str) -> PackageChain | str:
    """Write the commits. If there is nothing to search, return the reason; "" if the packages are the same."""
    changed = [
        one for one in git.file_changes(repository, good, bad) if _name(one.path) and ecosystem_of(_name(one.path))
    ]
    locks = {one.path: one for one in changed if one.status == "M" and _pins(one.path) is not None}
    if not locks:
        kinds = list_names(sorted({_name(one.path) for one in changed}), most=5)
        return f"{kinds}: only uv.lock, requirements.txt and package-lock.json can be taken apart" if changed else ""
    names = [blob or "" for one in locks.values() for blob in (one.old_blob, one.blob)]
    texts = iter(git.read_blobs(repository, names))
    tip, steps = good, 0
    for path in locks:
        old, new = (next(texts).decode(errors="surrogateescape") for _ in range(2))
        try:
            for message, files in _steps(repository, path, old, new, good=good, bad=bad):
                tip = git.edited(repository, tip, files, message=message)
                steps += 1
                if steps == MOST_PACKAGES:
                    return f"more than {MOST_PACKAGES:,} packages differ"
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return f"{path} or its manifest does not have the form of npm's files"
    return PackageChain(last=tip, steps=steps) if steps else ""


def _steps(
    repository: Path, path: str, old: str, new: str, *, good: str, bad: str
) -> Iterator[tuple[str, dict[str, bytes]]]:
    """Yield each package's change in words, and the files that it writes."""
    pins = _pins(path)
    if pins is None:
        return
    before, after = pins.versions(old), pins.versions(new)
    manifests = _manifests(repository, path, good, bad) if _name(path) == NPM_LOCK else None
    text = old
    for package in sorted(before.keys() | after.keys()):
        versions = before.get(package, GONE), after.get(package, GONE)
        if versions[0] == versions[1]:
            continue
        text = pins.moved(text, new, package)
        files = {path: text}
        if manifests is not None:
            manifest, source = manifests
            manifests = _required(manifest, source, package), source
            files[path.removesuffix(NPM_LOCK) + NPM_MANIFEST] = manifests[0]
        written = {name: content.encode(errors="surrogateescape") for name, content in files.items()}
        yield f"{package} {versions[0]} → {versions[1]}", written


def _name(path: str) -> str:
    return path.rpartition("/")[2]


# Files of blocks: `name==version` with the lines that continue it, and the tables of uv.lock.

_PINNED: Final = re.compile(r"(?m)^([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?==([^\s;\\]+)[^\n]*\n(?:[ \t]+[^\n]*\n)*")
_TABLE: Final = re.compile(r'(?ms)^\[\[package\]\]\nname = "([^"]+)"\nversion = "([^"]+)"\n.*?(?=^\[\[package\]\]|\Z)')


def _of_blocks(block: re.Pattern[str]) -> Pins:
    def blocks_of(text: str) -> Iterator[re.Match[str]]:
        return block.finditer(text if text.endswith("\n") else text + "\n")

    def versions(text: str) -> dict[str, str]:
        pinned: dict[str, str] = {}
        for one in blocks_of(text):
            pinned[one[1]] = f"{pinned[one[1]]}, {one[2]}" if one[1] in pinned else one[2]
        return pinned

    def moved(text: str, new: str, package: str) -> str:
        """Put the package's blocks of `new` where its first one is, or before the first later name."""
        text = text if text.endswith("\n") else text + "\n"
        own = "".join(one[0] for one in blocks_of(new) if one[1] == package)
        blocks = [one for one in blocks_of(text) if one[1] == package]
        later = next((one.start() for one in blocks_of(text) if one[1] > package), len(text))
        place = blocks[0].start() if blocks else later
        rest = "".join(text[start:end] for start, end in _between(blocks, place, len(text)))
        return text[:place] + own + rest

    return Pins(versions=versions, moved=moved)


def _between(blocks: list[re.Match[str]], first: int, end: int) -> Iterator[tuple[int, int]]:
    for one in blocks:
        yield first, one.start()
        first = one.end()
    yield first, end


# npm: the package's folders and those inside of them, and what the manifest requires, which `npm ci` compares.

NPM_LOCK: Final = "package-lock.json"
NPM_MANIFEST: Final = "package.json"
NPM_ROOT: Final = "node_modules/"
REQUIRED: Final = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")


def _npm_package(folder: str) -> str:
    """The package at the top that holds this folder; "" for the project and its workspaces."""
    words = folder.removeprefix(NPM_ROOT).split("/") if folder.startswith(NPM_ROOT) else [""]
    return "/".join(words[:2]) if words[0].startswith("@") else words[0]


def _npm_versions(text: str) -> dict[str, str]:
    folders: dict[str, Any] = json.loads(text).get("packages", {})
    own: dict[str, list[str]] = {}
    for folder, facts in folders.items():
        if package := _npm_package(folder):
            own.setdefault(package, []).append(str(facts.get("version", "")))
    return {package: ", ".join(dict.fromkeys(versions)) for package, versions in own.items()}


def _npm_moved(text: str, new: str, package: str) -> str:
    lock, other = json.loads(text), json.loads(new)
    kept = {folder: facts for folder, facts in lock["packages"].items() if _npm_package(folder) != package}
    own = {folder: facts for folder, facts in other["packages"].items() if _npm_package(folder) == package}
    lock["packages"] = dict(sorted({**kept, **own}.items()))
    lock["packages"][""] = json.loads(_required(json.dumps(kept[""]), json.dumps(other["packages"][""]), package))
    lock.pop("dependencies", None)  # of the older form, which newer versions of npm ignore
    return json.dumps(lock, indent=2, ensure_ascii=False) + "\n"


def _required(manifest: str, other: str, package: str) -> str:
    """Return the manifest that requires the package as the other one does."""
    own, source = json.loads(manifest), json.loads(other)
    for kind in REQUIRED:
        if package in source.get(kind, {}):
            own.setdefault(kind, {})[package] = source[kind][package]
        else:
            own.get(kind, {}).pop(package, None)
    return json.dumps(own, indent=2, ensure_ascii=False) + "\n"


def _manifests(repository: Path, lock: str, *commits: str) -> tuple[str, str] | None:
    path = lock.removesuffix(NPM_LOCK) + NPM_MANIFEST
    blobs = [blob for blob in git.tree_names(repository, commits, path) if blob]
    if len(blobs) < len(commits):
        return None
    before, after = git.read_blobs(repository, blobs)
    return before.decode(), after.decode()


PINS: Final[Mapping[str, Pins]] = {
    "uv.lock": _of_blocks(_TABLE),
    "requirements*.txt": _of_blocks(_PINNED),
    NPM_LOCK: Pins(versions=_npm_versions, moved=_npm_moved),
}


def _pins(path: str) -> Pins | None:
    return next((pins for pattern, pins in PINS.items() if fnmatchcase(_name(path), pattern)), None)
