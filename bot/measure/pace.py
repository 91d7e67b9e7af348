"""How long a round takes: when the rest will be done, and whether one more ends in time."""

import math
import time


class Pace:
    """`deadline` by the monotonic clock. `guess`: seconds of a round, before there was one."""

    def __init__(self, *, deadline: float = math.inf) -> None:
        self.deadline = deadline
        self.guess: float | None = None
        self._seconds: list[float] = []

    def add(self, seconds: float) -> None:
        self._seconds.append(seconds)

    @property
    def allows_a_round(self) -> bool:
        """The first is measured whatever the deadline, so that repeated calls get on."""
        return time.monotonic() + max(self._seconds, default=-math.inf) <= self.deadline

    def to_go(self, rounds: int) -> str:
        """In words, for so many rounds; empty where nothing is known yet."""
        each = sum(self._seconds) / len(self._seconds) if self._seconds else self.guess
        if each is None:
            return ""
        minutes = min(each * rounds, max(self.deadline - time.monotonic(), 0.0)) / 60
        if minutes < 1:
            return ", less than a minute to go"
        return f", about {minutes:.0f} minute{'s' if round(minutes) > 1 else ''} to go"
