"""The owners of a file by CODEOWNERS: GitHub's patterns, the last match wins."""

import re
from typing import Final

# In this order GitHub looks for the file, and reads only the first.
CODE_OWNERS_FILES: Final = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")
# Addresses cannot be mentioned.
_OWNER: Final = re.compile(r"@[A-Za-z0-9-]{1,39}(/[A-Za-z0-9._-]{1,100})?")
_PIECE: Final = re.compile(r"/\*\*/|^\*\*/|\*\*|\*|\?|[^*?/]+|/")
_AS_REGEX: Final = {"/**/": "/(?:.*/)?", "**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def code_owners(text: str, path: str) -> tuple[str, ...]:
    """Return the owners of `path`, relative to the repository, or none if its last pattern names none."""
    owners: tuple[str, ...] = ()
    for line in text.splitlines():
        pattern, *names = line.partition("#")[0].replace(r"\ ", "?").split() or [""]
        # GitHub skips lines with what it does not know from gitignore.
        if pattern and not pattern.startswith("!") and "[" not in pattern and _matches(pattern, path):
            owners = tuple(name for name in names if _OWNER.fullmatch(name))
    return owners


def _matches(pattern: str, path: str) -> bool:
    body = pattern.strip("/")
    anywhere = "" if "/" in pattern.rstrip("/") else "(?:.*/)?"
    middle = "".join(_AS_REGEX.get(piece) or re.escape(piece) for piece in _PIECE.findall(body))
    # A folder owns what is in it; `docs/*` is only about the files directly in docs.
    rest = "/.*" if pattern.endswith("/") else "" if body.endswith("/*") else "(?:/.*)?"
    return re.fullmatch(anywhere + middle + rest, path) is not None
