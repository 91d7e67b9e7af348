"""Two revisions of code in scopes -> which functions were added, changed, deleted, moved or merely tidied."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bot.diagnose.changed.code import CodeScope
from bot.model.touched import ChangeKind, Scope, TouchedFunction

# Shorter code is found everywhere (`return self._name`): equal code of another name is then no sign of a move.
MOVED_TOKENS: Final = 20
# What Python's syntax tree says of a file whose every statement is a definition: a module, with a list of nothing.
EMPTY_TOKENS: Final = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class FileScopes:
    """A file on both sides; `base` or `head` is empty where it is not there. A copy's `base` is no longer its own."""

    path: str
    old_path: str
    base: tuple[CodeScope, ...]
    head: tuple[CodeScope, ...]
    is_copy: bool = False


@dataclass(frozen=True, slots=True)
class _Change:
    kind: ChangeKind
    path: str
    scope: CodeScope


def compare_files(files: Sequence[FileScopes]) -> tuple[TouchedFunction, ...]:
    """What happened to each function, over all files that differ. Equal functions are paired by name, then by code."""
    changes = [change for file in files for change in _file_changes(file)]
    before: dict[bytes, list[tuple[str, CodeScope]]] = defaultdict(list)
    for file in files:
        for scope in file.base:
            before[scope.code].append((file.old_path, scope))
    moved = {place: origin for place, change in enumerate(changes) if (origin := _origin(change, before))}
    origins = {(path, scope.qualified_name, scope.first_line) for path, scope in moved.values()}
    touched = []
    for place, change in enumerate(changes):
        own = (change.path, change.scope.qualified_name, change.scope.first_line)
        if change.kind is ChangeKind.DELETED and own in origins:
            continue
        touched.append(_touched(change, moved.get(place)))
    return tuple(sorted(touched, key=lambda one: (one.path, one.first_line, one.qualified_name)))


def _file_changes(file: FileScopes) -> list[_Change]:
    base, head = _by_name(file.base), _by_name(file.head)
    changes: list[_Change] = []
    for key in {**base, **head}:
        old, new = base.get(key, []), head.get(key, [])
        for scope in [*new]:
            same = next((one for one in old if one.code == scope.code), None)
            if same is not None:
                old.remove(same)
                new.remove(scope)
                # Outside functions a changed line may be an inner definition's: the file is looked at below.
                if scope.text != same.text and scope.scope is Scope.FUNCTION:
                    changes.append(_Change(ChangeKind.COSMETIC, file.path, scope))
        paired = min(len(old), len(new))
        changes += [_Change(ChangeKind.CHANGED, file.path, scope) for scope in new[:paired]]
        changes += [_Change(ChangeKind.ADDED, file.path, scope) for scope in new[paired:]]
        if not file.is_copy:
            changes += [_Change(ChangeKind.DELETED, file.old_path, scope) for scope in old[paired:]]
    # A file without code of its own was neither added nor deleted.
    kept = [one for one in changes if one.scope.size > EMPTY_TOKENS or one.kind in _BOTH_SIDES]
    if not kept and file.base and file.head and file.base[0].text != file.head[0].text:
        kept.append(_Change(ChangeKind.COSMETIC, file.path, file.head[0]))
    return kept


_BOTH_SIDES: Final = (ChangeKind.CHANGED, ChangeKind.COSMETIC)


def _by_name(scopes: Sequence[CodeScope]) -> dict[tuple[str, Scope], list[CodeScope]]:
    named: dict[tuple[str, Scope], list[CodeScope]] = defaultdict(list)
    for scope in scopes:
        named[scope.qualified_name, scope.scope].append(scope)
    return named


def _origin(change: _Change, before: dict[bytes, list[tuple[str, CodeScope]]]) -> tuple[str, CodeScope] | None:
    """Where the code of an added function or class stood before."""
    scope = change.scope
    if change.kind is not ChangeKind.ADDED or scope.scope is Scope.FILE:
        return None
    for path, old in before.get(scope.code, []):
        if old.scope is scope.scope and (old.bare_name == scope.bare_name or scope.size >= MOVED_TOKENS):
            return path, old
    return None


def _touched(change: _Change, origin: tuple[str, CodeScope] | None) -> TouchedFunction:
    scope = change.scope
    return TouchedFunction(
        path=change.path,
        qualified_name=scope.qualified_name,
        kind=ChangeKind.MOVED if origin else change.kind,
        first_line=scope.first_line,
        last_line=scope.last_line,
        scope=scope.scope,
        moved_from=f"{origin[0]}:{origin[1].qualified_name}" if origin else None,
    )
