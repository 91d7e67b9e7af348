"""The modules of a repository in Python, by their imports. Code that imports in other ways is unclear."""

import ast
import posixpath
import re
import sys
import tomllib
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from perf_culprit.measure.package_graphs import ChangedFiles, Graph, ShellCommand, UnknownError, is_inside, join_path
from perf_culprit.model.file_limits import FILE_LIMITS


class Python(Graph):
    """Modules by their paths. A name stands for every file that it may mean in some search folder."""

    endings = (".py",)
    called = "modules by their imports"
    build_files = re.compile(
        r"(?:.*/)?(?:pyproject\.toml|setup\.(?:py|cfg)|meson\.build|CMakeLists\.txt|asv\.conf\.json)"
    )

    def __init__(self, files: ChangedFiles) -> None:
        super().__init__(files)
        self._named: dict[str, set[str]] = {}
        self._modules: dict[str, _Module] = {}
        self._shared: set[str] = set()
        self._searched: set[str] = set()
        for path in files.blobs:
            if path.endswith(self.endings):
                parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
                for start in range(len(parts)):
                    self._named.setdefault(".".join(parts[start:]), set()).add(path)
        # Any installed package may import a module of the standard library, and find one in a search folder.
        self._standard = self._named.keys() & sys.stdlib_module_names

    def starts(self, command: ShellCommand, *, can_choose: bool) -> Iterable[str]:  # noqa: ARG002 - it names files
        words = list(command.words)
        words = words[2:] if words[1:2] == ["-m"] else words[words[0].startswith("python") :]
        if not words:
            raise UnknownError("a program from the standard input is not understood")
        paths = command.variables.get("PYTHONPATH", "").split(":")
        self._searched |= {join_path(command.folder, path) for path in paths}
        is_test = words[0] == "pytest"
        parts = (part for word in words[is_test:] for part in re.split(r"[=\s]", word.partition("::")[0]))
        names = [name for part in parts for name in (part, part[2:])]
        if words[0] == "asv":
            names = [posixpath.relpath(one, command.folder or ".") for one in self._asv()]
        if any(re.search(r"[*?\[{]", name) for name in names):
            raise UnknownError("a pattern of the command is not understood")
        started = {one for name in names for one in self._at(name, command.folder)}
        if not started or not (is_test or words[0] == "asv" or any(self._at(words[0], command.folder))):
            raise UnknownError("the command names no module here")
        self._shared |= {
            one for name in ("sitecustomize", "usercustomize", "setup") for one in self._named.get(name, ())
        }
        self._shared |= set(self._backends())
        if is_test:
            self._shared |= {*self._plugins(), *(package for path in started for package in self._above(path))}
        return started

    def _at(self, name: str, folder: str) -> Iterator[str]:
        """The modules that a file, a folder or a dotted name on a command line means."""
        place = join_path(folder, name)
        if name and place:
            yield from (blob for blob in self.files.blobs if blob.endswith(".py") and is_inside(blob, place))
        yield from self._loaded(name)
        yield from self._loaded(f"{name}.__main__")

    def _above(self, path: str) -> Iterator[str]:
        """The packages in which a module is: pytest imports them before the module."""
        while path := posixpath.dirname(path):
            if (package := f"{path}/__init__.py") in self.files.blobs:
                yield package

    def _asv(self) -> Iterator[str]:
        for at, text in self.files.called("asv.conf.json").items():
            usual = r'\s*\[\s*"(?:in-dir=\S+ )?python -m (?:pip|build) '
            if re.search(rf'"(?:build|install|uninstall)_command"\s*:(?!{usual})', text):
                raise UnknownError("a command of asv.conf.json is not understood")
            match = re.search(r'"benchmark_dir"\s*:\s*"([^"]+)', text)
            yield join_path(at, match[1] if match else "benchmarks")

    def _backends(self) -> Iterator[str]:
        """The modules of build backends that are in the repository."""
        for at, text in self.files.called("pyproject.toml").items():
            system = tomllib.loads(text).get("build-system", {})
            for folder in system.get("backend-path", ()):
                yield from (
                    blob for blob in self.files.blobs if blob.endswith(".py") and is_inside(blob, join_path(at, folder))
                )

    def _plugins(self) -> Iterator[str]:
        """The files that pytest may also load: each `conftest.py`, and modules named in the settings."""
        yield from self._named.get("conftest", ())
        names = ("pyproject.toml", "setup.cfg", "setup.py", "pytest.ini", ".pytest.ini", "tox.ini")
        settings = [path for path in self.files.blobs if posixpath.basename(path) in names]
        for path, text in self.files.texts(settings):
            named = self.built_from(path, text)
            for name in set(re.findall(r"(?<![\w.])[\w.]+", named)):
                yield from self._named.get(name, ()) if "." in name else self._outer(name)

    def built_from(self, path: str, text: str) -> str:
        """Return the manifest without the programs that it installs, and settings of programs that check code."""
        if not path.endswith("pyproject.toml"):
            return text
        manifest = tomllib.loads(text)
        manifest.get("project", {}).pop("scripts", None)
        tools = {name: table for name, table in manifest.get("tool", {}).items() if name not in _CHECKERS}
        return str(manifest | {"tool": tools})

    def _outer(self, name: str, searched: Container[str] = ()) -> Iterator[str]:
        """The modules of this name that are in no package, or in a searched folder."""
        for path in self._named.get(name, ()):
            folder = posixpath.dirname(path.removesuffix("/__init__.py"))
            if folder in searched or posixpath.join(folder, "__init__.py") not in self.files.blobs:
                yield path

    def _loaded(self, name: str) -> Iterator[str]:
        """The modules that importing a dotted name loads."""
        parts = name.strip(".").split(".")
        for end in range(len(parts)):
            yield from self._named.get(".".join(parts[: end + 1]), ())

    def uses(self, package: str, *, is_start: bool) -> Iterator[str]:
        module = self._module(package)
        if is_start:
            yield from self._shared
            searched = {posixpath.dirname(package), *self._searched}
            yield from (one for name in self._standard for one in self._outer(name, searched))
        if module.searches_more:
            yield from (one for name in self._standard for one in self._named[name])
        if module.unclear:
            raise UnknownError(f"only running {package} shows what it uses ({module.unclear})")
        if own := next(filter(self._may_be_own, module.programs), None):
            raise UnknownError(f"{package} starts {own}, which may be a program of this repository")
        for name in module.imported:
            yield from self._loaded(name)
            yield from self._beside(name)
        for text in module.texts:
            if re.fullmatch(r"\w+(?:\.\w+)+(?::[\w.]+)?", text):
                yield from self._loaded(text.partition(":")[0])
            elif text.isidentifier():
                yield from self._outer(text)

    def _may_be_own(self, program: str) -> bool:
        """Whether a file here has the name of this program, or a build may install one of this name."""
        paths = self.files.base | self.files.head
        builds = self.files.texts(filter(self.build_files.fullmatch, self.files.blobs))
        word = re.compile(rf"(?<![\w./-]){program}(?![\w.:/-])")
        return any(posixpath.basename(path).partition(".")[0] == program for path in paths) or any(
            word.search(text) for _, text in builds
        )

    def _beside(self, name: str) -> Iterator[str]:
        """All modules of a package whose content is imported with a star: `__all__` can name any of them."""
        package, _, last = name.rpartition(".")
        if last == "*":
            folders = [posixpath.dirname(one) for one in self._named.get(package, ()) if one.endswith("/__init__.py")]
            for path in self.files.blobs if folders else ():
                if path.endswith(".py") and posixpath.dirname(path.removesuffix("/__init__.py")) in folders:
                    yield path

    def _module(self, path: str) -> "_Module":
        if path not in self._modules:
            ((_, data),) = self.files.contents([path])
            try:
                self._modules[path] = _read_module(data, path)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                raise UnknownError(f"{path} cannot be parsed") from None
        return self._modules[path]

    def owners(self, path: str) -> Iterable[str]:
        return [path]

    def paths(self, package: str, *, is_start: bool) -> Iterable[str]:  # noqa: ARG002 - a module is one file
        return [package]

    def texts(self, paths: Iterable[str]) -> Iterable[tuple[str, str]]:
        """Yield the texts in the code, without comments and docstrings."""
        for path in paths:
            yield path, "\n".join(f'"{" ".join(text.split())}"' for text in self._module(path).texts)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Module:
    """The imports, started programs and texts of a module.

    `unclear`: a name with which it may import or start more, or nothing. `searches_more`: it changes the search path,
    or starts code, which also searches its own folder.
    """

    imported: tuple[str, ...]
    searches_more: bool
    programs: tuple[str, ...]
    texts: tuple[str, ...]
    unclear: str


def _read_module(data: bytes, path: str) -> _Module:
    if len(data) > FILE_LIMITS.module_bytes:
        raise ValueError(path)
    nodes = list(_nodes(ast.parse(data)))
    imported = [name for node in nodes for name in _imported_modules(node, path)]
    calls = [
        (_identifier(one.func), _text(next(iter(one.args), None)) or "") for one in nodes if isinstance(one, ast.Call)
    ]
    imported += [text.lstrip(".") for name, text in calls if name in _IMPORTING]
    unclear = _unclear(nodes) | {
        "subprocess" for name in imported if "subprocess" in name.split(".")[name == "subprocess" :]
    }
    unclear |= {name for name, text in calls if name in _IMPORTING and (not text or "{}" in text)}
    # A pattern that names no ending finds any file.
    unclear |= {name for name, text in calls if name in _FINDING and not re.search(r"[^*]\.\w+$", text)}
    return _Module(
        imported=tuple(imported),
        searches_more=any(_code(node) is not None or _is_search_path(node) for node in nodes),
        programs=tuple(filter(None, map(_program, nodes))),
        texts=tuple(_constants(nodes)),
        unclear=min(unclear, default=""),
    )


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes of the code and of the code that it starts, without what is understood of `subprocess`."""
    has_sys = not any(map(_binds_sys, ast.walk(tree)))
    waiting = [tree]
    while waiting:
        yield (node := waiting.pop())
        match node:
            case ast.Import(names=names):
                waiting += [name for name in names if name.name != "subprocess" or name.asname]
            case ast.Call(keywords=keywords) if has_sys and (code := _code(node)) is not None:
                waiting += keywords
                yield from ast.walk(ast.parse(code))
            case ast.Call(args=[ast.List(elts=words)], keywords=keywords) if _program(node):
                waiting += [*words, *keywords]
            case ast.Attribute(value=ast.Name(id="subprocess"), attr=name, ctx=ast.Load()) if name in _RESULTS:
                pass
            case _:
                waiting += ast.iter_child_nodes(node)


def _is_search_path(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(value=owner, attr="path"):
            return _identifier(owner) == "sys"
        case ast.ImportFrom(module="sys", names=names):
            return any(name.name in ("path", "*") for name in names)
        case ast.Import(names=names):
            return any(name.name == "sys" and name.asname for name in names)
        case _:
            return False


def _code(node: ast.AST) -> str | None:
    """The constant code for which a call starts Python."""
    match _started_words(node):
        case [ast.Attribute(value=ast.Name(id="sys"), attr="executable"), *options, ast.Constant(value=str(code))]:
            return code if _OPTIONS.fullmatch(_words(options)) else None
        case _:
            return None


def _program(node: ast.AST) -> str:
    """The program of the system that a call starts, if it is one that reads no file of a repository."""
    words = _started_words(node)
    return _words(words[:1]) if _OF_THE_SYSTEM.fullmatch(_words(words)) else ""


def _started_words(node: ast.AST) -> list[ast.expr]:
    """The words of a command that a call starts; none if other arguments can choose the program or its modules."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="subprocess"), attr=name),
            args=[ast.List(elts=words)],
            keywords=keywords,
        ) if name in _STARTING and all(map(_is_plain, keywords)):
            return words
        case _:
            return []


def _words(nodes: Sequence[ast.AST]) -> str:
    """The texts of a list, with a line feed for what is not a text."""
    return " ".join(
        node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else "\n" for node in nodes
    )


def _is_plain(keyword: ast.keyword) -> bool:
    match keyword:
        case ast.keyword(arg="env", value=ast.Dict(keys=keys, values=values)):
            return all(_PLAIN_VARIABLE.fullmatch(_text(key) or "") for key in keys) and all(map(_text, values))
        case ast.keyword(arg="stdin" | "stdout" | "stderr", value=ast.Attribute(value=ast.Name(id="subprocess"))):
            return True
        case ast.keyword(arg=name, value=ast.Constant()):
            return name in _PLAIN_ARGUMENTS
        case _:
            return False


def _binds_sys(node: ast.AST) -> bool:
    """Whether `sys` may be something else than the module."""
    match node:
        case ast.Import(names=names):
            return any(name.asname == "sys" for name in names)
        case ast.ImportFrom(names=names):
            return any((name.asname or name.name) in ("sys", "*") for name in names)
        case ast.alias():
            return False
        case ast.Name(id=name, ctx=ctx):
            return name == "sys" and not isinstance(ctx, ast.Load)
        case _:
            return "sys" in (getattr(node, field, None) for field in ("name", "arg", "rest"))


# Programs that check or format code, with a table in pyproject.toml.
_CHECKERS: Final = frozenset(
    ("ruff", "mypy", "black", "isort", "coverage", "pyright", "pylint", "flake8", "typos", "codespell", "towncrier")
)
# Of `subprocess`: functions that start a program, what only describes its end, and arguments that choose no program.
_STARTING: Final = frozenset(("run", "call", "check_call", "check_output", "Popen"))
_RESULTS: Final = frozenset(
    ("PIPE", "DEVNULL", "STDOUT", "CalledProcessError", "TimeoutExpired", "SubprocessError", "CompletedProcess")
)
_PLAIN_ARGUMENTS: Final = frozenset(
    ("check", "capture_output", "text", "universal_newlines", "timeout", "encoding", "errors")
)
# Variables that change no path.
_PLAIN_VARIABLE: Final = re.compile(r"SYSTEM_VERSION_COMPAT|LANG|LC_[A-Z]+|TZ|PYTHONHASHSEED|[A-Z]+_NUM_THREADS")
_OPTIONS: Final = re.compile("(?:-[BEIOPSbdqsuv]+ )*-c")
# Programs that describe the system or the commit, and read no file of the repository.
_OF_THE_SYSTEM: Final = re.compile(
    r"(?:arch|hostname|ldd|lscpu|nproc|sw_vers|uname)(?: -{1,2}[a-zA-Z][a-zA-Z-]*)*|getconf [A-Z_]+|git --version"
    r"|git rev-parse(?: (?:--short|--verify|--abbrev-ref|--show-toplevel|HEAD))+"
    r"|git describe(?: (?:--always|--tags|--long|--abbrev=\d+))*"
)
# Functions that import a module by its name, or find files by a pattern.
_IMPORTING: Final = frozenset(("import_module", "__import__", "importorskip", "find_spec"))
_FINDING: Final = frozenset(("glob", "rglob", "iglob"))
_PICKLES: Final = frozenset(("pickle", "dill", "cloudpickle", "joblib", "shelve"))
_BUILTINS: Final = frozenset(("exec", "eval"))
# Names of functions and modules that import, start or find what no import statement tells.
_UNCLEAR: Final = frozenset(
    (
        *("run_module", "run_path", "runpy", "iter_modules", "walk_packages", "spec_from_file_location"),
        *("spec_from_loader", "module_from_spec", "SourceFileLoader", "exec_module", "load_module", "load_source"),
        *("FileFinder", "zipimport", "entry_points", "iter_entry_points", "load_entry_point", "resolve_name"),
        *("import_string", "lazy_loader", "LazyLoader", "addsitedir", "Unpickler", "InteractiveInterpreter"),
        *("__loader__", "__builtins__", "subprocess", "popen", "create_subprocess_exec", "create_subprocess_shell"),
        *("subprocess_exec", "subprocess_shell", "posix_spawn", "posix_spawnp", "run_process", "open_process"),
        *("pexpect", "pty", "plumbum", "pytester", "testdir", "set_executable", "scandir", "listdir", "iterdir"),
        *("fwalk", "copytree"),
        *(f"{kind}{end}" for kind in ("exec", "spawn") for end in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")),
    )
)
_UNCLEAR_TEXTS: Final = _UNCLEAR | _BUILTINS | _IMPORTING | {"executable", "sys", "system"}


def _identifier(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name) | ast.arg(arg=name):
            return name
        case _:
            return ""


def _unclear(nodes: Sequence[ast.AST]) -> set[str]:
    """Names in the code with which it may import, start or find more than its imports tell."""
    names = {_identifier(node) for node in nodes}
    unclear = names & _UNCLEAR
    if names & _PICKLES and ("load" in names or ("loads" in names and "dumps" not in names)):
        unclear.add("load")
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    for node in nodes:
        name = _identifier(node)
        if _is_unclear(node, has_paths=bool(names & {"Path", "pathlib"})) or (
            name in _IMPORTING and isinstance(node, ast.Name | ast.Attribute) and id(node) not in called
        ):
            unclear.add(name or "a name")
    return unclear


def _is_unclear(node: ast.AST, *, has_paths: bool) -> bool:
    is_unclear = False
    match node:
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="builtins"), attr=name):
            is_unclear = name in _BUILTINS
        case ast.Attribute(value=owner, attr="system"):
            is_unclear = _identifier(owner) != "platform"
        case ast.Call(func=function, args=[owner, *_]) if _identifier(function) in ("getattr", "setattr"):
            is_unclear = _identifier(owner) in ("builtins", "importlib", "os", "subprocess", "sys")
        case ast.Attribute(attr="executable" | "sys", ctx=ast.Store()) | ast.keyword(arg="executable" | "sys"):
            is_unclear = True
        case ast.Attribute(value=owner, attr="walk"):
            is_unclear = has_paths or _identifier(owner) == "os"
        case ast.alias(name=name, asname=other):
            is_unclear = name == "sh" or (other is not None and name in _IMPORTING | _FINDING | {"os", "builtins"})
        case ast.ImportFrom(module="os", names=imported):
            is_unclear = bool({module.name for module in imported} & {"system", "walk", "*"})
        case ast.Constant(value=str(text)):
            is_unclear = text in _UNCLEAR_TEXTS or text.endswith((".executable", ".sys"))
        case _:
            pass
    return is_unclear


def _text(node: ast.AST | None) -> str | None:
    """A text, or what is constant in one; None for what is not a text."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Constant(value=bytes(data)):
            return data.decode(errors="replace")
        case ast.JoinedStr(values=values):
            return "".join(_text(value) or "{}" for value in values)
        case _:
            return None


def _constants(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """The texts in the code. A text that is a statement is documentation."""
    documentation = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if id(node) not in documentation and (text := _text(node)) is not None:
            yield text


def _imported_modules(node: ast.AST, path: str) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            yield from (name.name for name in names)
        case ast.ImportFrom(module=module, names=names, level=level):
            above = posixpath.dirname(path).split("/")
            package = above[: len(above) - level + 1] if level else []
            yield from (".".join(filter(None, [*package, module, name.name])) for name in names)
        case _:
            return
