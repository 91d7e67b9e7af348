"""Which reader a file gets: by its suffix."""

from pathlib import PurePosixPath
from typing import Final

from bot.diagnose.changed.code import CodeScope, UnreadableCodeError
from bot.diagnose.changed.grammars import GRAMMARS
from bot.diagnose.changed.python import read_python
from bot.diagnose.changed.syntax_tree import read_with_grammar

PYTHON_SUFFIXES: Final = frozenset({".py", ".pyi", ".pyw"})
LONGEST_LINE_BYTES: Final = 20_000


def has_reader(path: str) -> bool:
    return (suffix := PurePosixPath(path).suffix.lower()) in PYTHON_SUFFIXES or suffix in GRAMMARS


def read_scopes(path: str, source: bytes) -> tuple[CodeScope, ...]:
    """The code of a file in scopes. Raises: UnreadableCodeError, with the reason."""
    if b"\0" in source[:8_000]:
        raise UnreadableCodeError("is binary")
    if max(map(len, source.split(b"\n"))) > LONGEST_LINE_BYTES:
        raise UnreadableCodeError("has lines that no person wrote: it is generated or minified")
    suffix = PurePosixPath(path).suffix.lower()
    if suffix in PYTHON_SUFFIXES:
        return read_python(source)
    if suffix in GRAMMARS:
        return read_with_grammar(source, GRAMMARS[suffix])
    raise UnreadableCodeError(f"has no reader for {suffix[:20] or 'files without a suffix'}")
