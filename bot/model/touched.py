"""The functions whose code a change touched, and how surely a profile's method is one of them."""

from dataclasses import dataclass
from enum import StrEnum

from bot.model.reason import Reason


class Scope(StrEnum):
    """What a piece of code belongs to: a function, or the code of a class or file outside its functions."""

    FUNCTION = "function"
    CLASS = "class"
    FILE = "file"


class ChangeKind(StrEnum):
    """What happened to a function. Only the first three change what runs."""

    ADDED = "added"
    CHANGED = "changed"
    DELETED = "deleted"
    MOVED = "moved"  # the same code under another path or name
    COSMETIC = "cosmetic"  # only comments, white space or docstrings


CODE_CHANGES = frozenset({ChangeKind.ADDED, ChangeKind.CHANGED, ChangeKind.DELETED})


@dataclass(frozen=True, kw_only=True, slots=True)
class TouchedFunction:
    """`path`, `first_line` and `last_line` are the head's, the base's where the function was deleted.

    `qualified_name` is the name inside its file, dotted: classes and enclosing functions first, `Class.method`; of a
    language with packages also these. `""` is the file's own code. Decorators count as lines of the function.
    `moved_from` is the former place as `path:name`. `changed_line` is the first line inside that differs, where a
    function of the same file changed.
    """

    path: str
    qualified_name: str
    kind: ChangeKind
    first_line: int
    last_line: int
    scope: Scope = Scope.FUNCTION
    moved_from: str | None = None
    changed_line: int | None = None

    @property
    def changes_code(self) -> bool:
        return self.kind in CODE_CHANGES


@dataclass(frozen=True, slots=True)
class LineRange:
    """Lines of the head, first and last included; `last` = `first` - 1 where lines were only taken out."""

    first: int
    last: int


@dataclass(frozen=True, kw_only=True, slots=True)
class UnresolvedFile:
    """A changed file whose functions are not known: `lines` says which of its lines changed.

    `lines` is empty for a binary or deleted file.
    """

    path: str
    lines: tuple[LineRange, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Caller:
    """A function that calls something of the name of a changed function; which one it calls is not resolved."""

    path: str
    qualified_name: str
    first_line: int
    last_line: int
    called_names: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Touched:
    """What lies between two commits, by function. `base` is None where `head` is a first commit.

    `callers`: by name, Python only, at `head`. `notes`: what was left out, and why.
    """

    base: str | None
    head: str
    functions: tuple[TouchedFunction, ...] = ()
    unresolved: tuple[UnresolvedFile, ...] = ()
    callers: tuple[Caller, ...] = ()
    notes: tuple[Reason, ...] = ()


class Certainty(StrEnum):
    """How surely a profile's method is a touched function, the surest first."""

    FILE_AND_LINE = "file_and_line"
    QUALIFIED_NAME = "qualified_name"
    BARE_NAME = "bare_name"
    FILE = "file"  # its file changed; the functions of that file are not known


@dataclass(frozen=True, kw_only=True, slots=True)
class MethodMatch:
    """`functions`: several where the name fits several (overloads); none where only the file is known to be touched."""

    certainty: Certainty
    path: str
    functions: tuple[TouchedFunction, ...] = ()
