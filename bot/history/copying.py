"""All that one history holds into another one, whatever keeps them."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from bot.history.layout import stored_key
from bot.history.protocol import Store
from bot.progress import doing

COPIED_AT_ONCE: Final = 100


def copy_history(source: Store, target: Store) -> tuple[Mapping[str, int], int]:
    """What was copied, counted by its kind (the first folder of its path), and how much was there before.

    Files stay as they are, byte by byte. What is there already stays too, so a copy that broke off is continued by
    the next one.
    """
    there = {stored_key(path) for path in target.paths()}
    ours = {stored_key(path): path for path in source.paths()}
    new = [path for key, path in ours.items() if key not in there]
    for start in range(0, len(new), COPIED_AT_ONCE):
        part = new[start : start + COPIED_AT_ONCE]
        doing(f"copying {start:,} to {start + len(part):,} of {len(new):,} files")
        contents = zip(part, source.contents(part), strict=True)
        target.adopt([(path, content) for path, content in contents if content])
    return Counter(path.partition("/")[0] for path in new), len(ours) - len(new)
