"""An audit and a foreseen measurement, for a terminal and as JSON."""

import json
from collections.abc import Iterable

import msgspec

from perf_culprit.model.accuracy import Audit, DetectorAudit, Foresight, NoiseSources, Rate, TrialKind, enough_samples
from perf_culprit.say.inert import SENTENCE_LIMIT, plain
from perf_culprit.say.numbers import counted, deviation, percent, percent_at_least, percent_digits
from perf_culprit.say.reason_text import sentence
from perf_culprit.say.render_terminal import columns

# What a measurement would show, in words for the terminal.


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


# An audit for a terminal and as JSON.

FORMAT = "perf-culprit-audit"
VERSION = 1
SHOWN_EFFECTS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
SHOWN_LIMITS = 5


def render_audit(audit: Audit) -> str:
    blocks = [_headline(audit)]
    if audit.detectors:
        blocks += [
            f"False alarms and detectable effects:\n{_rates(audit)}",
            f"Share of the injected slowdowns that was found, by size:\n{_curves(audit)}",
        ]
    if audit.counters:
        blocks.append(f"Counters:\n{_counters(audit)}")
    blocks.append(_recommendation(audit))
    if audit.detectors:
        blocks.append(f"Hardest to judge by {audit.recommendation.detector}:\n{_limits(audit)}")
    if audit.noise is not None:
        blocks.append(_noise(audit.noise))
    notes = [*map(sentence, audit.notes), *(f"auto would choose: {sentence(choice)}" for choice in audit.auto)]
    if notes:
        blocks.append("Notes:\n" + _bullets(plain(note, limit=SENTENCE_LIMIT) for note in notes))
    return "\n\n".join(blocks) + "\n"


def audit_json(audit: Audit) -> bytes:
    """Rates and effects are fractions; null is an effect that was never found."""
    held = msgspec.to_builtins(audit, enc_hook=lambda reason: reason.to_json(sentence))
    data = {"format": FORMAT, "version": VERSION, **held, "notes": [*map(sentence, audit.notes)]}
    data["recommendation"]["reasons"] = [*map(sentence, audit.recommendation.reasons)]
    for counters in data["counters"]:
        counters["found"] = counters.pop("power")
    return (json.dumps(data, indent=1, ensure_ascii=False) + "\n").encode()


def _headline(audit: Audit) -> str:
    first = (
        f"Audit of suite {plain(audit.suite)}: {counted(audit.runs, 'run')}, {counted(audit.metrics, 'metric')}, "
        f"{counted(audit.samples_per_run, 'sample')} per run"
    )
    entry = next((entry for entry in audit.detectors if entry.detector == audit.configured), None)
    if entry is None:
        return first
    done = {
        TrialKind.STORED_RUNS: f"{counted(entry.alarms.trials, 'run')}, each judged when it was the newest",
        TrialKind.SPLIT_RUNS: f"{counted(entry.alarms.trials, 'random split')} of the samples within a run",
    }[audit.kind]
    return (
        f"{first}\n"
        f"{audit.configured}, as configured, would have been wrong in {entry.alarms.count:,} of {done} "
        f"{_bounds(entry.alarms)}; stated: {percent(audit.stated_rate)}"
    )


def _noise(noise: NoiseSources) -> str:
    parts = [f"runs {deviation(noise.runs)}"]
    if noise.processes is not None:
        parts.append(f"processes of a run {deviation(noise.processes)}")
    parts.append(f"samples {deviation(noise.samples)}")
    enough = noise.enough_samples
    advice = (
        "Runs hardly differ: more samples per run help."
        if enough is None
        else f"More than {counted(enough, 'sample')} per run hardly help; more runs, or both sides in one job, do."
    )
    of = f"standard deviations, median of {counted(noise.metrics, 'benchmark')}"
    return f"Where the noise comes from ({of}):\n{', '.join(parts)}.\n{advice}"


def _rates(audit: Audit) -> str:
    header = ("detector", "runs with a false alarm", "metrics with one", "right alarms", "found in 90% of trials")
    rows = [
        (entry.detector, _rate(entry.alarms), _rate(entry.metric_alarms), f"{entry.lasting:,}", _detectable(entry))
        for entry in audit.detectors
    ]
    return "\n".join(columns([header, *rows], right=(3,)))


def _counters(audit: Audit) -> str:
    effects = [effect for effect, _ in audit.counters[0].power]
    header = ("detector", "runs with a false alarm", "counters with one", "stated", "right alarms")
    rows = [
        (
            entry.detector,
            _rate(entry.alarms),
            _rate(entry.metric_alarms),
            f"{percent(entry.stated_rate)} of {'counters' if entry.stated_of_counters else 'runs'}",
            f"{entry.lasting:,}",
            *("-" if share is None else f"{100 * share:.0f}%" for _, share in entry.power),
        )
        for entry in audit.counters
    ]
    heads = (*header, *(f"{percent(effect, signed=True)} found" for effect in effects))
    return "\n".join(columns([heads, *rows], right=range(4, len(heads))))


def _rate(rate: Rate) -> str:
    return f"{rate.count:,} of {rate.trials:,} {_bounds(rate)}"


def _bounds(rate: Rate) -> str:
    # Two digits would write 100 as 1e+02.
    high = f"{100 * rate.high:.2g}" if rate.high < 0.995 else "100"
    return f"({100 * rate.low:.2g} … {high}%)"


def _detectable(entry: DetectorAudit) -> str:
    if entry.detectable_effect is None:
        return "no effect of any size"
    effects = f"{percent_at_least(entry.detectable_effect)} and more"
    if entry.detectable_range is None:
        return effects
    low, high = entry.detectable_range
    return f"{effects} ({percent(low)} … {'any' if high is None else percent(high)})"


def _curves(audit: Audit) -> str:
    header = ("detector", *(percent(effect) for effect in SHOWN_EFFECTS))
    rows = [
        (entry.detector, *(f"{100 * _found(entry, effect):.0f}%" for effect in SHOWN_EFFECTS))
        for entry in audit.detectors
    ]
    return "\n".join(columns([header, *rows], right=range(1, len(header))))


def _found(entry: DetectorAudit, effect: float) -> float:
    """The curve's share at the largest of its effects that is not above `effect`."""
    return max((share for size, share in entry.curve if size <= effect * (1 + 1e-9)), default=0.0)


def _recommendation(audit: Audit) -> str:
    advice = audit.recommendation
    parts = []
    if advice.detector is not None:
        effect = advice.minimum_effect
        parts += [
            f"detector {advice.detector}",
            "no minimum effect helps" if effect is None else f"minimum-effect {percent(effect)}",
        ]
        if advice.false_discovery_rate not in {None, audit.stated_rate}:
            parts.append(f"false-discovery-rate {percent_digits(advice.false_discovery_rate)}")
    if advice.samples is not None:
        parts.append(f"{counted(advice.samples, 'sample')} per run")
    if advice.counter_detector is not None:
        parts.append(f"counter-detector {advice.counter_detector}")
    return f"Recommendation: {', '.join(parts)}\n{_bullets(map(sentence, advice.reasons))}"


def _limits(audit: Audit) -> str:
    entry = next(entry for entry in audit.detectors if entry.detector == audit.recommendation.detector)
    rows = [
        (
            "never found" if limit.effect is None else f"{percent_at_least(limit.effect)} found in every trial",
            f"{plain(limit.key.benchmark)} {plain(limit.key.metric, limit=60)}",
        )
        for limit in entry.limits[:SHOWN_LIMITS]
    ]
    return "\n".join(columns(rows)) if rows else "nothing: all values are zero"


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
