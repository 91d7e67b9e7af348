"""The packages of Rust and Go, as `cargo metadata` and `go list` know them. Neither downloads or builds anything."""

import json
import posixpath
import re
import shlex
import tomllib
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, Final

from perf_culprit.measure.package_graphs import (
    ChangedFiles,
    Graph,
    ShellCommand,
    Source,
    UnknownError,
    deepest,
    is_inside,
    join_path,
)

# Programs that may compile or run sources of this repository.
_RUNNERS: Final = (
    r"""["'`/](?:rustc|make|ninja|cmake|bazel|python[\d.]*|node|npm|java)["'`]"""
    r"""|["'`/ ][\w.-]+\.(?:sh|bash|py|pl|rb|m?js|ps1|mk)["'` ]"""
    r"""|\((?:\w+,\s*)?["'`](?:/\w+)*/?(?:(?:ba|z)?sh|env)["'`]"""
)


def _answer(files: ChangedFiles, folder: str, command: str) -> tuple[str, str]:
    """The folder of the checkout, and what the command printed."""
    text = files.ask(f"pwd -P && cd {shlex.quote(f'./{folder}')} && {command}")
    root, _, answer = text.partition("\n")
    return root, answer


def _inside(root: str, path: str) -> str | None:
    """The path from the root; None outside."""
    return join_path("", posixpath.relpath(path, root)) if is_inside(path, root) else None


class Cargo(Graph):
    """Crates by their folders. Development dependencies count only for the measured crates."""

    endings = (".rs",)
    called = "crates by `cargo metadata`"
    flag = ("-p",)
    programs = re.compile(
        r"\bprocess::(?:\*|Command\b|\{[^}]{0,500}\bCommand\b)|\bexecvp?e?\b|\bposix_spawn|\b(?:duct|assert_cmd|xshell|escargot|trycmd)\b"
    )
    runners = (
        re.compile(
            rf"""{_RUNNERS}|["'`/]cargo["'`]|"CARGO"|cargo_bin|target/(?:debug|release)"""
            r"""|current_exe\(\)[^;]{0,200}(?:parent|with_file_name)"""
        ),
    )
    walks = re.compile(r"\bread_dir\b|\b[Ww]alk_?[Dd]ir\b|\bglob(?:walk|_with|set)?\b(?=::|\()|\bignore::Walk")
    anchors = re.compile(r"CARGO_(?:MANIFEST|WORKSPACE)_DIR|\bfile!\(\)")
    # A benchmark or build script runs in its crate's folder.
    _ABOVE: Final = re.compile(r'"\.\.["/]')
    _VALUES: Final = frozenset(
        (
            *("--bench", "--features", "-F", "--profile", "--target", "--target-dir", "-j", "--jobs"),
            *("--color", "--message-format"),
        )
    )
    _FLAGS: Final = frozenset(
        (
            *("--workspace", "--all", "--benches", "--lib", "--bins", "--all-features"),
            *("--no-default-features", "--no-fail-fast", "--no-run", "--release", "-v", "-vv", "-q"),
            *("--verbose", "--quiet", "--locked", "--offline", "--frozen"),
        )
    )
    _CONFIG: Final = re.compile(r"(?:.*/)?\.cargo/config(?:\.toml)?")
    # Such as #[path = "../other"] and include!(concat!(env!("CARGO_MANIFEST_DIR"), "/../other/a.rs")).
    _FILES: Final = re.compile(r'"([^"\n]*\.rs)"')
    _FOLDERS: Final = re.compile(r'\bpath\s*=\s*"([^"\n]+)"\s*\)?\]')

    def __init__(self, files: ChangedFiles) -> None:
        super().__init__(files)
        self._manifests = set(files.called("Cargo.toml"))
        self._crates: dict[str, dict[str, Any]] = {}
        self._named: dict[str, set[str]] = {}
        self._everywhere: set[str] = set()  # replaced crates: any crate may use them
        self._paths: dict[str, list[str]] = {}
        self._places: dict[str, set[str]] = {}  # sources and their folders, by their last names
        for path in files.blobs:
            if path.endswith(".rs"):
                place = path
                while place:
                    self._places.setdefault(posixpath.basename(place), set()).add(place)
                    place = posixpath.dirname(place)
                for owner in self.owners(path):
                    self._paths.setdefault(owner, []).append(path)
        for path, text in files.texts(filter(self._CONFIG.fullmatch, files.blobs)):
            if {"patch", "paths", "source", "include"} & tomllib.loads(text).keys():
                raise UnknownError(f"{path} replaces crates")

    def _metadata(self, folder: str) -> tuple[dict[str, Any], str]:
        command = "RUSTUP_AUTO_INSTALL=0 cargo metadata --no-deps --frozen --format-version 1"
        root, answer = _answer(self.files, folder, command)
        data = json.loads(answer)
        for one in data["packages"]:
            at = _inside(root, posixpath.dirname(one["manifest_path"]))
            if at is not None and at not in self._crates:
                self._crates[at] = one | {"root": root}
                self._named.setdefault(one["name"], set()).add(at)
        top = _inside(root, data["workspace_root"])
        text = "" if top is None else self.files.called("Cargo.toml").get(top, "")
        replaced = [tomllib.loads(text).get(key, {}) for key in ("patch", "replace")]
        for one in _tables(replaced):
            if "path" in one and top is not None:
                self._everywhere.add(self._crate(join_path(top, one["path"])))
        return data, root

    def _crate(self, folder: str) -> str:
        if folder not in self._crates and folder in self._manifests:
            self._metadata(folder)
        if folder not in self._crates:
            raise UnknownError(f"{folder} is not a crate here")
        return folder

    def starts(self, command: ShellCommand, *, can_choose: bool) -> Iterable[str]:
        words = [word for word in command.words[1:] if not word.startswith("+")]
        words = words[: words.index("--")] if "--" in words else words
        named = []
        for before, word in pairwise(words):
            flag, _, value = word.partition("=")
            if (
                before in self._VALUES
                or flag in self._FLAGS
                or word in self._VALUES
                or (value and flag in self._VALUES)
            ):
                continue
            if before in ("-p", "--package") or (flag == "--package" and value):
                named.append(value or word)
            elif word not in ("-p", "--package"):
                raise UnknownError(f"{word} of the cargo command is not understood")
        if words[:1] not in (["bench"], ["build"]):
            raise UnknownError("the cargo command is not understood")
        data, root = self._metadata(command.folder)
        if not named:
            whole = {"--workspace", "--all"} & set(words)
            home = deepest(command.folder, self._manifests)
            is_one = home in self._crates and not whole and _inside(root, data["workspace_root"]) != home
            ids = data["workspace_members" if whole else "workspace_default_members"]
            named = [package["name"] for package in data["packages"] if package["id"] in ids]
            named = [self._crates[home]["name"]] if home is not None and is_one else named
        if not set(named) <= self._named.keys():
            raise UnknownError("the cargo command names crates that are not here")
        meant = {one for name in named for one in self._named[name]}
        return {package for package in meant if not can_choose or words[0] == "build" or self._has_benchmarks(package)}

    def _has_benchmarks(self, package: str) -> bool:
        kinds = {kind for target in self._crates[package]["targets"] for kind in target["kind"]}
        return "bench" in kinds or any("#[bench]" in source.text for source in self.sources(package, is_start=True))

    def uses(self, package: str, *, is_start: bool) -> Iterator[str]:
        yield from self._everywhere
        if package not in self._crates:
            self._crate(package)
        for dependency in self._crates[package]["dependencies"]:
            if dependency["kind"] == "dev" and not is_start:
                continue
            yield from self._named.get(dependency["name"], ())
            at = _inside(self._crates[package]["root"], dependency["path"]) if dependency.get("path") else None
            if at is not None:
                yield self._crate(at)
        for target in self._crates[package]["targets"]:
            at = _inside(self._crates[package]["root"], target["src_path"])
            yield from self.owners(at or package)
        for source in self.sources(package, is_start=is_start):
            yield from self._led_to(source)

    def _led_to(self, source: Source) -> Iterator[str]:
        """The crates of the files that a source includes, or has as its modules."""
        for word in {*self._FILES.findall(source.code), *self._FOLDERS.findall(source.code)}:
            led_to = re.sub(r"^(?:\.*/)+", "", posixpath.normpath(word))
            if led_to in (".", ".."):
                raise UnknownError(f"{source.path} leads to a folder above")
            for place in self._places.get(posixpath.basename(led_to), ()):
                if f"/{place}".endswith(f"/{led_to}"):
                    yield from self.owners(place)

    def owners(self, path: str) -> Iterable[str]:
        return [one] if (one := deepest(path, self._manifests)) is not None else []

    def paths(self, package: str, *, is_start: bool) -> Iterable[str]:  # noqa: ARG002 - tests may include a source
        return self._paths.get(package, [])

    def is_anchored(self, source: Source) -> bool:
        is_library = "/src/" in f"/{source.path}"
        return super().is_anchored(source) or (not is_library and self.has(self._ABOVE, source))

    def argument(self, package: str, folder: str) -> str:  # noqa: ARG002 - a crate has its name everywhere
        return str(self._crates[package]["name"])


def _tables(value: object) -> Iterator[dict[str, Any]]:
    """All tables in this value."""
    if isinstance(value, dict):
        yield value
    inner: Iterable[object] = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for one in inner:
        yield from _tables(one)


class Go(Graph):
    """Packages by import path, those compiled for a test by the test's name as well: `m/a [m/a.test]`."""

    endings = (".go", ".s", "go.mod", "go.sum")
    called = "packages by `go list`"
    programs = re.compile(r"\b(?:os\.StartProcess|syscall\.(?:Exec|ForkExec))\b")
    runners = (
        re.compile(rf"""{_RUNNERS}|["'`/]go["'`]|["'`]go \w|["'`]\.{{1,2}}/"""),
        re.compile(rf"""{_RUNNERS}|["'`/ ](?:run|build|install|generate|test)["'` ]"""),
    )
    walks = re.compile(r"\b(?:Walk(?:Dir)?|ReadDir|Readdir(?:names)?|Glob|DirFS|ParseDir|ImportDir|packages\.Load)\(")
    anchors = re.compile(r"""runtime\.Caller|\bGetwd\(|["'`]\.{1,2}["'`/]""")
    _STARTING: Final = frozenset(("os/exec", "plugin", "go/build", "go/importer", "net/http/cgi"))
    _LISTED: Final = "ImportPath,Dir,Standard,ForTest,DepOnly,Imports,Error,Module"
    _PASSED: Final = frozenset(("-tags", "-mod", "-modfile", "-race", "-msan", "-asan"))
    _VALUES: Final = frozenset(
        (
            *("-run", "-bench", "-benchtime", "-count", "-cpu", "-timeout", "-parallel", "-tags", "-mod"),
            *("-modfile", "-gcflags", "-ldflags", "-p", "-shuffle", "-vet", "-o", "-outputdir"),
            *("-cpuprofile", "-memprofile", "-skip"),
        )
    )
    _FLAGS: Final = frozenset(
        (
            *("-benchmem", "-v", "-race", "-msan", "-asan", "-short", "-json", "-failfast", "-fullpath"),
            *("-a", "-n", "-x", "-trimpath"),
        )
    )

    def __init__(self, files: ChangedFiles) -> None:
        super().__init__(files)
        self._nodes: dict[str, dict[str, Any]] = {}
        self._at: dict[str, set[str]] = {}
        self._folders: dict[str, str] = {}
        self._modules: set[str | None] = set()

    def starts(self, command: ShellCommand, *, can_choose: bool) -> Iterable[str]:
        passed, places = self._arguments(command.words[2:])
        verb = command.words[1:2]
        if verb not in (["test"], ["build"]) or not all(re.fullmatch(r"[\w./~@-]+", place) for place in places):
            raise UnknownError("the go command is not understood")
        test = ["-test"] if verb == ["test"] else []
        variables = [f"{name}={value}" for name, value in command.variables.items()]
        listing = ["go", "list", "-e", "-deps", *test, f"-json={self._LISTED}", *passed, "--", *places]
        words = shlex.join(["env", "GOPROXY=off", "GOTOOLCHAIN=local", *variables, *listing])
        names = self._load(*_answer(self.files, command.folder, words))
        for name in names:
            tests = f"{name}.test"
            if not test or (tests not in self._nodes and not can_choose):
                yield name
            elif tests in self._nodes and not (can_choose and not self._has_benchmarks(tests)):
                yield tests

    def _arguments(self, words: Iterable[str]) -> tuple[list[str], list[str]]:
        """The flags of the build, which choose files, and the packages."""
        passed, places = list[str](), list[str]()
        following = iter(words)
        for word in following:
            flag, _, value = word.replace("--", "-", 1).partition("=")
            if flag == "-args":
                break
            if not flag.startswith("-"):
                places.append(word)
                continue
            if flag in self._VALUES:
                value = value or next(following, "")
            elif flag not in self._FLAGS:
                raise UnknownError(f"{flag} of the go command is not understood")
            if flag in self._PASSED:
                passed.append(f"{flag}={value}" if value else flag)
        return passed, places

    def _load(self, root: str, answer: str) -> list[str]:
        """Keep the packages that `go list` printed; return those that the command names."""
        listed = answer.replace("}\n{", "},\n{")
        named = []
        for node in json.loads(f"[{listed}]"):
            name, is_ours = node["ImportPath"], not node.get("Standard")
            self._nodes[name] = node
            module = _inside(root, node.get("Module", {}).get("Dir", ""))
            self._modules |= {module} - {None}
            at = _inside(root, node["Dir"]) if "Dir" in node and is_ours else None
            if at is not None:
                self._folders[name] = at
                self._at.setdefault(at, set()).add(name)
            if is_ours and not node.get("DepOnly") and not name.endswith(".test") and " [" not in name:
                named.append(name)
        works = [path for path in self.files.blobs if path.endswith((".mod", "go.work"))]
        for path, text in self.files.texts(works):
            at = posixpath.dirname(path)
            if at in self._modules or path.endswith("go.work"):
                self._modules |= {join_path(at, one) for one in re.findall(r"\.{1,2}/[\w./@-]*", text)}
        return named

    def _has_benchmarks(self, tests: str) -> bool:
        folder = self._folders[tests]
        paths = [path for path in self.files.blobs if posixpath.dirname(path) == folder and path.endswith("_test.go")]
        return any(re.search(r"func\s+Benchmark", text) for _, text in self.files.texts(paths))

    def uses(self, package: str, *, is_start: bool) -> Iterator[str]:  # noqa: ARG002 - a start has its own name
        node = self._nodes[package]
        if error := node.get("Error"):
            raise UnknownError(f"`go list` cannot load {package}: {str(error.get('Err'))[:200]}")
        for name in node.get("Imports", ()):
            if name != "C":
                yield name

    def owners(self, path: str) -> Iterable[str]:
        folder, files = posixpath.dirname(path), self.files
        if path.endswith(("go.mod", "go.sum")):
            is_new = path.endswith("go.mod") and not (path in files.base and path in files.head)
            yield from self._nodes if is_new or folder in self._modules else ()
        elif path not in files.head and folder not in self._at:
            yield from self._nodes  # the command may have named the package that is gone
        for name in self._at.get(folder, ()):
            if not path.endswith("_test.go") or self._is_tested(name):
                yield name

    def _is_tested(self, name: str) -> bool:
        """Whether the package is compiled with its own tests."""
        tested = self._nodes[name].get("ForTest")
        return bool(tested) and name.partition(" ")[0] in (tested, f"{tested}_test")

    def paths(self, package: str, *, is_start: bool) -> Iterable[str]:  # noqa: ARG002 - a start has its own name
        folder = self._folders.get(package)
        if folder is None or package.endswith(".test"):
            return []
        ours = [path for path in self.files.blobs if posixpath.dirname(path) == folder]
        return [path for path in ours if package in self.owners(path) and path.endswith((".go", ".s", ".c", ".h"))]

    def described(self, used: set[str]) -> str:
        return super().described({self._folders[package] for package in used & self._folders.keys()})

    def is_starting(self, package: str, *, is_start: bool) -> bool:
        node = self._nodes[package]
        is_ours = package in self._folders
        if not node.get("Standard") and self._STARTING & set(node.get("Imports", ())):
            return True
        return is_ours and super().is_starting(package, is_start=is_start)

    def argument(self, package: str, folder: str) -> str:
        return f"./{super().argument(self._folders[package], folder)}"
