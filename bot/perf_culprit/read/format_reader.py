"""The declaration that every format makes, be it of results, counters or profiles."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

File = TypeVar("File")
Content = TypeVar("Content")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Reader(Generic[File, Content]):
    """One format, declared by the module that reads it. `id` is also its anchor in the docs.

    `matches` looks at the content only, is cheap and never raises. It may accept broken content; `read` then reports
    the fault. `read` raises DataError with a place and a next step, and nothing else.
    """

    id: str
    matches: Callable[[File], bool]
    read: Callable[[File], Content]


AnyReader = TypeVar("AnyReader", bound=Reader[Any, Any])


def by_id(readers: Iterable[AnyReader]) -> dict[str, AnyReader]:
    return {reader.id: reader for reader in readers}


def first_match(file: File, readers: Iterable[AnyReader]) -> AnyReader | None:
    """Return the first reader that matches the file, None if no reader does."""
    return next((reader for reader in readers if reader.matches(file)), None)
