"""Tests take some of their choices in turn by day, and all with HYPOTHESIS_PROFILE=thorough (.ci/fuzz)."""

import os
from collections.abc import Sequence
from typing import Final, TypeVar

from hypothesis import settings

T = TypeVar("T")
THOROUGH: Final = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
STRIDE: Final = 6
many: Final = settings(max_examples=300 if THOROUGH else 60)


def in_turn(choices: Sequence[T], turn: int) -> Sequence[T]:
    """Return every sixth choice: in six consecutive turns each is taken once."""
    return choices if THOROUGH else choices[-turn % STRIDE :: STRIDE]
