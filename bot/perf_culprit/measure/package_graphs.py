"""The graph of a language's packages, and what their sources may read or start without importing it.

Unclear code raises an `UnknownError`; callers then assume that everything is reached.
"""

import posixpath
import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Final

from perf_culprit import git
from perf_culprit.model.file_limits import FILE_LIMITS

_PATH: Final = re.compile(r"[\w@.+/-]+")
_WORD: Final = re.compile(r"[\w@.+-]+")
# Comments in Rust, Go and JavaScript. No line that continues a product names a file.
_COMMENT: Final = re.compile(r"\s*(?://|\*\s)")
# Documentation in Rust: of the file, only its presence counts.
_DOC: Final = re.compile(r'\s*#!?\[(?:cfg_attr\(\w+,\s*)?doc\s*=\s*include_str!\("[^"]*"\)\)?\]')
# Many files share these names: they count with their folder.
_COMMON: Final = re.compile(r"(?:lib|mod|main|index|__init__|doc)\.\w+|package\.json")
# The endings in patterns and computed names, such as "*.rs", "{name}.rs" or ".rs".
COMPUTED: Final = re.compile(r"""(?:["'`*}]|%[sdv])\.(\w{1,8})["'`]""")
# Data that can list files.
_DATA: Final = re.compile(r"\.(?:jsonc?|ya?ml|toml|ini|cfg|txt|csv)$")
_NEVER: Final = re.compile("(?!)")
_EMBEDS: Final = re.compile(r"go:embed|include_dir!|RustEmbed|rust_embed")


class UnknownError(Exception):
    """Something is not understood; the message describes it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ShellCommand:
    """A command of a shell line: where it runs, and the variables that the line sets for it."""

    words: Sequence[str]
    folder: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    is_build: bool = False


Ask = Callable[[str], str]


class ChangedFiles:
    """The files of both commits, with the head's text of common ones. `ask` runs a command in the head's checkout."""

    def __init__(self, repository: Path, base: str, head: str, *, ask: Ask) -> None:
        trees = [git.list_tree(repository, commit) for commit in (base, head)]
        entries = [entry for tree in trees for entry in tree]
        self.base, self.head = ({entry.path for entry in tree} for tree in trees)
        self.ask = ask
        self._repository = repository
        self.blobs = {entry.path: entry.blob for entry in entries if entry.blob and not entry.is_link}
        self._contents: dict[str, bytes] = {}
        self._size = 0
        links = {entry.path: entry.blob for entry in entries if entry.is_link}
        targets = zip(links, git.read_blobs(repository, list(links.values())), strict=True)
        others = {entry.path for entry in entries if entry.is_link or not entry.blob}
        # Links, their targets, and submodules.
        self.links = {join_path(posixpath.dirname(path), target.decode(errors="replace")) for path, target in targets}
        self.links |= others

    def contents(self, paths: Iterable[str]) -> list[tuple[str, bytes]]:
        """Return each path with its content, in one call."""
        paths = list(paths)
        missing = sorted({path for path in paths if path not in self._contents})
        blobs = [self.blobs[path] for path in missing]
        self._size += sum(git.blob_sizes(self._repository, blobs)) if blobs else 0
        if self._size > FILE_LIMITS.package_sources_bytes:
            raise UnknownError(f"the sources have more than {FILE_LIMITS.package_sources_bytes >> 20} MiB")
        self._contents |= dict(zip(missing, git.read_blobs(self._repository, blobs), strict=True))
        return [(path, self._contents[path]) for path in paths]

    def texts(self, paths: Iterable[str]) -> list[tuple[str, str]]:
        return [(path, data.decode(errors="replace")) for path, data in self.contents(paths)]

    def called(self, name: str) -> dict[str, str]:
        """Return the texts of all files of this name, by folder."""
        paths = [path for path in self.blobs if posixpath.basename(path) == name]
        return {posixpath.dirname(path): text for path, text in self.texts(paths)}

    def is_linked(self, path: str) -> bool:
        return any(is_inside(path, link) for link in self.links)


def join_path(folder: str, path: str) -> str:
    """Return the joined path in git's form; empty for the repository itself."""
    whole = posixpath.normpath(posixpath.join(folder, path))
    return "" if whole == "." else whole


def is_inside(path: str, folder: str) -> bool:
    return folder == "" or path == folder or path.startswith(f"{folder}/")


def deepest(path: str, folders: Container[str]) -> str | None:
    """Return the deepest of these folders in which the path is."""
    while path not in folders:
        if not path:
            return None
        path = posixpath.dirname(path)
    return path


@dataclass(frozen=True, kw_only=True, eq=False)
class Source:
    """A text that is measured, and the names of files in it; in settings (not `is_code`) these are paths."""

    path: str
    text: str
    computed: re.Pattern[str] = COMPUTED
    is_code: bool = True

    @cached_property
    def lines(self) -> list[str]:
        return [line for line in self.text.split("\n") if not _COMMENT.match(line)]

    @cached_property
    def code(self) -> str:
        return "\n".join(self.lines)

    @cached_property
    def words(self) -> set[str]:
        return {word.rstrip(".") for word in _WORD.findall(self.code)}

    @cached_property
    def _named(self) -> set[str]:
        lines = "\n".join(line for line in self.lines if not _DOC.match(line))
        return {word.rstrip(".") for word in _WORD.findall(lines)}

    @cached_property
    def endings(self) -> set[str]:
        return set(self.computed.findall(self.code))

    def may_read(self, path: str, *, is_document: bool, is_kept: bool) -> bool:
        """Return whether it names the file, or the folder of a document. `is_kept`: the file is in both commits."""
        if not self.is_code:
            return any(join_path(posixpath.dirname(self.path), word) == path for word in _PATH.findall(self.text))
        return self._names(path, is_document=is_document, is_kept=is_kept) or bool(
            posixpath.splitext(path)[1][1:] in self.endings
            or (
                _EMBEDS.search(self.text) and (is_inside(path, posixpath.dirname(self.path)) or self._names_above(path))
            )
            or (is_document and self._lists(posixpath.basename(posixpath.dirname(path))))
        )

    def _names(self, path: str, *, is_document: bool, is_kept: bool) -> bool:
        folder, name = posixpath.split(path)
        inside = posixpath.basename(folder)
        if _COMMON.fullmatch(name) and inside and not is_document:
            return f"{inside}/{name}" in self.code
        return name in (self._named if is_kept else self.words) or (not _WORD.fullmatch(name) and name in self.code)

    def _lists(self, folder: str) -> bool:
        pattern = rf"""['"`/]{re.escape(folder)}/?(?:\*[^'"`]{{0,80}})?['"`]"""
        return bool(folder) and re.search(pattern, self.code) is not None

    def _names_above(self, path: str) -> bool:
        """Whether a quoted path ends with a folder in which the file is."""
        return any(re.search(rf"""['"`/]{re.escape(part)}/?['"`]""", self.code) for part in path.split("/")[:-1])

    def may_list(self, path: str) -> bool:
        """Return whether the files that it finds in folders can include this one, by the endings that it looks for."""
        ending = posixpath.splitext(path)[1][1:]
        return (
            not self.endings
            or ending in self.endings
            or re.search(rf"""["'`]{re.escape(ending)}["'`]""", self.code) is not None
        )


class Graph:
    """The packages of a language. A package is any name that the language's graph chooses."""

    endings: ClassVar[tuple[str, ...]] = ()
    called: ClassVar[str] = ""  # the packages, and what names them
    flag: ClassVar[tuple[str, ...]] = ()  # before a package on the command line
    build_files: ClassVar[re.Pattern[str]] = _NEVER  # a build may read the sources that they name
    # Code that starts programs, and code with which these may be built from sources of this repository.
    programs: ClassVar[re.Pattern[str]] = _NEVER
    runners: ClassVar[tuple[re.Pattern[str], ...]] = ()
    # Code that lists folders, and code that finds the repository's folders.
    walks: ClassVar[re.Pattern[str]] = _NEVER
    anchors: ClassVar[re.Pattern[str]] = _NEVER
    # The endings in patterns and computed names of files outside of the package.
    computed: ClassVar[re.Pattern[str]] = COMPUTED

    def __init__(self, files: ChangedFiles) -> None:
        self.files = files
        self._direct: dict[tuple[str, bool], frozenset[str]] = {}
        self._sources: dict[str, Source] = {}
        self._matches: dict[tuple[str, re.Pattern[str]], bool] = {}

    def starts(self, command: ShellCommand, *, can_choose: bool) -> Iterable[str]:
        """Return the packages that a command builds or measures. With `can_choose`, omit those without benchmarks."""
        raise NotImplementedError

    def uses(self, package: str, *, is_start: bool) -> Iterable[str]:
        """Return the packages that it needs directly."""
        raise NotImplementedError

    def owners(self, path: str) -> Iterable[str]:
        """Return the packages to which a source belongs."""
        raise NotImplementedError

    def paths(self, package: str, *, is_start: bool) -> Iterable[str]:
        """Return the sources of a package that are compiled or run, and what configures it."""
        raise NotImplementedError

    def argument(self, package: str, folder: str) -> str:
        """Return the package as an argument of the tool in this folder."""
        return posixpath.relpath(package or ".", folder or ".")

    def built_from(self, path: str, text: str) -> str:  # noqa: ARG002 - manifests differ
        """Return the part of a build file that a build reads."""
        return text

    def described(self, used: set[str]) -> str:
        """Return how many packages these are, and who says so."""
        return f"{len(used)} {self.called}"

    def sources(self, package: str, *, is_start: bool) -> list[Source]:
        paths = list(self.paths(package, is_start=is_start))
        missing = [path for path in paths if path not in self._sources]
        if missing:
            for path, text in self.texts(missing):
                is_code = path.endswith(self.endings)
                computed = self.computed if is_code else _NEVER
                self._sources[path] = Source(path=path, text=text, computed=computed, is_code=is_code)
        return [self._sources[path] for path in paths]

    def texts(self, paths: Iterable[str]) -> Iterable[tuple[str, str]]:
        return self.files.texts(paths)

    def has(self, pattern: re.Pattern[str], source: Source) -> bool:
        """Return whether this code is in the source; found once."""
        key = (source.path, pattern)
        if key not in self._matches:
            self._matches[key] = source.is_code and pattern.search(source.code) is not None
        return self._matches[key]

    def is_anchored(self, source: Source) -> bool:
        """Return whether the source finds the repository's folders."""
        return self.has(self.anchors, source)

    def is_starting(self, package: str, *, is_start: bool) -> bool:
        """Return whether the package starts programs."""
        return any(self.has(self.programs, source) for source in self.sources(package, is_start=is_start))

    def used(self, start: str) -> frozenset[str]:
        used, waiting = {start}, [start]
        while waiting:
            key = (package := waiting.pop(), package == start)
            if key not in self._direct:
                self._direct[key] = frozenset(self.uses(package, is_start=key[1]))
            waiting += self._direct[key] - used
            used |= self._direct[key]
        return frozenset(used)


@dataclass(frozen=True, kw_only=True, eq=False)
class MeasuredPackage:
    """A package that is measured, and all packages that it uses; `command` starts it."""

    graph: Graph
    package: str
    folder: str
    used: frozenset[str]
    command: Source

    @property
    def name(self) -> str:
        return self.graph.argument(self.package, self.folder)

    def why(self, others: Iterable[str], documents: Iterable[str], edited: Container[str]) -> str | None:
        """Why one of these changes may reach it. `edited` are the files that both commits have."""
        others = list(others)
        for path in others:
            if path.endswith(self.graph.endings) and not self.used.isdisjoint(self.graph.owners(path)):
                return f"{path} reaches {self.name}"
        if others and (unclear := self._unclear):
            return f"only running {unclear} shows what it uses"
        for path in (*documents, *others):
            is_document = path not in others
            for source in (*self._texts, *(self._building if not is_document else ())):
                if source.may_read(path, is_document=is_document, is_kept=path in edited):
                    return f"{source.path} may read {path}"
            for source in self._walkers:
                if source.may_list(path):
                    return f"{source.path} may find {path} in a folder"
        return None

    def _of(self, package: str) -> list[Source]:
        return self.graph.sources(package, is_start=package == self.package)

    @cached_property
    def _texts(self) -> list[Source]:
        sources = {source.path: source for package in sorted(self.used) for source in self._of(package)}
        return [self.command, *sources.values(), *self._data(list(sources.values()))]

    def _data(self, sources: Sequence[Source]) -> list[Source]:
        """The files of data that the sources name. These can name more."""
        words = set[str]().union(*(source.words for source in sources)) - {"package.json"}
        files = self.graph.files
        paths = [path for path in filter(_DATA.search, files.blobs) if posixpath.basename(path) in words]
        return [Source(path=path, text=text) for path, text in files.texts(paths)]

    @cached_property
    def _building(self) -> list[Source]:
        files = self.graph.files
        return [
            Source(path=path, text=self.graph.built_from(path, text))
            for path, text in files.texts(filter(self.graph.build_files.fullmatch, files.blobs))
        ]

    @cached_property
    def _unclear(self) -> str | None:
        """The file with which a package that starts programs may start code of this repository."""
        if not any(self.graph.is_starting(package, is_start=package == self.package) for package in sorted(self.used)):
            return None
        for source in self._texts[1:]:
            if all(self.graph.has(pattern, source) for pattern in self.graph.runners) or self._names_script(source):
                return source.path
        return None

    def _names_script(self, source: Source) -> bool:
        """Whether it names a file without an ending that begins as a program does."""
        names = {name for name in source.words if "." not in name}
        paths = (path for path in self.graph.files.blobs if posixpath.basename(path) in names)
        return any(text.startswith("#!") for _, text in self.graph.files.texts(paths))

    @cached_property
    def _walkers(self) -> list[Source]:
        """The files that list folders of this repository."""
        walkers = [source for source in self._texts if self.graph.has(self.graph.walks, source)]
        is_anchored = any(map(self.graph.is_anchored, self._of(self.package)))
        return [source for source in walkers if is_anchored or self.graph.is_anchored(source)]
