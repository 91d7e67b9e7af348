"""A commit, or all between two, to the functions that it touched."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Final

from bot import git
from bot.diagnose.changed.callers import find_callers
from bot.diagnose.changed.code import CodeScope, MissingGrammarError, UnreadableCodeError
from bot.diagnose.changed.comparison import FileScopes, compare_files
from bot.diagnose.changed.grammars import GRAMMARS
from bot.diagnose.changed.limits import MAX_FILE_BYTES, MOST_FILES, read_within
from bot.diagnose.changed.paths import is_document_or_test
from bot.diagnose.changed.python import read_python
from bot.diagnose.changed.syntax_tree import read_with_grammar
from bot.model.reason import Caveat, because
from bot.model.touched import ChangeKind, LineRange, Touched, TouchedFunction, UnresolvedFile

MOST_LINE_DIFFS: Final = 200  # a git call each
PYTHON_SUFFIXES: Final = frozenset({".py", ".pyi", ".pyw"})
LONGEST_LINE_BYTES: Final = 20_000


def touched_by_commit(repository: Path, commit: str) -> Touched:
    """What `commit` touched, against its first parent; all of it where it has none. With callers."""
    parents = git.parents(repository, commit)
    return touched_code(repository, base=parents[0] if parents else None, head=commit, callers=True)


def touched_code(repository: Path, *, base: str | None, head: str, callers: bool = False) -> Touched:
    """The functions that differ between `base` and `head` (full hashes), files without functions, and notes.

    Functions are compared by their own code, so that what was moved or only tidied is told apart from what changed.
    Nothing of the repository is run. `callers` adds who calls the changed ones, by name.
    """
    changes = git.file_changes(repository, base, head)
    notes = []
    if len(changes) > MOST_FILES:
        notes.append(because(Caveat.FILES_LEFT, count=len(changes), limit=MOST_FILES))
        changes = changes[:MOST_FILES]
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
        functions=_with_changed_lines(repository, changes, compare_files(files)),
        unresolved=_unresolved(repository, [one for one in changes if one.path in unread]),
        notes=tuple(notes),
    )
    if not callers:
        return touched
    calling, more_notes = find_callers(repository, head, [one for one in touched.functions if one.changes_code])
    return replace(touched, callers=calling, notes=(*touched.notes, *more_notes))


def _with_changed_lines(
    repository: Path, changes: Sequence[git.FileChange], functions: Sequence[TouchedFunction]
) -> tuple[TouchedFunction, ...]:
    """Changed functions with the first line that differs: a remark on it stands inside the diff."""
    blobs = {change.path: (change.old_blob, change.blob) for change in changes if change.old_blob and change.blob}
    asked = [one.path for one in functions if one.kind is ChangeKind.CHANGED and one.path in blobs]
    ranges: dict[str, tuple[tuple[int, int], ...]] = {}
    for path in list(dict.fromkeys(asked))[:MOST_LINE_DIFFS]:
        old, new = blobs[path]
        ranges[path] = git.changed_lines(repository, str(old), str(new))
    return tuple(
        replace(one, changed_line=_first_inside(one, ranges.get(one.path, ()))) if one.path in ranges else one
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
            raise UnreadableCodeError(f"is larger than {MAX_FILE_BYTES >> 20} MiB, or too much else is")
        return _read(path, sources[blob])

    return FileScopes(
        path=change.path,
        old_path=change.old_path,
        base=scopes(change.old_path, change.old_blob) if _has_reader(change.old_path) else (),
        head=scopes(change.path, change.blob),
        is_copy=change.status == "C",
    )


def _has_reader(path: str) -> bool:
    return (suffix := PurePosixPath(path).suffix.lower()) in PYTHON_SUFFIXES or suffix in GRAMMARS


def _read(path: str, source: bytes) -> tuple[CodeScope, ...]:
    """The code of a file in scopes, by its suffix. Raises: UnreadableCodeError, with the reason."""
    if b"\0" in source[:8_000]:
        raise UnreadableCodeError("is binary")
    if max(map(len, source.split(b"\n"))) > LONGEST_LINE_BYTES:
        raise UnreadableCodeError("has lines that no person wrote: it is generated or minified")
    suffix = PurePosixPath(path).suffix.lower()
    return read_python(source) if suffix in PYTHON_SUFFIXES else read_with_grammar(source, GRAMMARS[suffix])


def _unresolved(repository: Path, changes: Sequence[git.FileChange]) -> tuple[UnresolvedFile, ...]:
    asked, files = 0, []
    for change in changes:
        lines: tuple[LineRange, ...] = ()
        if change.blob and change.old_blob and _is_file(change) and asked < MOST_LINE_DIFFS:
            asked += 1
            ranges = git.changed_lines(repository, change.old_blob, change.blob)
            lines = tuple(LineRange(first, last) for first, last in ranges)
        files.append(UnresolvedFile(path=change.path, lines=lines))
    return tuple(files)
