"""How much of a stranger's repository is read."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bot import git

MAX_FILE_BYTES: Final = 1 << 20
MAX_TOTAL_BYTES: Final = 64 << 20
MOST_FILES: Final = 2_000


def read_within(repository: Path, blobs: Mapping[str, str]) -> dict[str, bytes]:
    """What may be read of `blobs` (by any key): single ones below the limit, in order up to the total."""
    sizes = git.blob_sizes(repository, [*blobs.values()])
    kept, total = {}, 0
    for (key, blob), size in zip(blobs.items(), sizes, strict=True):
        if size <= MAX_FILE_BYTES and total + size <= MAX_TOTAL_BYTES:
            kept[key] = blob
            total += size
    return dict(zip(kept, git.read_blobs(repository, [*kept.values()]), strict=True))
