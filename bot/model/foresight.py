"""What a measurement would show, foreseen from an earlier one of the same benchmarks."""

from dataclasses import dataclass

from bot.model.metric import MetricKey


@dataclass(frozen=True, kw_only=True, slots=True)
class Foresight:
    """The changes that `rounds` of A B B A would show with a power of 90%, as fractions.

    `typical` is the median of all `metrics`, `largest` that of the noisiest; None where it takes `least`
    rounds to prove anything.
    `needed`: rounds that show its minimum effect, `effect`, in the noisiest; None where no sensible number does.
    `executions` and `samples`: standard deviations, as fractions, of executions of one round and of samples of one
    execution; medians over some metrics. `per_execution` samples were taken.
    """

    rounds: int
    metrics: int
    typical: float | None
    largest: float | None
    noisiest: MetricKey
    least: int
    effect: float
    needed: int | None
    executions: float | None
    samples: float | None
    per_execution: int
