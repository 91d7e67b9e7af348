"""Which method of the baseline a method of the target is, where their names differ."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import Final

from bot.diagnose.comparison.observed import Observed

# What differs from one run or build to the next within one method's name: addresses, line numbers, process and object
# ids, and the numbers of generated code (lambdas, anonymous classes, Rust's and GCC's clones).
_VOLATILE: Final = re.compile(
    r"0x[0-9a-fA-F]++|::h[0-9a-f]{16}\b|\.(?:constprop|isra|part|cold|llvm)\.[0-9]++|[$#][0-9]++|(?<=[:@\[(])[0-9]++"
    r"|(?<=Lambda)[/0-9$x a-f]++|\b[0-9]{4,}\b"
)


def stable(method: str) -> str:
    """The name without what differs between runs; the name itself where nothing is left."""
    return _VOLATILE.sub("*", method) or method


def counterparts(baseline: Observed, target: Observed) -> Mapping[str, str]:
    """Methods of the target by name -> that of the baseline, for those that the baseline has under another name.

    First the only one of an equal stable name; then the only one of the same name in another file or class: it moved.
    """
    before, after = ({node.method for node in side.nodes} for side in (baseline, target))
    gone, new = before - after, after - before
    matched: dict[str, str] = {}
    for key in (stable, _bare):
        pairs = _unique_pairs(gone, new, key=key)
        matched |= pairs
        gone, new = gone - set(pairs.values()), new - set(pairs)
    return matched


def _unique_pairs(gone: Collection[str], new: Collection[str], *, key: Callable[[str], str]) -> dict[str, str]:
    counts = [Counter(map(key, names)) for names in (gone, new)]
    by_key = {key(name): name for name in gone}
    return {name: by_key[key(name)] for name in sorted(new) if all(count[key(name)] == 1 for count in counts)}


def _bare(method: str) -> str:
    """Without file and class, unless that would be a name that many have."""
    name = re.split(r"[.:/]", stable(method))[-1]
    return name if len(name) > _SHORT and not name.startswith(("<", "__")) else method


_SHORT: Final = 3
