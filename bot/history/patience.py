"""How long a writer keeps trying while others write, or the network fails."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from bot.errors import InfrastructureError
from bot.progress import doing

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Patience:
    """Bounded in attempts and time."""

    attempts: int = 30
    seconds: float = 180.0
    first_pause_seconds: float = 0.1
    longest_pause_seconds: float = 5.0

    def pause_seconds(self, attempt: int, random: Random) -> float:
        """Full jitter: writers that met once are unlikely to meet again."""
        return random.uniform(0, min(self.longest_pause_seconds, self.first_pause_seconds * 2 ** min(attempt, 16)))

    def persist(
        self,
        action: Callable[[], T],
        *,
        is_transient: Callable[[InfrastructureError], bool],
        failure: str,
        place: str,
        writes: bool,
        random: Random,
        sleep: Callable[[float], None] = time.sleep,
    ) -> T:
        """What `action` gives at last; where it is given up, `failure` and `place` are reported.

        What `writes` was perhaps done by the attempt that failed last: nothing of ours is stored twice.
        """
        deadline = time.monotonic() + self.seconds
        attempt = 0
        while True:
            attempt += 1
            try:
                return action()
            except InfrastructureError as error:
                if not is_transient(error):
                    raise
                pause_seconds = self.pause_seconds(attempt, random)
                if attempt >= self.attempts or time.monotonic() + pause_seconds > deadline:
                    attempts = "one attempt" if attempt == 1 else f"{attempt} attempts; the last one"
                    step = error.next_step or "run the job again"
                    raise InfrastructureError(
                        f"{failure} after {attempts}: {error.message}",
                        place=place,
                        next_step=f"{step}; doing it twice does no harm" if writes else step,
                    ) from None
            doing(f"trying {place} again, attempt {attempt + 1}")
            sleep(pause_seconds)
