"""How git names a commit in full: SHA-1 or SHA-256."""

import re
from typing import Final

FULL_HASH_PATTERN: Final = r"[0-9a-f]{40}(?:[0-9a-f]{24})?"
FULL_HASH: Final = re.compile(FULL_HASH_PATTERN)
