"""Dependencies between a repository's packages: crates, Go packages, npm workspaces and Python modules.

Nothing is executed. Code that is not understood raises an `UnknownError`; callers then assume a dependency.
"""

import ast
import posixpath
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Final

from perf_culprit import git

# Build files: a build may read the files that they name, and start Python in their folder.
BUILD_FILES: Final = re.compile(r"(?:.*/)?(?:pyproject\.toml|setup\.(?:py|cfg)|meson\.build|CMakeLists\.txt|Makefile)")


class UnknownError(Exception):
    """Something is not understood; the message describes it."""


class Files:
    """The files of both commits, with the head's text of common ones; `links` also has link targets and submodules."""

    def __init__(self, repository: Path, base: str, head: str) -> None:
        entries = [*git.list_tree(repository, base), *git.list_tree(repository, head)]
        self._repository = repository
        self.blobs = {entry.path: entry.blob for entry in entries if entry.blob and not entry.is_link}
        self._texts: dict[str, str] = {}
        links = {entry.path: entry.blob for entry in entries if entry.is_link}
        targets = zip(links, git.read_blobs(repository, list(links.values())), strict=True)
        others = {entry.path for entry in entries if entry.is_link or not entry.blob}
        self.links = {joined(posixpath.dirname(path), target.decode(errors="replace")) for path, target in targets}
        self.links |= others

    def texts(self, paths: Iterable[str]) -> list[tuple[str, str]]:
        """Each path with its text, in one call."""
        paths = list(paths)
        missing = [path for path in paths if path not in self._texts]
        contents = git.read_blobs(self._repository, [self.blobs[path] for path in missing])
        self._texts |= {path: data.decode(errors="replace") for path, data in zip(missing, contents, strict=True)}
        return [(path, self._texts[path]) for path in paths]

    def called(self, name: str) -> dict[str, str]:
        """The texts of all files of this name, by folder."""
        paths = [path for path in self.blobs if posixpath.basename(path) == name]
        return {posixpath.dirname(path): text for path, text in self.texts(paths)}


def joined(folder: str, path: str) -> str:
    """The joined path in git's form; empty for the repository itself."""
    whole = posixpath.normpath(posixpath.join(folder, path))
    return "" if whole == "." else whole


def is_inside(path: str, folder: str) -> bool:
    return folder == "" or path == folder or path.startswith(f"{folder}/")


def deepest(path: str, folders: Iterable[str]) -> str | None:
    return max((folder for folder in folders if is_inside(path, folder)), key=len, default=None)


# The dependencies between the packages of a language.


class Graph:
    """`sources` are the files of each package, which is a folder with a manifest unless a language overrides this."""

    endings: ClassVar[tuple[str, ...]] = ()
    manifest: ClassVar[str] = ""
    flag: ClassVar[tuple[str, ...]] = ()  # before a package on the command line
    name: ClassVar[re.Pattern[str]] = re.compile("(?!)")  # the package's name in a manifest

    def __init__(self, files: Files) -> None:
        self.files = files
        self.manifests = files.called(self.manifest)
        self.names: dict[str, set[str]] = {}
        for at, text in self.manifests.items():
            self.call(at, *self.name.findall(text))
        self.sources: dict[str, list[str]] = {}
        self._direct: dict[tuple[str, bool], set[str]] = {}
        for path in files.blobs:
            if path.endswith(self.endings) and (owner := self.owner(path)) is not None:
                self.sources.setdefault(owner, []).append(path)

    def call(self, package: str, *names: str) -> None:
        for name in names:
            self.names.setdefault(name, set()).add(package)

    def owner(self, path: str) -> str | None:
        return deepest(path, self.manifests)

    def texts(self, package: str) -> list[tuple[str, str]]:
        return self.files.texts(self.sources.get(package, []))

    def starts(self, words: Sequence[str], folder: str) -> Iterable[str]:
        """The packages whose benchmarks a command measures."""
        raise NotImplementedError

    def uses(self, package: str, *, is_start: bool) -> Iterator[str | None]:
        """The packages that it needs directly; None is outside the repository."""
        raise NotImplementedError

    def argument(self, package: str, folder: str) -> str:
        """The package as an argument of the tool in this folder."""
        return posixpath.relpath(package or ".", folder or ".")

    def used(self, start: str) -> frozenset[str]:
        used, waiting = {start}, [start]
        while waiting:
            key = (package := waiting.pop(), package == start)
            if key not in self._direct:
                self._direct[key] = {one for one in self.uses(package, is_start=key[1]) if one is not None}
            waiting += self._direct[key] - used
            used |= self._direct[key]
        return frozenset(used)


class _Cargo(Graph):
    """Crates. Development dependencies count only for the measured crates."""

    endings = (".rs",)
    manifest = "Cargo.toml"
    flag = ("-p",)

    def __init__(self, files: Files) -> None:
        super().__init__(files)
        try:
            self._data: dict[str, dict[str, Any]] = {one: tomllib.loads(text) for one, text in self.manifests.items()}
        except tomllib.TOMLDecodeError:
            raise UnknownError("a Cargo.toml cannot be parsed") from None
        for one, data in self._data.items():
            self.call(one, *([data["package"]["name"]] if "package" in data else ()))

    def starts(self, words: Sequence[str], folder: str) -> Iterable[str]:
        words = words[: words.index("--")] if "--" in words else words
        named = [after for flag, after in pairwise(words) if flag in ("-p", "--package")]
        named += [word.partition("=")[2] for word in words if word.startswith("--package=")]
        if words[1] != "bench" or {"-C", "--config", "--manifest-path"} & set(words) or set(named) - self.names.keys():
            raise UnknownError("not all of the cargo command is understood")
        home = self.owner(folder)
        data = {} if home is None else self._data[home]
        is_one = "package" in data and "default-members" not in data.get("workspace", {})
        if not named and is_one and not {"--workspace", "--all"} & set(words):
            named = [data["package"]["name"]]
        meant = (self.names[name] for name in named) if named else self.names.values()
        return {one for each in meant for one in each if named or self._has_benchmarks(one)}

    def _has_benchmarks(self, package: str) -> bool:
        texts = self.texts(package)
        return "bench" in self._data[package] or any("benches/" in path or "#[bench]" in text for path, text in texts)

    def uses(self, package: str, *, is_start: bool) -> Iterator[str | None]:
        above = deepest(package, (one for one, data in self._data.items() if "workspace" in data))
        shared = {} if above is None else self._data[above]["workspace"].get("dependencies", {})
        for name in _dependencies(self._data[package], shared, is_start=is_start):
            yield from self.names.get(name, ())
        for path, text in ((f"{package}/Cargo.toml", self.manifests[package]), *self.texts(package)):
            is_program = is_start and "benches/" in path and "process::Command" in text
            is_build = path.endswith("build.rs") or "cargo:rerun-if" in text
            if is_program or (is_build and re.search(r'"rs"|\*\.rs', text)):
                raise UnknownError(f"only running {path} shows what it uses")
            for named in set(re.findall(r'"/?([^"\n]*\.rs)"', text)):  # such as #[path = "../other.rs"]
                yield from (self.owner(joined(start, named)) for start in (posixpath.dirname(path), package))

    def argument(self, package: str, folder: str) -> str:  # noqa: ARG002
        return str(self._data[package]["package"]["name"])


def _dependencies(table: Mapping[str, Any], shared: Mapping[str, Any], *, is_start: bool) -> Iterator[str]:
    """The names of crates in all tables of a manifest, including those of targets; `shared` are the workspace's."""
    for key, value in table.items():
        if not isinstance(value, dict) or key == "workspace" or (key == "dev-dependencies" and not is_start):
            continue
        if not key.endswith("dependencies"):
            yield from _dependencies(value, shared, is_start=is_start)
            continue
        for name, wanted in value.items():
            yield name
            yield from (
                one["package"] for one in (wanted, shared.get(name)) if isinstance(one, dict) and "package" in one
            )


class _Go(Graph):
    """A package is a folder, and its tests are another one. Imports count whatever the build tags."""

    endings = (".go", ".s")
    manifest = "go.mod"
    name = re.compile(r'^module\s+"?([^\s"]+)', re.MULTILINE)
    _REPLACED: Final = re.compile(r"^(?:replace)?\s*(\S+)(?:\s+v\S+)?\s+=>\s+(\.\S*)", re.MULTILINE)
    _IMPORTS: Final = re.compile(r'^import\s*(?:\(([^)]*)\)|[^"(\n]*("[^"\n]+"))', re.MULTILINE)
    _TESTS: Final = "/*_test"

    def __init__(self, files: Files) -> None:
        super().__init__(files)
        for one, text in self.manifests.items():
            for name, path in self._REPLACED.findall(text):
                self.call(joined(one, path), name)

    def owner(self, path: str) -> str:
        return posixpath.dirname(path) + self._TESTS * path.endswith("_test.go")

    def starts(self, words: Sequence[str], folder: str) -> Iterable[str]:
        flags = {word.partition("=")[0] for word in words}
        if words[1] != "test" or "-bench" not in flags or flags & {"-C", "-exec", "-toolexec", "-overlay", "-modfile"}:
            raise UnknownError("not all of the go command is understood")
        places = ([joined(folder, word)] if word.startswith(".") else self._places(word) for word in words[2:])
        named = {place for each in places for place in each} or {folder}
        below = {place.removesuffix("...").rstrip("/") for place in named if place.endswith("...")}
        has_workspace, module = bool(self.files.called("go.work")), deepest(folder, self.manifests)
        for tests in self.sources:
            package = tests.removesuffix(self._TESTS)
            is_meant = package in named or deepest(package, below) is not None
            is_here = has_workspace or deepest(package, self.manifests) == module
            if (
                package != tests
                and is_meant
                and is_here
                and any("func Benchmark" in text for _, text in self.texts(tests))
            ):
                yield tests

    def _places(self, name: str) -> Iterator[str]:
        """The folders of an import path, whether they exist or not."""
        if (module := deepest(name, self.names)) is not None:
            yield from (joined(at, name[len(module) :].lstrip("/")) for at in self.names[module])

    def uses(self, package: str, *, is_start: bool) -> Iterator[str | None]:
        yield package.removesuffix(self._TESTS)
        for path, text in self.texts(package):
            names = re.findall(r'"([^"\n]+)"', "\n".join(map("".join, self._IMPORTS.findall(text))))
            if is_start and {"os/exec", "plugin"} & set(names):
                raise UnknownError(f"only running {path} shows what it uses")
            yield from (place for name in names for place in self._places(name))

    def argument(self, package: str, folder: str) -> str:
        return f"./{super().argument(package.removesuffix(self._TESTS), folder)}"


class _Npm(Graph):
    """Workspaces. Naming another workspace, or a path in it, counts as use: sources may import unlisted packages."""

    endings = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".vue", ".svelte")
    manifest = "package.json"
    flag = ("-w",)
    name = re.compile(r'"name"\s*:\s*"([^"]+)"')
    _DYNAMIC: Final = re.compile(r"\b(?:import|require)\s*\(\s*[^'\"\s)]|createRequire|import\.meta\.glob")
    _WORDS: Final = re.compile(r"[\w@./-]+")
    _QUOTED: Final = re.compile(r"(?<=['\"])[\w@./-]+(?=['\"?])|(?<=`)\.[\w@./-]+(?=`)")
    _SETTINGS: Final = re.compile(r"(?:^|/)(?:package|tsconfig[^/]*)\.json$")
    _TESTS: Final = re.compile(r"(?:^|/)(?:__)?tests?(?:__)?/|\.(?:test|spec)\.\w+$")
    _HOOKS: Final = re.compile(
        r'"(?:prepare|(?:pre|post)install|prebench|prebuild)"\s*:\s*"(?!husky"|simple-git-hooks")'
    )

    def starts(self, words: Sequence[str], folder: str) -> Iterable[str]:
        values = [word.rpartition("=")[2] for word in words[1:]]
        places = {joined(folder, word) for word in values} - {""}
        named = {one for word in values for one in self.names.get(word, ())}
        named |= {self.owner(path) or "" for path in self.files.blobs if any(is_inside(path, one) for one in places)}
        named = named or {self.owner(folder) or ""}
        if "" in named and self.manifests.keys() != {""}:
            raise UnknownError("the command names no workspace")
        return named

    def uses(self, package: str, *, is_start: bool) -> Iterator[str | None]:
        yield "" if "" in self.manifests else None
        settings = [path for path in self.files.blobs if self._SETTINGS.search(path) and self.owner(path) == package]
        is_whole = package or self._HOOKS.search(self.manifests[package])
        read = [path for path in (*settings, *self.sources.get(package, [])) if is_whole or "/" not in path]
        read = [path for path in read if is_start or not self._TESTS.search(path)]
        for path, text in self.files.texts(read):
            if self._DYNAMIC.search(text) or (is_start and "child_process" in text):
                raise UnknownError(f"only running {path} shows what it uses")
            for word in set((self._WORDS if path.endswith(".json") else self._QUOTED).findall(text)):
                parts = word.split("/")
                led_to = {*self.names.get(parts[0], ()), *self.names.get("/".join(parts[:2]), ())}
                if "/" in word:
                    led_to |= {self.owner(joined(at, word.lstrip("/"))) or "" for at in (posixpath.dirname(path), "")}
                if led_to - {"", package} and self._TESTS.search(word):
                    raise UnknownError(f"{path} uses tests of another workspace")
                yield from led_to


class _Python(Graph):
    """Each module is a package. A name stands for every file that it may mean in some search folder."""

    endings = (".py",)
    manifest = "pyproject.toml"
    _LITERAL: Final = re.compile(r"""import_module\(\s*['"](\w[\w.]*)['"]""")
    _PROGRAMS: Final = re.compile(r"\bsubprocess\b|\bos\.(?:system|exec|spawn|popen)")
    _DYNAMIC: Final = re.compile(
        r"""(?<!import )\bimport_module\b(?!\(\s*['"]\w)|__import__\(|\brun_(?:module|path)\(|\b(?:exec|eval)\("""
        r"|(?:iter|walk)_(?:modules|packages)|spec_from_file_location|entry_points\(|lazy\w*\.attach"
    )

    def __init__(self, files: Files) -> None:
        super().__init__(files)
        for path in self.sources:
            parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
            self.call(path, *(".".join(parts[start:]) for start in range(len(parts))))

    def owner(self, path: str) -> str:
        return path

    def starts(self, words: Sequence[str], folder: str) -> Iterable[str]:
        words = words[2:] if words[1:2] == ["-m"] else words[words[0].startswith("python") :]
        is_test = words[0] == "pytest"
        names = [word.partition("::")[0] for word in (words[1:] if is_test else words[:1])]
        if words[0] == "asv":
            texts = self.files.called("asv.conf.json").items()
            matches = ((at, re.search(r'"benchmark_dir": *"([^"]+)', text)) for at, text in texts)
            names = [joined(at, match[1] if match else "benchmarks") for at, match in matches]
        places = {joined(folder, name) for name in names} - {""}
        started = {one for one in self.sources for place in places if is_inside(one, place)}
        started |= self.names.get(words[0], set()) | self.names.get(f"{words[0]}.__main__", set())
        if not started:
            raise UnknownError("the command names no module here")
        return started | (set(self._plugins()) if is_test else set())

    def _plugins(self) -> Iterator[str]:
        """The files that pytest may also load: each `conftest.py`, and modules named in the settings."""
        yield from (one for one in self.sources if posixpath.basename(one) == "conftest.py")
        for _, text in self.files.texts(filter(BUILD_FILES.fullmatch, self.files.blobs)):
            for name in re.findall(r"\w[\w.]*\.\w+", text):
                yield from self.names.get(name, ())

    def uses(self, package: str, *, is_start: bool) -> Iterator[str | None]:
        text = self.texts(package)[0][1]
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            raise UnknownError(f"{package} cannot be parsed") from None
        programs = self._PROGRAMS.search(text) if is_start or re.search(r"sys\.executable|['\"]python", text) else None
        if match := self._DYNAMIC.search(text) or programs:
            raise UnknownError(f"only running {package} shows what it uses ({match[0]})")
        literal = self._LITERAL.findall(text)
        for name in (*literal, *(name for node in ast.walk(tree) for name in _imported(node, package))):
            parts = name.split(".")
            for end in range(len(parts)):
                yield from self.names.get(".".join(parts[: end + 1]), ())


def _imported(node: ast.AST, path: str) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            yield from (one.name for one in names)
        case ast.ImportFrom(module=module, names=names, level=level):
            above = posixpath.dirname(path).split("/")
            package = above[: len(above) - level + 1] if level else []
            yield from (".".join([*package, *([module] if module else []), one.name]) for one in names)
        case ast.Constant(value=str(text)) if re.fullmatch(r"\w+(?:\.\w+)+", text):
            yield text


TOOLS: Final[Mapping[str, type[Graph]]] = {
    "cargo": _Cargo,
    "go": _Go,
    **dict.fromkeys(("npm", "npx", "pnpm", "yarn", "node", "bun"), _Npm),
    **dict.fromkeys(("python", "python3", "pytest", "asv"), _Python),
}
