"""Code in scopes, as every language's reader gives it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Final

from bot.errors import DataError
from bot.model.touched import Scope

MOST_SCOPES: Final = 50_000


class UnreadableCodeError(DataError):
    """A file whose functions cannot be determined; the message says why in words that follow its name."""


class MissingGrammarError(UnreadableCodeError):
    """A file in a language whose grammar is not installed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CodeScope:
    """A function's, class's or file's own code, without that of the functions and classes inside.

    `code` names what runs (no comments, layout, docstrings, and not the function's own name), `text` all its lines.
    `size` counts the tokens of `code`.
    """

    qualified_name: str
    scope: Scope
    first_line: int
    last_line: int
    code: bytes
    size: int
    text: bytes = b""

    @property
    def bare_name(self) -> str:
        return self.qualified_name.rpartition(".")[2]


@dataclass(kw_only=True, slots=True)
class OpenScope:
    """A scope whose code is still being read."""

    qualified_name: str
    scope: Scope
    first_line: int
    last_line: int
    size: int = 0
    _code: "blake2b" = field(default_factory=lambda: blake2b(digest_size=16))

    def add(self, token: bytes) -> None:
        """Tokens are kept apart by their length: `a b` is not `ab`."""
        self.size += 1
        self._code.update(b"%d:" % len(token) + token)

    def closed(self) -> CodeScope:
        return CodeScope(
            qualified_name=self.qualified_name,
            scope=self.scope,
            first_line=self.first_line,
            last_line=self.last_line,
            code=self._code.digest(),
            size=self.size,
        )


def with_text(scopes: Sequence[CodeScope], source: bytes) -> tuple[CodeScope, ...]:
    """The scopes (outer ones before inner ones) with the name of their own lines."""
    lines = source.split(b"\n")
    owner = [0] * len(lines)
    for number, scope in enumerate(scopes):
        first, last = scope.first_line - 1, min(scope.last_line, len(lines))
        owner[first:last] = [number] * (last - first)
    texts = [blake2b(digest_size=16) for _ in scopes]
    for line, number in zip(lines, owner, strict=True):
        texts[number].update(line + b"\n")
    return tuple(replace(scope, text=text.digest()) for scope, text in zip(scopes, texts, strict=True))


def functions(scopes: Iterable[CodeScope]) -> tuple[CodeScope, ...]:
    return tuple(scope for scope in scopes if scope.scope is Scope.FUNCTION)
