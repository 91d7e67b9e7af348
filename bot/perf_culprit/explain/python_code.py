"""Split code into scopes, Python with its own parser, and find the callers of changed functions."""

import ast
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType
from typing import Any, Final, TypeAlias

from perf_culprit import git
from perf_culprit.errors import DataError
from perf_culprit.model.call_tree import Caller, Scope, TouchedFunction
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.reason import Caveat, Reason, because


def read_within(repository: Path, blobs: Mapping[str, str]) -> dict[str, bytes]:
    """Read those of `blobs` (by any key) that are below the size limit, in order up to the total limit."""
    sizes = git.blob_sizes(repository, [*blobs.values()])
    chosen, total = {}, 0
    for (key, blob), size in zip(blobs.items(), sizes, strict=True):
        if size <= FILE_LIMITS.source_bytes and total + size <= FILE_LIMITS.sources_bytes:
            chosen[key] = blob
            total += size
    return dict(zip(chosen, git.read_blobs(repository, [*chosen.values()]), strict=True))


class UnreadableCodeError(DataError):
    """A file whose functions cannot be determined; the message is the reason, worded to follow the file's name."""


class MissingGrammarError(UnreadableCodeError):
    """A file in a language whose grammar is not installed."""


@dataclass(kw_only=True, slots=True)
class CodeScope:
    """A function's, class's or file's own code, without that of the functions and classes inside.

    `code` is a hash of the executed code: no comments, layout, docstrings or own name. `text` is a hash of all its own
    lines. `size` counts the tokens of `code`.
    """

    qualified_name: str
    scope: Scope
    first_line: int
    last_line: int
    size: int = 0
    text: bytes = b""
    _code: "blake2b" = field(default_factory=lambda: blake2b(digest_size=16), compare=False)

    @property
    def bare_name(self) -> str:
        return self.qualified_name.rpartition(".")[2]

    @property
    def code(self) -> bytes:
        return self._code.digest()

    def add(self, token: bytes) -> None:
        """Add a token with its length, so that `a b` differs from `ab`."""
        self.size += 1
        self._code.update(b"%d:" % len(token) + token)


def with_text(scopes: Sequence[CodeScope], source: bytes) -> tuple[CodeScope, ...]:
    """Set the hash of the scopes' own lines; outer ones come before inner ones."""
    lines = source.split(b"\n")
    owner = [0] * len(lines)
    for number, scope in enumerate(scopes):
        first, last = scope.first_line - 1, min(scope.last_line, len(lines))
        owner[first:last] = [number] * (last - first)
    texts = [blake2b(digest_size=16) for _ in scopes]
    for line, number in zip(lines, owner, strict=True):
        texts[number].update(line + b"\n")
    for scope, text in zip(scopes, texts, strict=True):
        scope.text = text.digest()
    return tuple(scopes)


# PEP 263. A lookup of an arbitrary encoding name from a file would import a module of that name.
_COOKIE: Final = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_ENCODINGS: Final = re.compile(r"utf-?8(-sig)?|(us-)?ascii|latin-?1|iso-8859-\d{1,2}(-unix)?|cp125\d|windows-125\d")
_INNER: Final = re.compile(r"(\.<locals>)?\.?<(?!locals).*")  # f.<locals>.<lambda> belongs to f
_Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_DEFINITIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
# A definition's name, a string's prefix and comments do not change behaviour.
_NO_CODE: Final = {
    **dict.fromkeys(_DEFINITIONS, frozenset({"name", "type_comment"})),
    ast.Constant: frozenset({"kind"}),
    ast.Module: frozenset({"type_ignores"}),
}


def read_python(source: bytes) -> tuple[CodeScope, ...]:
    """Read the file, its classes and its functions, outer ones first. Lambdas belong to the enclosing scope.

    Raises: UnreadableCodeError.
    """
    module = parse_python(source)
    last_line = source.count(b"\n") + 1
    file = CodeScope(qualified_name="", scope=Scope.FILE, first_line=1, last_line=last_line)
    scopes = [file]
    waiting: list[tuple[object, CodeScope, str]] = [(module, file, "")]
    while waiting:
        value, scope, prefix = waiting.pop()
        if isinstance(value, _DEFINITIONS):
            scope = _scope_of(value, prefix)
            scopes.append(scope)
            if len(scopes) > FILE_LIMITS.source_scopes:
                raise UnreadableCodeError(f"has more than {FILE_LIMITS.source_scopes:,} functions")
            prefix = _prefix(scope)
        waiting += [(part, scope, prefix) for part in reversed(_parts(value, scope))]
    return with_text(scopes, source)


def parse_python(source: bytes) -> ast.Module:
    """Parse the syntax tree. Raises: UnreadableCodeError."""
    tree: ast.Module = _compile(source, ast.PyCF_ONLY_AST)
    return tree


def function_codes(source: bytes) -> frozenset[tuple[str, object]]:
    """Return the executed code of each function of the file, by qualified name; "" for code outside functions.

    Layout and comments are ignored. Three times as fast as `read_python`. Raises: UnreadableCodeError.
    """
    codes, waiting = set[tuple[str, object]](), [_compile(source)]
    while waiting:
        code = waiting.pop()
        waiting += [one for one in code.co_consts if isinstance(one, CodeType)]
        values = tuple((type(one), one) for one in code.co_consts if not isinstance(one, CodeType))
        name = code.co_qualname if code.co_flags & CO_OPTIMIZED else ""
        codes.add((_INNER.sub("", name), (code.co_code, code.co_names, code.co_varnames, values)))
    return frozenset(codes)


def _compile(source: bytes, flags: int = 0) -> Any:
    text = _decode(source)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about odd escapes in untrusted strings
            return compile(text, "<unknown>", "exec", flags, dont_inherit=True)
    except SyntaxError as error:
        raise UnreadableCodeError(f"is not Python that this version reads (line {error.lineno})") from None
    except (RecursionError, MemoryError):
        raise UnreadableCodeError("is nested too deeply") from None
    except ValueError:
        raise UnreadableCodeError("is not Python: it holds null bytes or endless numbers") from None


def _decode(source: bytes) -> str:
    head = source.removeprefix(b"\xef\xbb\xbf").split(b"\n", 2)[:2]
    cookies = [match[1].decode().lower().replace("_", "-") for line in head if (match := _COOKIE.match(line))]
    encoding = cookies[0] if cookies else "utf-8"
    if not _ENCODINGS.fullmatch(encoding):
        raise UnreadableCodeError(f"has the unusual encoding {encoding[:40]!r}")
    try:
        return source.decode("utf-8-sig" if encoding.startswith("utf") else encoding)
    except (UnicodeDecodeError, LookupError):
        raise UnreadableCodeError(f"is not {encoding[:40]} text") from None


def _scope_of(node: _Definition, prefix: str) -> CodeScope:
    return CodeScope(
        qualified_name=prefix + node.name,
        scope=Scope.CLASS if isinstance(node, ast.ClassDef) else Scope.FUNCTION,
        first_line=min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]),
        last_line=node.end_lineno or node.lineno,
    )


def _prefix(scope: CodeScope) -> str:
    """The start of the names of definitions inside."""
    return f"{scope.qualified_name}." + ("<locals>." if scope.scope is Scope.FUNCTION else "")


def _parts(value: object, scope: CodeScope) -> list[object]:
    """Add this value's own token to the scope, and return its parts in order."""
    if isinstance(value, list):
        scope.add(b"[%d" % sum(not isinstance(one, _DEFINITIONS) for one in value))
        return value
    if not isinstance(value, ast.AST):
        # Not repr, which refuses to write large integers.
        text = hex(value) if isinstance(value, int) and not isinstance(value, bool) else repr(value)
        scope.add(f"{type(value).__name__} {text}".encode())
        return []
    if isinstance(value, ast.Load | ast.Store | ast.Del):
        return []
    scope.add(type(value).__name__.encode())
    left_out = _NO_CODE.get(type(value), frozenset())
    parts = {name: getattr(value, name) for name in value._fields if name not in left_out}
    if isinstance(value, ast.Module | _Definition) and ast.get_docstring(value, clean=False) is not None:
        parts["body"] = value.body[1:]
    return [*parts.values()]


# A name that is called by more functions than this (`get`, `append`) is no evidence.
COMMON_CALLERS: Final = 50


def find_callers(
    repository: Path, head: str, functions: Sequence[TouchedFunction]
) -> tuple[tuple[Caller, ...], tuple[Reason, ...]]:
    """Find functions that call a name of a changed Python function, and notes on omissions."""
    names = sorted({name for one in functions if one.path.endswith(".py") and (name := _callable_name(one))})
    notes = []
    if len(names) > FILE_LIMITS.sought_names:
        notes.append(because(Caveat.NAMES_LEFT, limit=FILE_LIMITS.sought_names, count=len(names)))
        names = names[: FILE_LIMITS.sought_names]
    paths = git.files_with_words(repository, head, names, pattern="**/*.py")
    if len(paths) > FILE_LIMITS.calling_files:
        notes.append(because(Caveat.CALLING_FILES_LEFT, limit=FILE_LIMITS.calling_files, count=len(paths)))
        paths = paths[: FILE_LIMITS.calling_files]
    blobs = {entry.path: entry.blob for entry in git.list_tree(repository, head) if entry.blob}
    sources = read_within(repository, {path: blobs[path] for path in paths if path in blobs})
    callers: list[Caller] = []
    unread = len(paths) - len(sources)
    for path, source in sources.items():
        try:
            callers += _callers(path, parse_python(source), frozenset(names))
        except UnreadableCodeError:
            unread += 1
    if unread:
        notes.append(because(Caveat.CALLING_FILES_UNREAD, count=unread, mebibytes=FILE_LIMITS.source_bytes >> 20))
    counts = Counter(name for caller in callers for name in caller.called_names)
    common = sorted(name for name, count in counts.items() if count > COMMON_CALLERS)
    if common:
        notes.append(because(Caveat.COMMON_NAMES, names=tuple(common[:10])))
    pairs = ((caller, tuple(name for name in caller.called_names if name not in common)) for caller in callers)
    return tuple(replace(caller, called_names=called) for caller, called in pairs if called), tuple(notes)


def _callable_name(function: TouchedFunction) -> str:
    """The name by which the function is called: a constructor has its class's name."""
    *outer, name = function.qualified_name.split(".")
    return outer[-1] if name in ("__init__", "__new__", "__call__") and outer else name


def _callers(path: str, module: ast.Module, names: frozenset[str]) -> Iterable[Caller]:
    by_caller: dict[tuple[str, int, int], set[str]] = {}
    waiting: list[tuple[ast.AST, str, tuple[str, int, int]]] = [(module, "", ("", 1, 1))]
    while waiting:
        node, prefix, place = waiting.pop()
        if isinstance(node, _DEFINITIONS):
            scope = _scope_of(node, prefix)
            prefix = _prefix(scope)
            if scope.scope is Scope.FUNCTION:
                place = (scope.qualified_name, scope.first_line, scope.last_line)
        elif isinstance(node, ast.Call):
            # The last part of a dotted name.
            name = getattr(node.func, "id", None) or getattr(node.func, "attr", "")
            if name in names:
                by_caller.setdefault(place, set()).add(name)
        waiting += [(child, prefix, place) for child in ast.iter_child_nodes(node)]
    for (qualified_name, first, last), called in sorted(by_caller.items()):
        yield Caller(
            path=path,
            qualified_name=qualified_name,
            first_line=first,
            last_line=last,
            called_names=tuple(sorted(called)),
        )
