"""How many executions a trace may take: announced before each level, and kept."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

# Fewer repetitions than this show no noise; more levels than this a short budget hardly reaches *(choice)*.
FEWEST_REPETITIONS: Final = 3
# Samples are chance as well; with fewer executions than this hardly anything is sure.
FEWEST_SAMPLED: Final = 5
EXPECTED_PASSES: Final = 4
# A real program's culprit lies that deep *(choice)*; where there is no time for as many levels, stacks are sampled.
WANTED_LEVELS: Final = 20


@dataclass(kw_only=True, slots=True)
class Budget:
    """`seconds`: None for no limit. `say` gets a line for people before each level."""

    seconds: float | None = None
    say: Callable[[str], None] = lambda _: None
    clock: Callable[[], float] = time.monotonic
    repetitions: int = 1
    executions: int = 0
    spent_s: float = 0.0
    # Of the executions that are like those to come: the first one, with hooks everywhere, is not.
    usual: int = 0
    usual_s: float = 0.0
    level: int = 0
    is_spent: bool = False

    def plan(self, repetitions: int) -> int:
        """After a usual execution: as many repetitions as asked for, fewer where the budget is short."""
        self.repetitions = repetitions
        if self.seconds is not None:
            fitting = int(self.seconds / (EXPECTED_PASSES * max(self.one_s, 1e-9)))
            self.repetitions = min(repetitions, max(fitting, min(FEWEST_REPETITIONS, repetitions)))
        return self.repetitions

    @property
    def is_short(self) -> bool:
        """After a usual execution: too short to trace down to where a real program's time goes."""
        return self.seconds is not None and WANTED_LEVELS * FEWEST_REPETITIONS * self.one_s > self.seconds

    def plan_samples(self, repetitions: int) -> int:
        """An execution per repetition."""
        fitting = repetitions if self.seconds is None else int(self.seconds / max(self.one_s, 1e-9))
        self.repetitions = max(min(repetitions, fitting), min(FEWEST_SAMPLED, repetitions))
        self.say(
            f"stacks are sampled: {self.repetitions} executions, about {self.repetitions * self.one_s:.0f} s; to trace "
            f"level by level allow {WANTED_LEVELS * FEWEST_REPETITIONS * self.one_s:.0f} s or more "
            "(--trace-budget, in bisect --profile-seconds)"
        )
        return self.repetitions

    def allows(self, passes: int) -> bool:
        self.level += 1
        executions = passes * self.repetitions
        expected_s = executions * self.one_s
        within = "" if self.seconds is None else f" ({self.spent_s:.0f} of {self.seconds:.0f} s spent)"
        planned = f"level {self.level}: {executions} executions, about {expected_s:.0f} s{within}"
        # The first level is always timed: a trace without it says nothing.
        if self.seconds is not None and self.level > 1 and self.spent_s + expected_s > self.seconds:
            self.is_spent = True
            self.say(f"{planned}: left out; --trace-budget allows more")
            return False
        self.say(planned)
        return True

    @property
    def one_s(self) -> float:
        return self.usual_s / self.usual if self.usual else 0.0

    def execute(self, execution: Callable[[], None], *, is_usual: bool = True) -> None:
        start = self.clock()
        execution()
        took_s = self.clock() - start
        self.spent_s += took_s
        self.executions += 1
        if is_usual:
            self.usual += 1
            self.usual_s += took_s
