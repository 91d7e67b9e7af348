"""How many different call trees a service has, in constant memory."""

from collections.abc import Iterable
from typing import Final

# Above it the count is an estimate with a standard error of 1 / sqrt(4,096 - 2) = 1.6%.
KEPT: Final = 4_096
_DIGESTS: Final = 2**64


def smallest(digests: Iterable[bytes]) -> frozenset[bytes]:
    """The smallest KEPT of them: all that counting needs, and mergeable (Bar-Yossef et al. 2002, k minimum values)."""
    kept = frozenset(digests)
    return kept if len(kept) <= KEPT else frozenset(sorted(kept)[:KEPT])


def count(digests: frozenset[bytes]) -> int:
    """Exact below KEPT. Assumes 8-byte digests that spread evenly."""
    if len(digests) < KEPT:
        return len(digests)
    return round((KEPT - 1) / (int.from_bytes(max(digests), "big") / _DIGESTS))
