"""The part of a suite that this machine measures. Every machine that gets the same list divides it in the same way."""

from collections.abc import Sequence
from hashlib import sha256
from itertools import chain
from typing import Final

from msgspec.structs import replace

from perf_culprit.errors import DataError
from perf_culprit.files import read_limited
from perf_culprit.measure.workplace import Workplace
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.run import Part

PART_VARIABLE: Final = "PERF_CULPRIT_PART"  # this part's lines of --list
PRINTS: Final = "let --list print a line for each file, package or group, the same on each machine"


def divide(workplace: Workplace, commits: Sequence[str], *, part: Part, command: str) -> tuple[Part, dict[str, str]]:
    """Return the part with its division's digest, and by commit the part's lines of what `command` prints there.

    Lines are dealt one by one in the order of their hashes: parts differ by one line at most, and similar ones spread.
    """
    printed = {commit: _lines(workplace, commit, command) for commit in commits}
    every = sorted(set(chain.from_iterable(printed.values())), key=lambda line: sha256(line.encode()).digest())
    mine = set(every[part.indices[0] - 1 :: part.count])
    lines = {commit: "\n".join(line for line in own if line in mine) for commit, own in printed.items()}
    if len(every) < part.count or not all(lines.values()):
        raise DataError(
            f"printed {len(every)} lines, too few for {part.count} parts that each have one at every commit",
            place="--list",
            next_step=f"take fewer parts, or {PRINTS}",
        )
    division = sha256("\n".join(every).encode()).hexdigest()[:16]
    return replace(part, division=division), lines


def _lines(workplace: Workplace, commit: str, command: str) -> list[str]:
    file = workplace.run(commit, command=command)
    text = read_limited(file, FILE_LIMITS.list_bytes, next_step=PRINTS, error=DataError).decode(errors="replace")
    return list(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))
