"""What a measurement would show, in words for the terminal."""

from bot.model.audit import enough_samples
from bot.model.foresight import Foresight
from bot.report.inert import plain
from bot.report.numbers import deviation, percent, percent_at_least
from bot.report.words import counted


def foresight_text(foresight: Foresight) -> str:
    """Two lines, or three where executions and their samples could be told apart."""
    lines = [_shown(foresight)]
    if foresight.typical is not None:
        lines.append(_needed(foresight))
    if foresight.executions is not None and foresight.samples is not None:
        lines.append(_sources(foresight, foresight.executions, foresight.samples))
    return "\n".join(lines)


def _shown(foresight: Foresight) -> str:
    rounds = counted(foresight.rounds, "round")
    if foresight.typical is None or foresight.largest is None:
        metrics = counted(foresight.metrics, "metric")
        return f"{rounds} can prove no change in {metrics}, however large: --rounds {foresight.least} can"
    which = f"a change of {percent_at_least(foresight.largest)}"
    if foresight.metrics > 1:
        which = (
            f"{percent_at_least(foresight.typical)} in the median of {foresight.metrics:,} metrics, "
            f"{percent_at_least(foresight.largest)} in the noisiest ({plain(foresight.noisiest.benchmark)})"
        )
    return f"by the noise of the earlier measurement, {rounds} would show {which} (power 90%)"


def _needed(foresight: Foresight) -> str:
    which = f"the minimum effect of {percent(foresight.effect)}" + (" in the noisiest" if foresight.metrics > 1 else "")
    if foresight.needed is None:
        return f"{which} is hidden by the noise, whatever the rounds: use a quieter machine"
    return f"{which} takes --rounds {foresight.needed}"


def _sources(foresight: Foresight, executions: float, samples: float) -> str:
    noise = f"standard deviations: executions {deviation(executions)}, samples of one execution {deviation(samples)}"
    taken = counted(foresight.per_execution, "sample")
    enough = enough_samples(samples, of=executions)
    if enough is not None and enough <= foresight.per_execution:
        return f"{noise}; {taken} per execution are enough, more rounds help"
    return f"{noise}; {taken} per execution are few, {'more' if enough is None else f'up to {enough:,}'} help"
