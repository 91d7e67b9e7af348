"""Whether a file was measured on this machine, just now: only then may this machine's environment complete it.

docs/history.md states the rule in words.
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from bot.collect.parser import Parsed, epoch_time
from bot.model.environment import Environment

# GitHub's own machines end a job after six hours: what is older was not measured by the job that collects it.
LONGEST_JOB: Final = timedelta(hours=6)
# Clocks of counters that count from the start of a test are far below; no test lasts ten years.
FIRST_DATE_S: Final = 10 * 365 * 86_400
ARCHITECTURES: Final[Mapping[str, str]] = {"amd64": "x86_64", "x64": "x86_64", "arm64": "aarch64"}
SYSTEMS: Final[Mapping[str, str]] = {"macos": "darwin"}
_NOISE: Final = re.compile(r"\((?:r|tm)\)|@.*|\b(?:cpu|processor|\d+-core)\b", re.IGNORECASE)


def elsewhere(parsed: Parsed, machine: Environment, *, now: datetime) -> str | None:
    """What shows that the file was measured elsewhere or earlier, such as "os: Windows"; None where nothing does."""
    theirs, ours = parsed.environment.components, machine.components
    for name, same in _SAME.items():
        if name in theirs and name in ours and not same(theirs[name], ours[name]):
            return f"{name}: {theirs[name]}"
    if "host" in theirs and "host" not in ours and not parsed.benchmarks:
        # Counters are often a server's. In a container nobody knows this machine's name to compare with.
        return f"host: {theirs['host']}"
    if (time := _time(parsed)) is not None and abs(now - time) > LONGEST_JOB:
        return f"time: {time.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    return None


def _time(parsed: Parsed) -> datetime | None:
    """When the file's measurement ended, as far as it is dated."""
    ends = [float(table.times_s[-1]) for table in parsed.counters if len(table.times_s)]
    dated = [end for end in ends if end >= FIRST_DATE_S]
    return epoch_time(max(dated)) if dated else parsed.time


def _same_cpu(first: str, second: str) -> bool:
    """Tools name a processor with and without "(R)", "CPU @ 2.50GHz" or "64-Core Processor"."""
    words = [set(re.findall(r"[a-z0-9]+", _NOISE.sub(" ", name).lower())) for name in (first, second)]
    return words[0] <= words[1] or words[1] <= words[0]


def _known_as(names: Mapping[str, str]) -> Callable[[str, str], bool]:
    def same(first: str, second: str) -> bool:
        one, other = (names.get(name.lower(), name.lower()) for name in (first, second))
        return one == other

    return same


def _same_host(first: str, second: str) -> bool:
    return first.partition(".")[0].lower() == second.partition(".")[0].lower()


_SAME: Final[Mapping[str, Callable[[str, str], bool]]] = {
    "cpu": _same_cpu,
    "architecture": _known_as(ARCHITECTURES),
    "os": _known_as(SYSTEMS),
    "host": _same_host,
    "cpu_count": _known_as({}),
}
