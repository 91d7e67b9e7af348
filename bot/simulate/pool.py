"""What the requests of one component instance compete for: all of it at once, or none [F11, 4.3.1.6]."""

from collections import deque
from collections.abc import Sequence

import simpy


class Pool:
    """Resources with finite units. Who cannot have all that is needed waits, first come, first served."""

    def __init__(self, environment: simpy.Environment, capacities: Sequence[float], *, room: int | None) -> None:
        self._environment = environment
        self._free = list(capacities)
        # Units such as 0.1 do not add up exactly.
        self._slack = [capacity * 1e-9 for capacity in capacities]
        self._room = room
        self._waiting: deque[tuple[Sequence[tuple[int, float]], simpy.Event]] = deque()

    @property
    def is_full(self) -> bool:
        """Whether another waiting request would have to be refused."""
        return self._room is not None and len(self._waiting) >= self._room

    def take(self, needs: Sequence[tuple[int, float]]) -> bool:
        """Whether all of `needs` (resource, units) was free, and is taken now; nobody overtakes who waits."""
        if self._waiting or not self._fits(needs):
            return False
        self._hold(needs)
        return True

    def wait(self, needs: Sequence[tuple[int, float]]) -> simpy.Event:
        """Happens when all of `needs` was taken."""
        granted = self._environment.event()
        self._waiting.append((needs, granted))
        return granted

    def release(self, needs: Sequence[tuple[int, float]]) -> None:
        for resource, units in needs:
            self._free[resource] += units
        while self._waiting and self._fits(self._waiting[0][0]):
            following, granted = self._waiting.popleft()
            self._hold(following)
            granted.succeed()

    def _fits(self, needs: Sequence[tuple[int, float]]) -> bool:
        for resource, units in needs:  # noqa: SIM110 - a generator takes twice the time, for every request
            if units > self._free[resource] + self._slack[resource]:
                return False
        return True

    def _hold(self, needs: Sequence[tuple[int, float]]) -> None:
        for resource, units in needs:
            self._free[resource] -= units
