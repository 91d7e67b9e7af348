"""Planned failures: occasional failures of the real GitHub, on demand."""

import re
from dataclasses import dataclass, field

SECONDARY_LIMIT = "You have exceeded a secondary rate limit"
PRIMARY_LIMIT = "API rate limit exceeded for installation"


@dataclass(kw_only=True, slots=True)
class Fault:
    """Fails the next `times` requests whose "METHOD path" fully matches `request` (a regular expression).

    The first `spared` of them do not count.
    `applied`: the change is made, only the answer is lost. `drop`: the connection closes without an answer.
    `delay_seconds`: the answer (the usual one if there is no `status`) comes that late; if `applied`, the change is
    made at once. `body` replaces GitHub's form of an error.
    """

    request: str
    status: int | None = None
    message: str = "Server Error"
    times: int = 1
    spared: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    applied: bool = False
    drop: bool = False
    delay_seconds: float = 0.0
    body: bytes | None = None

    def matches(self, method: str, path: str) -> bool:
        return self.times > 0 and re.fullmatch(self.request, f"{method} {path}") is not None
