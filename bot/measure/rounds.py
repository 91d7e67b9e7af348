"""In which order commits are executed, and after which rounds one may look at the numbers."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def interleaved(sides: Sequence[T], *, rounds: int) -> Iterator[tuple[int, T]]:
    """(round, side): A B B A, A B B A, …; what drifts steadily meets all sides alike. Rounds count from 1."""
    for number in range(1, rounds + 1):
        for side in (*sides, *reversed(sides)):
            yield number, side


def analysis_rounds(rounds: int, *, analyses: int) -> tuple[int, ...]:
    """The rounds after which the numbers are judged: as evenly spaced as they can be, the last always one of them."""
    count = min(analyses, rounds)
    return tuple(-(-rounds * number // count) for number in range(1, count + 1))
