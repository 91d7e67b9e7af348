"""Lock files taken apart: the same file with another file's version of one package, and its manifests."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from perf_culprit.read.results.locked_packages import normal_name


@dataclass(frozen=True, kw_only=True, slots=True)
class LockFormat:
    """A form of lock files: versions and needs by package, and `moved`, the file with another file's package.

    `manifests`: the files that state what the project requires, relative to it; installers compare them.
    `required`: a manifest that requires the package as another one does.
    """

    written_by: str
    install: str
    versions: Callable[[str], dict[str, str]]
    needs: Callable[[str], dict[str, set[str]]]
    moved: Callable[[str, str, str], str]
    manifests: Callable[[str], tuple[str, ...]] = lambda _: ()
    required: Callable[[str, str, str], str] = lambda own, _, __: own


def _joined(versions: Mapping[str, list[str]]) -> dict[str, str]:
    return {package: ", ".join(dict.fromkeys(own)) for package, own in versions.items()}


_PINNED: Final = re.compile(
    r"(?m)^(?P<name>[A-Za-z0-9][\w.-]*) *(?:\[[^\]]*\])? *===? *(?P<version>[^\s;,\\]+)[^\n]*\n(?:[ \t]+[^\n]*\n)*"
)
_VIA: Final = re.compile(r"(?m)^[ \t]+#[ \t]+(?:via[ \t]+)?([A-Za-z0-9][\w.-]*)$")  # as pip-compile and uv write it
_TABLE: Final = re.compile(
    r'(?ms)^\[\[package\]\]\nname = "(?P<name>[^"]+)"\n(?:version = "(?P<version>[^"]+)"\n)?.*?(?=^\[\[package\]\]|\Z)'
)
_OWN_TABLE: Final = re.compile(r'(?m)^source = \{ (?:virtual|editable|directory) = "([^"]*)"')


def _blocks(block: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Yield the blocks of packages; the project's own tables are none."""
    return (
        one for one in block.finditer(text if text.endswith("\n") else text + "\n") if not _OWN_TABLE.search(one[0])
    )


def _block_versions(block: re.Pattern[str], text: str) -> dict[str, str]:
    versions: dict[str, list[str]] = {}
    for one in _blocks(block, text):
        versions.setdefault(normal_name(one["name"]), []).append(one["version"] or "")
    return _joined(versions)


def _block_moved(block: re.Pattern[str], text: str, new: str, package: str) -> str:
    """Put the package's blocks of `new` where its first one is, or before the first later name."""
    text = text if text.endswith("\n") else text + "\n"
    moved = "".join(one[0] for one in _blocks(block, new) if normal_name(one["name"]) == package)
    own = [one for one in _blocks(block, text) if normal_name(one["name"]) == package]
    later = next((one.start() for one in _blocks(block, text) if normal_name(one["name"]) > package), len(text))
    place = own[0].start() if own else later
    rest = text
    for one in reversed(own):
        rest = rest[: one.start()] + rest[one.end() :]
    return rest[:place] + moved + rest[place:]


def _pip_needs(text: str) -> dict[str, set[str]]:
    needs: dict[str, set[str]] = {}
    for one in _blocks(_PINNED, text):
        for dependent in _VIA.findall(one[0]):
            needs.setdefault(normal_name(dependent), set()).add(normal_name(one["name"]))
    return needs


_HEADER: Final = re.compile(r"(?m)^\[+([^\]\n]+)\]+")
_ARRAY: Final = re.compile(r'(?m)^[ \t]*([\w."-]+)[ \t]*=[ \t]*\[((?s:.*?))\][ \t]*(?:#[^\n]*)?$')
_TABLE_ITEM: Final = re.compile(r'\{ name = "(?P<name>[^"]+)"(?:[^{}\n]|\{[^{}\n]*\})*\}')
_STRING_ITEM: Final = re.compile(r'"(?P<name>[A-Za-z0-9][\w.-]*)[^"\n]*"|\'(?P<other>[A-Za-z0-9][\w.-]*)[^\'\n]*\'')


def _uv_needs(text: str) -> dict[str, set[str]]:
    return {
        one["name"]: {item["name"] for array in _ARRAY.findall(one[0]) for item in _TABLE_ITEM.finditer(array[1])}
        for one in _blocks(_TABLE, text)
    }


def _uv_moved(text: str, new: str, package: str) -> str:
    text = _block_moved(_TABLE, text, new, package)
    theirs = {one["name"]: one[0] for one in _TABLE.finditer(new) if _OWN_TABLE.search(one[0])}
    for one in reversed([one for one in _TABLE.finditer(text) if _OWN_TABLE.search(one[0]) and one["name"] in theirs]):
        table = _with_items(one[0], theirs[one["name"]], package, _TABLE_ITEM)
        text = text[: one.start()] + table + text[one.end() :]
    return text


def _arrays(text: str) -> Iterator[tuple[tuple[str, str], int, str]]:
    """Yield each array's table and key, and the place and text of its items."""
    headers = [(one.start(), one[1]) for one in _HEADER.finditer(text)]
    for one in _ARRAY.finditer(text):
        table = next((name for start, name in reversed(headers) if start < one.start()), "")
        yield (table, one[1]), one.start(2), one[2]


def _with_items(text: str, other: str, package: str, item: re.Pattern[str]) -> str:
    """Return the TOML text whose arrays have the other text's items of this package."""

    def items(body: str) -> list[re.Match[str]]:
        return [one for one in item.finditer(body) if normal_name(next(filter(None, one.groups()))) == package]

    theirs = {place: body for place, _, body in _arrays(other)}
    for place, start, body in reversed([*_arrays(text)]):
        own, wanted = items(body), [one[0] for one in items(theirs.get(place, ""))]
        if [one[0] for one in own] == wanted:
            continue
        changed = body if own else "".join(f"{one}, " for one in wanted) + body
        for place_of, one in reversed([*enumerate(own)]):
            if place_of == 0 and wanted:
                changed = changed[: one.start()] + ", ".join(wanted) + changed[one.end() :]
            else:
                changed = changed[: one.start()] + re.sub(r"^\s*,[ \t]*", "", changed[one.end() :])
        text = text[:start] + changed + text[start + len(body) :]
    return text


NPM_FOLDER: Final = "node_modules/"
REQUIRED: Final = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")


def _npm_package(folder: str) -> str:
    """The package at the top that holds this folder; "" for the project and its workspaces."""
    words = folder.partition(NPM_FOLDER)[2].split("/")
    return "/".join(words[:2]) if words[0].startswith("@") else words[0]


def _npm_folders(text: str) -> dict[str, dict[str, Any]]:
    folders: dict[str, dict[str, Any]] = json.loads(text)["packages"]
    return folders


def _npm_versions(text: str) -> dict[str, str]:
    versions: dict[str, list[str]] = {}
    for folder, facts in _npm_folders(text).items():
        if (package := _npm_package(folder)) and not facts.get("link"):
            versions.setdefault(package, []).append(str(facts.get("version", "")))
    return _joined(versions)


def _npm_needs(text: str) -> dict[str, set[str]]:
    needs: dict[str, set[str]] = {}
    for folder, facts in _npm_folders(text).items():
        if package := _npm_package(folder):
            needs.setdefault(package, set()).update(name for kind in REQUIRED for name in facts.get(kind, ()))
    return needs


def _npm_moved(text: str, new: str, package: str) -> str:
    lock, theirs = json.loads(text), _npm_folders(new)
    rest = {
        folder: json.loads(_npm_required(json.dumps(facts), json.dumps(theirs[folder]), package))
        if not _npm_package(folder) and folder in theirs
        else facts
        for folder, facts in lock["packages"].items()
        if _npm_package(folder) != package
    }
    own = {folder: facts for folder, facts in theirs.items() if _npm_package(folder) == package}
    lock["packages"] = dict(sorted({**rest, **own}.items()))
    lock.pop("dependencies", None)  # of the older form, which newer versions of npm ignore
    return json.dumps(lock, indent=2, ensure_ascii=False) + "\n"


def _npm_required(manifest: str, other: str, package: str) -> str:
    own, source = json.loads(manifest), json.loads(other)
    for kind in REQUIRED:
        if package in source.get(kind, {}):
            own.setdefault(kind, {})[package] = source[kind][package]
        else:
            own.get(kind, {}).pop(package, None)
    return json.dumps(own, indent=2, ensure_ascii=False) + "\n"


_PIP: Final = LockFormat(
    written_by="pip",
    install="pip install -r requirements.txt",
    versions=lambda text: _block_versions(_PINNED, text),
    needs=_pip_needs,
    moved=lambda text, new, package: _block_moved(_PINNED, text, new, package),
)
_NPM: Final = LockFormat(
    written_by="npm 7",
    install="npm ci",
    versions=_npm_versions,
    needs=_npm_needs,
    moved=_npm_moved,
    manifests=lambda text: tuple(
        f"{folder or '.'}/package.json" for folder in _npm_folders(text) if not _npm_package(folder)
    ),
    required=_npm_required,
)
LOCK_FORMATS: Final[Mapping[str, LockFormat]] = {
    "uv.lock": LockFormat(
        written_by="uv",
        install="uv sync",
        versions=lambda text: _block_versions(_TABLE, text),
        needs=_uv_needs,
        moved=_uv_moved,
        manifests=lambda text: tuple(f"{folder}/pyproject.toml" for folder in _OWN_TABLE.findall(text)),
        required=lambda manifest, other, package: _with_items(manifest, other, package, _STRING_ITEM),
    ),
    "requirements*.txt": _PIP,
    "constraints*.txt": _PIP,
    "package-lock.json": _NPM,
    "npm-shrinkwrap.json": _NPM,
}
