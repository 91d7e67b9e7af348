"""Who calls a changed function, by name: Python files of one revision."""

import ast
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from bot import git
from bot.diagnose.changed.code import UnreadableCodeError
from bot.diagnose.changed.limits import MAX_FILE_BYTES, read_within
from bot.diagnose.changed.python import parse
from bot.model.reason import Caveat, Reason, because
from bot.model.touched import Caller, TouchedFunction

MOST_NAMES: Final = 500
MOST_FILES: Final = 1_000
# A name that more functions than these call (`get`, `append`) tells nothing.
MOST_CALLERS: Final = 50


def find_callers(
    repository: Path, head: str, functions: Sequence[TouchedFunction]
) -> tuple[tuple[Caller, ...], tuple[Reason, ...]]:
    """Functions that call something of a changed Python function's name, and notes on what was left out."""
    names = sorted({name for one in functions if one.path.endswith(".py") and (name := _callable_name(one))})
    notes = []
    if len(names) > MOST_NAMES:
        notes.append(because(Caveat.NAMES_LEFT, limit=MOST_NAMES, count=len(names)))
        names = names[:MOST_NAMES]
    paths = git.files_with_words(repository, head, names, pattern="**/*.py")
    if len(paths) > MOST_FILES:
        notes.append(because(Caveat.CALLING_FILES_LEFT, limit=MOST_FILES, count=len(paths)))
        paths = paths[:MOST_FILES]
    blobs = {entry.path: entry.blob for entry in git.list_tree(repository, head) if entry.blob}
    sources = read_within(repository, {path: blobs[path] for path in paths if path in blobs})
    callers: list[Caller] = []
    unread = len(paths) - len(sources)
    for path, source in sources.items():
        try:
            callers += _callers(path, parse(source), frozenset(names))
        except UnreadableCodeError:
            unread += 1
    if unread:
        notes.append(because(Caveat.CALLING_FILES_UNREAD, count=unread, mebibytes=MAX_FILE_BYTES >> 20))
    counts = Counter(name for caller in callers for name in caller.called_names)
    common = sorted(name for name, count in counts.items() if count > MOST_CALLERS)
    if common:
        notes.append(because(Caveat.COMMON_NAMES, names=tuple(common[:10])))
    kept = ((caller, tuple(name for name in caller.called_names if name not in common)) for caller in callers)
    return tuple(replace(caller, called_names=called) for caller, called in kept if called), tuple(notes)


def _callable_name(function: TouchedFunction) -> str:
    """How it is called: a constructor by its class."""
    *outer, name = function.qualified_name.split(".")
    return outer[-1] if name in ("__init__", "__new__", "__call__") and outer else name


def _callers(path: str, module: ast.Module, names: frozenset[str]) -> Iterable[Caller]:
    by_caller: dict[tuple[str, int, int], set[str]] = {}
    waiting: list[tuple[ast.AST, str, tuple[str, int, int]]] = [(module, "", ("", 1, 1))]
    while waiting:
        node, prefix, place = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            qualified_name = prefix + node.name
            if isinstance(node, ast.ClassDef):
                prefix = f"{qualified_name}."
            else:
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                place = (qualified_name, first, node.end_lineno or node.lineno)
                prefix = f"{qualified_name}.<locals>."
        elif isinstance(node, ast.Call):
            name = _called(node.func)
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


def _called(function: ast.expr) -> str:
    if isinstance(function, ast.Name):
        return function.id
    return function.attr if isinstance(function, ast.Attribute) else ""
