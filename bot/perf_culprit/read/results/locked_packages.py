"""The packages of lock files, with which a run was built and measured, as components such as `pip:numpy`.

Unreadable files are ignored, because no verdict needs them. Only well-known names in the folder itself count.
"""

import json
import re
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from defusedxml import ElementTree

from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.run import PACKAGE_SEPARATOR, Environment

LARGEST_FILE_BYTES: Final = 10_000_000

Pairs = Iterator[tuple[str, str]]

_PINNED: Final = re.compile(r"([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?\s*===?\s*([^\s;,#\\]+)")
_REQUIRED: Final = re.compile(r"(?:require\s+)?(\S+\.\S+|\S+/\S+)\s+(v\d\S*)(?:\s*//.*)?")
_PROPERTY: Final = re.compile(r"\$\{([^}]+)\}")


def lock_environment(folder: Path) -> Environment:
    """Return the packages of all lock files in `folder`."""
    try:
        files = sorted(path for path in folder.iterdir() if ecosystem_of(path.name) and path.is_file())
        contents = {
            path.name: path.read_bytes()
            for path in files[: FILE_LIMITS.machine_files]
            if path.stat().st_size <= LARGEST_FILE_BYTES
        }
    except OSError:
        return Environment()
    return packages(contents)


def packages(files: Mapping[str, bytes]) -> Environment:
    """Return the packages of lock files by name; several versions of one, as in npm and Cargo, form one value."""
    versions: defaultdict[str, set[str]] = defaultdict(set)
    for name, data in files.items():
        if (kind := ecosystem_of(name)) is None or len(data) > LARGEST_FILE_BYTES:
            continue
        ecosystem, read = kind
        for package, version in _read(read, data):
            component = f"{ecosystem}{PACKAGE_SEPARATOR}{package}"
            if package and version and component.isprintable() and len(component) <= FILE_LIMITS.component_characters:
                versions[component].add(" ".join(version.split()))
    return Environment(components={name: ", ".join(sorted(texts)) for name, texts in sorted(versions.items())})


def ecosystem_of(name: str) -> "tuple[str, Callable[[str], Pairs]] | None":
    """Return the ecosystem and reader for a lock file's name; None for any other file."""
    return next((kind for pattern, kind in LOCK_FILES.items() if fnmatchcase(name, pattern)), None)


def _read(read: Callable[[str], Pairs], data: bytes) -> Iterable[tuple[str, str]]:
    try:
        return list(read(data.decode()))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, ElementTree.ParseError):
        return []


def _requirements(text: str) -> Pairs:
    for line in text.splitlines():
        if pinned := _PINNED.match(line.strip()):
            yield normal_name(pinned[1]), pinned[2]


def _python_lock(text: str) -> Pairs:
    for entry in tomllib.loads(text)["package"]:
        # Skip the project itself and its parts, because their versions do not identify their content.
        if not {"editable", "virtual", "directory"} & dict(entry.get("source") or {}).keys():
            yield normal_name(entry["name"]), str(entry.get("version", ""))


def normal_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _cargo_lock(text: str) -> Pairs:
    for entry in tomllib.loads(text)["package"]:
        if "source" in entry:
            yield entry["name"], str(entry["version"])


def _npm_lock(text: str) -> Pairs:
    file = json.loads(text)
    if "packages" not in file:
        yield from _npm_tree(file["dependencies"])
        return
    for path, entry in file["packages"].items():
        _, is_installed, name = path.rpartition("node_modules/")
        if is_installed and not entry.get("link"):
            yield name, str(entry.get("version", ""))


def _npm_tree(dependencies: Mapping[str, Any]) -> Pairs:
    for name, entry in dependencies.items():
        yield name, str(entry.get("version", ""))
        yield from _npm_tree(entry.get("dependencies", {}))


def _go_mod(text: str) -> Pairs:
    """Read `go.mod`, which lists the modules of the build; `go.sum` also has those that were only considered."""
    for line in text.splitlines():
        if required := _REQUIRED.fullmatch(line.strip()):
            yield required[1], required[2]


def _pom(text: str) -> Pairs:
    def children(element: Any) -> dict[str, Any]:
        return {child.tag.rpartition("}")[2]: child for child in element}

    root = ElementTree.fromstring(text)
    top = children(root)
    properties = {name: entry.text or "" for name, entry in children(top.get("properties", [])).items()}
    for element in root.iter():
        if element.tag.rpartition("}")[2] not in {"dependency", "plugin", "parent"}:
            continue
        facts = {name: entry.text or "" for name, entry in children(element).items()}
        version = _PROPERTY.sub(lambda used: properties.get(used[1], used[0]), facts.get("version", ""))
        yield f"{facts.get('groupId', '')}:{facts.get('artifactId', '')}", version


LOCK_FILES: Final[Mapping[str, tuple[str, Callable[[str], Pairs]]]] = {
    "requirements*.txt": ("pip", _requirements),
    "constraints*.txt": ("pip", _requirements),
    "uv.lock": ("pip", _python_lock),
    "poetry.lock": ("pip", _python_lock),
    "package-lock.json": ("npm", _npm_lock),
    "Cargo.lock": ("cargo", _cargo_lock),
    "go.mod": ("go", _go_mod),
    "pom.xml": ("maven", _pom),
}
