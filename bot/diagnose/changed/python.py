"""Python source in scopes, by its own parser; nothing of it is ever run."""

import ast
import re
import warnings
from typing import Final, TypeAlias

from bot.diagnose.changed.code import MOST_SCOPES, CodeScope, OpenScope, UnreadableCodeError, with_text
from bot.model.touched import Scope

# PEP 263. Looking up any name that a file gives would import what that name says.
_COOKIE: Final = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_ENCODINGS: Final = re.compile(r"utf-?8(-sig)?|(us-)?ascii|latin-?1|iso-8859-\d{1,2}(-unix)?|cp125\d|windows-125\d")
_Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_DEFINITIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
# Neither what a definition is called, nor the prefix of a string, nor a comment changes what it does.
_NO_CODE: Final = {
    **dict.fromkeys(_DEFINITIONS, frozenset({"name", "type_comment"})),
    ast.Constant: frozenset({"kind"}),
    ast.Module: frozenset({"type_ignores"}),
}


def read_python(source: bytes) -> tuple[CodeScope, ...]:
    """The file, its classes and its functions, outer ones first. Lambdas belong to what encloses them.

    Raises: UnreadableCodeError.
    """
    module = parse(source)
    last_line = source.count(b"\n") + 1
    file = OpenScope(qualified_name="", scope=Scope.FILE, first_line=1, last_line=last_line)
    scopes = [file]
    waiting: list[tuple[object, OpenScope, str]] = [(module, file, "")]
    while waiting:
        value, scope, prefix = waiting.pop()
        if isinstance(value, _DEFINITIONS):
            scope = _opened(value, prefix)
            scopes.append(scope)
            if len(scopes) > MOST_SCOPES:
                raise UnreadableCodeError(f"has more than {MOST_SCOPES:,} functions")
            prefix = f"{scope.qualified_name}." + ("<locals>." if scope.scope is Scope.FUNCTION else "")
        waiting += [(part, scope, prefix) for part in reversed(_parts(value, scope))]
    return with_text([scope.closed() for scope in scopes], source)


def parse(source: bytes) -> ast.Module:
    """The syntax tree. Raises: UnreadableCodeError."""
    text = _decoded(source)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd escapes in a stranger's strings
            return ast.parse(text)
    except SyntaxError as error:
        raise UnreadableCodeError(f"is no Python that this Python reads (line {error.lineno})") from None
    except (RecursionError, MemoryError):
        raise UnreadableCodeError("is nested too deeply") from None
    except ValueError:
        raise UnreadableCodeError("is no Python: it holds null bytes or endless numbers") from None


def _decoded(source: bytes) -> str:
    head = source.removeprefix(b"\xef\xbb\xbf").split(b"\n", 2)[:2]
    cookies = [match[1].decode().lower().replace("_", "-") for line in head if (match := _COOKIE.match(line))]
    encoding = cookies[0] if cookies else "utf-8"
    if not _ENCODINGS.fullmatch(encoding):
        raise UnreadableCodeError(f"has the unusual encoding {encoding[:40]!r}")
    try:
        return source.decode("utf-8-sig" if encoding.startswith("utf") else encoding)
    except (UnicodeDecodeError, LookupError):
        raise UnreadableCodeError(f"is not {encoding[:40]} text") from None


def _opened(node: _Definition, prefix: str) -> OpenScope:
    return OpenScope(
        qualified_name=prefix + node.name,
        scope=Scope.CLASS if isinstance(node, ast.ClassDef) else Scope.FUNCTION,
        first_line=min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]),
        last_line=node.end_lineno or node.lineno,
    )


def _parts(value: object, scope: OpenScope) -> list[object]:
    """Note what this value says itself, and give what it holds, in order."""
    if isinstance(value, list):
        scope.add(b"[%d" % sum(not isinstance(one, _DEFINITIONS) for one in value))
        return value
    if not isinstance(value, ast.AST):
        # Not repr: it refuses to write large integers.
        shown = hex(value) if isinstance(value, int) and not isinstance(value, bool) else repr(value)
        scope.add(f"{type(value).__name__} {shown}".encode())
        return []
    if isinstance(value, ast.Load | ast.Store | ast.Del):
        return []
    scope.add(type(value).__name__.encode())
    left_out = _NO_CODE.get(type(value), frozenset())
    parts = {name: getattr(value, name) for name in value._fields if name not in left_out}
    if isinstance(value, ast.Module | _Definition) and ast.get_docstring(value, clean=False) is not None:
        parts["body"] = value.body[1:]
    return [*parts.values()]
