"""Find the functions that a commit, or all commits between two revisions, touched."""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Final, TypeAlias

from msgspec import structs

from perf_culprit import git
from perf_culprit.explain.python_code import (
    CodeScope,
    MissingGrammarError,
    UnreadableCodeError,
    find_callers,
    function_codes,
    read_python,
    read_within,
)
from perf_culprit.explain.syntax_tree import GRAMMARS, read_with_grammar
from perf_culprit.model.bisection import ExecutedCode
from perf_culprit.model.call_tree import ChangeKind, LineRange, Scope, Touched, TouchedFunction, UnresolvedFile
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.reason import Caveat, because

_DOCUMENT_SUFFIXES: Final = (".md", ".rst", ".txt", ".adoc", ".org", ".tex", ".pdf", ".png", ".jpg", ".svg", ".gif")
_DOCUMENT_NAMES: Final = re.compile(
    r"(license|licence|copying|authors|changelog|changes|news|readme|contributing|notice|codeowners)(\..*)?"
    r"|\.gitignore|\.gitattributes|\.mailmap|\.editorconfig"
)
_DOCUMENT_FOLDERS: Final = frozenset({"doc", "docs", "documentation", "changelog", "changelogs", "changelog.d", "man"})
_TEST_FOLDERS: Final = frozenset({"test", "tests", "testing", "__tests__", "spec", "specs", "testdata", "fixtures"})
_TEST_NAMES: Final = re.compile(
    r"test_.*\.py|conftest\.py|.*_test\.(py|go|cc|cpp|rb|rs)|.*[._-](test|spec)\.[cm]?[jt]sx?|.*_spec\.rb"
    r"|.*tests?\.(java|kt|cs|php)"
)
_BUILD_NAMES: Final = re.compile(
    r"requirements.*\.(txt|in)|constraints.*\.txt|pyproject\.toml|setup\.(py|cfg)|pipfile(\.lock)?|.*\.lock"
    r"|package(-lock)?\.json|pnpm-lock\.yaml|go\.(mod|sum)|cargo\.toml|pom\.xml|.*\.gradle(\.kts)?|gradle\.properties"
    r"|gemfile|composer\.json|.*\.(csproj|props|targets|cmake)|cmakelists\.txt|(gnu)?makefile(\..*)?|meson\.build"
    r"|configure(\.ac)?|dockerfile.*|build(\.bazel)?|module\.bazel|conanfile\.(txt|py)|vcpkg\.json|\.gitmodules"
    r"|rust-toolchain(\.toml)?|\.(python|node|ruby)-version|environment\.ya?ml|uv\.lock"
)


def changes_build(path: str) -> bool:
    """Return whether the file names dependencies, tools or flags of the build."""
    return _BUILD_NAMES.fullmatch(_name(path)) is not None


def is_document_or_test(path: str) -> bool:
    """Return whether measured code should not read the file. A guess by name: a weight, no reason to exclude."""
    folders = {part.lower() for part in path.split("/")[:-1]}
    name = _name(path)
    if changes_build(path):
        return False
    return bool(
        folders & (_DOCUMENT_FOLDERS | _TEST_FOLDERS)
        or name.endswith(_DOCUMENT_SUFFIXES)
        or _DOCUMENT_NAMES.fullmatch(name)
        or _TEST_NAMES.fullmatch(name)
    )


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1].lower()[: FILE_LIMITS.file_name_characters]


# Shorter code is common (`return self._name`), so equal code under another name is no sign of a move.
MOVED_TOKENS: Final = 20
# The tokens of a file in Python's syntax tree if every statement is a definition: a module with an empty list.
EMPTY_TOKENS: Final = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class FileScopes:
    """A file on both sides; `base` or `head` is empty if it is missing there. A copy's `base` is another file's."""

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


def touched_functions(files: Sequence[FileScopes]) -> tuple[TouchedFunction, ...]:
    """Compare functions over all files that differ. Equal functions are paired by name, then by code."""
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
        touched.append(_touched_function(change, moved.get(place)))
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
                # Outside functions a changed line may belong to an inner definition: the file is checked below.
                if scope.text != same.text and scope.scope is Scope.FUNCTION:
                    changes.append(_Change(ChangeKind.COSMETIC, file.path, scope))
        paired = min(len(old), len(new))
        changes += [_Change(ChangeKind.CHANGED, file.path, scope) for scope in new[:paired]]
        changes += [_Change(ChangeKind.ADDED, file.path, scope) for scope in new[paired:]]
        if not file.is_copy:
            changes += [_Change(ChangeKind.DELETED, file.old_path, scope) for scope in old[paired:]]
    # A file without code of its own was neither added nor deleted.
    visible = [one for one in changes if one.scope.size > EMPTY_TOKENS or one.kind in _BOTH_SIDES]
    if not visible and file.base and file.head and file.base[0].text != file.head[0].text:
        visible.append(_Change(ChangeKind.COSMETIC, file.path, file.head[0]))
    return visible


_BOTH_SIDES: Final = (ChangeKind.CHANGED, ChangeKind.COSMETIC)


def _by_name(scopes: Sequence[CodeScope]) -> dict[tuple[str, Scope], list[CodeScope]]:
    named: dict[tuple[str, Scope], list[CodeScope]] = defaultdict(list)
    for scope in scopes:
        named[scope.qualified_name, scope.scope].append(scope)
    return named


def _origin(change: _Change, before: dict[bytes, list[tuple[str, CodeScope]]]) -> tuple[str, CodeScope] | None:
    """Find the former place of an added function's or class's code."""
    scope = change.scope
    if change.kind is not ChangeKind.ADDED or scope.scope is Scope.FILE:
        return None
    for path, old in before.get(scope.code, []):
        if old.scope is scope.scope and (old.bare_name == scope.bare_name or scope.size >= MOVED_TOKENS):
            return path, old
    return None


def _touched_function(change: _Change, origin: tuple[str, CodeScope] | None) -> TouchedFunction:
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


PYTHON_SUFFIXES: Final = frozenset({".py", ".pyi", ".pyw"})


def touched_by_commit(repository: Path, commit: str) -> Touched:
    """Find the code that `commit` touched relative to its first parent (everything in a root commit), with callers."""
    parents = git.parents(repository, commit)
    return touched_code(repository, base=parents[0] if parents else None, head=commit, callers=True)


def touched_code(repository: Path, *, base: str | None, head: str, callers: bool = False) -> Touched:
    """Find the functions that differ between `base` and `head` (full hashes), files without functions, and notes.

    Functions are compared by their own code, which separates moved or tidied code from changed code. No code of the
    repository is executed. `callers` adds the functions that call the changed ones, by name.
    """
    changes = git.file_changes(repository, base, head)
    notes = []
    if len(changes) > FILE_LIMITS.source_files:
        notes.append(because(Caveat.FILES_LEFT, count=len(changes), limit=FILE_LIMITS.source_files))
        changes = changes[: FILE_LIMITS.source_files]
    readable = [one for one in changes if _is_file(one) and _has_reader(one.path)]
    blobs = (blob for change in readable for blob in (change.old_blob, change.blob) if blob is not None)
    sources = read_within(repository, {blob: blob for blob in blobs})
    files = []
    unread = {one.path for one in changes if not _is_file(one)}
    unread |= {one.path for one in changes if not _has_reader(one.path) and not is_document_or_test(one.path)}
    lacking_grammar = 0
    for change in readable:
        try:
            files.append(_scopes(change, sources))
        except UnreadableCodeError as error:
            unread.add(change.path)
            lacking_grammar += isinstance(error, MissingGrammarError)
    if lacking_grammar:
        notes.append(because(Caveat.NO_GRAMMAR, count=lacking_grammar))
    touched = Touched(
        base=base,
        head=head,
        functions=_with_changed_lines(repository, changes, touched_functions(files)),
        unresolved=_unresolved_files(repository, [one for one in changes if one.path in unread]),
        notes=tuple(notes),
    )
    if not callers:
        return touched
    calling, more_notes = find_callers(repository, head, [one for one in touched.functions if one.changes_code])
    return replace(touched, callers=calling, notes=(*touched.notes, *more_notes))


def _with_changed_lines(
    repository: Path, changes: Sequence[git.FileChange], functions: Sequence[TouchedFunction]
) -> tuple[TouchedFunction, ...]:
    """Add to changed functions the first line that differs, so that a remark on it is placed inside the diff."""
    blobs = {change.path: (change.old_blob, change.blob) for change in changes if change.old_blob and change.blob}
    paths = [one.path for one in functions if one.kind is ChangeKind.CHANGED and one.path in blobs]
    ranges: dict[str, tuple[tuple[int, int], ...]] = {}
    for path in list(dict.fromkeys(paths))[: FILE_LIMITS.line_diffs]:
        old, new = blobs[path]
        ranges[path] = git.changed_lines(repository, str(old), str(new))
    return tuple(
        structs.replace(one, changed_line=_first_inside(one, ranges.get(one.path, ()))) if one.path in ranges else one
        for one in functions
    )


def _first_inside(function: TouchedFunction, ranges: Sequence[tuple[int, int]]) -> int | None:
    if function.kind is not ChangeKind.CHANGED:
        return None
    inside = (
        max(first, function.first_line)
        for first, last in ranges
        if first <= function.last_line and max(last, first) >= function.first_line
    )
    return next(inside, None)


def _is_file(change: git.FileChange) -> bool:
    return change.mode not in (git.SUBMODULE_MODE, git.LINK_MODE)


def _scopes(change: git.FileChange, sources: Mapping[str, bytes]) -> FileScopes:
    def scopes(path: str, blob: str | None) -> tuple[CodeScope, ...]:
        if blob is None:
            return ()
        if blob not in sources:
            raise UnreadableCodeError(f"is larger than {FILE_LIMITS.source_bytes >> 20} MiB, or too much else is")
        return _scopes_of(path, sources[blob])

    return FileScopes(
        path=change.path,
        old_path=change.old_path,
        base=scopes(change.old_path, change.old_blob) if _has_reader(change.old_path) else (),
        head=scopes(change.path, change.blob),
        is_copy=change.status == "C",
    )


def _has_reader(path: str) -> bool:
    return (suffix := PurePosixPath(path).suffix.lower()) in PYTHON_SUFFIXES or suffix in GRAMMARS


def _scopes_of(path: str, source: bytes) -> tuple[CodeScope, ...]:
    """Read the code of a file in scopes, by its suffix. Raises: UnreadableCodeError, with the reason."""
    if b"\0" in source[:8_000]:
        raise UnreadableCodeError("is binary")
    if max(map(len, source.split(b"\n"))) > FILE_LIMITS.source_line_bytes:
        raise UnreadableCodeError("has lines that no person wrote: it is generated or minified")
    suffix = PurePosixPath(path).suffix.lower()
    return read_python(source) if suffix in PYTHON_SUFFIXES else read_with_grammar(source, GRAMMARS[suffix])


def _unresolved_files(repository: Path, changes: Sequence[git.FileChange]) -> tuple[UnresolvedFile, ...]:
    diffs, files = 0, []
    for change in changes:
        lines: tuple[LineRange, ...] = ()
        if change.blob and change.old_blob and _is_file(change) and diffs < FILE_LIMITS.line_diffs:
            diffs += 1
            ranges = git.changed_lines(repository, change.old_blob, change.blob)
            lines = tuple(LineRange(first, last) for first, last in ranges)
        files.append(UnresolvedFile(path=change.path, lines=lines))
    return tuple(files)


def executed_changes(
    repository: Path, changes: Mapping[str, Sequence[git.FileChange]], executed: Collection[tuple[str, str]]
) -> dict[str, tuple[ExecutedCode, ...] | None]:
    """Changed code by commit, functions first; `executed`: files and qualified function names. Two git calls suffice.

    None if unknown: a benchmark may read a file of another kind, whatever its name is.
    """
    names: dict[str, set[str]] = defaultdict(set)
    for path, name in executed:
        names[path].add(name)
    relevant = [one for files in changes.values() for one in files if {one.path, one.old_path} & names.keys()]
    blobs = (blob for one in relevant for blob in (one.old_blob, one.blob) if blob is not None)
    sources = read_within(repository, {blob: blob for blob in blobs})
    codes: dict[str | None, _Codes] = {None: frozenset(), **{blob: _codes(sources[blob]) for blob in sources}}

    def of_commit(files: Sequence[git.FileChange]) -> tuple[ExecutedCode, ...] | None:
        code = [
            ExecutedCode(one.path, name)
            for one in files
            if (run := names.get(one.path, set()) | names.get(one.old_path, set()))
            for name in _changed_names(codes.get(one.old_blob), codes.get(one.blob), run)
        ]
        is_clear = all(one.path.endswith(".py") or is_document_or_test(one.path) for one in files)
        return tuple(sorted(code, key=lambda one: not one.function)) if code or is_clear else None

    return {commit: of_commit(files) for commit, files in changes.items()}


_Codes: TypeAlias = frozenset[tuple[str, object]] | None


def _codes(source: bytes) -> _Codes:
    try:
        return function_codes(source)
    except UnreadableCodeError:
        return None


def _changed_names(base: _Codes, head: _Codes, executed: Collection[str]) -> Sequence[str]:
    """The `executed` functions that differ; else "" if code outside functions differs or a side cannot be read."""
    if base is None or head is None:
        return [""]
    changed = {name for name, _ in base ^ head}
    return sorted(changed & set(executed)) or [""] * ("" in changed)
