"""An audit and the forecast of a measurement, for a terminal and as JSON."""

import json
from collections.abc import Collection, Iterator, Sequence
from typing import Final

import msgspec

from perf_culprit.model.accuracy import (
    LARGEST_PLANTED,
    USUAL_CHANGE,
    Audit,
    Foresight,
    NoiseSources,
    Qualification,
    Rate,
    Seen,
    TrialKind,
    enough_samples,
)
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.say.document import (
    Bullets,
    Column,
    DocumentNode,
    Name,
    Shown,
    Table,
    TableRow,
    Text,
    grid,
    paragraph,
    table,
    words,
)
from perf_culprit.say.finding_tables import metric_name
from perf_culprit.say.inert import Safe
from perf_culprit.say.numbers import count_of, format_deviation, lasted, percent, percent_at_least
from perf_culprit.say.reason_text import sentence, worded
from perf_culprit.say.render_terminal import log_text


def foresight_text(foresight: Foresight) -> str:
    """Return two lines, or three if executions and their samples could be distinguished."""
    lines = [_noise_text(foresight)]
    if foresight.typical is not None:
        lines.append(Safe(_needed_text(foresight)))
    if foresight.executions is not None and foresight.samples is not None:
        lines.append(Safe(_sources(foresight, foresight.executions, foresight.samples)))
    return log_text(paragraph(*lines))


def _noise_text(foresight: Foresight) -> Text:
    rounds = count_of(foresight.rounds, "round")
    if foresight.typical is None or foresight.largest is None:
        metrics = count_of(foresight.metrics, "metric")
        return Safe(f"{rounds} can prove no change in {metrics}, however large: --rounds {foresight.least} can")
    typical, largest = map(percent_at_least, (foresight.typical, foresight.largest))
    which: Text = Safe(f"a change of {largest}")
    if foresight.metrics > 1:
        median = Safe(f"{typical} in the median of {foresight.metrics:,} metrics, {largest} in the noisiest")
        which = words("{} ({})", median, Name(foresight.noisiest.benchmark))
    return words("by the noise of the earlier measurement, {} would show {} (power 90%)", Safe(rounds), which)


def _needed_text(foresight: Foresight) -> str:
    which = f"the minimum effect of {percent(foresight.effect)}" + (" in the noisiest" if foresight.metrics > 1 else "")
    if foresight.needed is None:
        return f"{which} is hidden by the noise, whatever the rounds: use a quieter machine"
    return f"{which} takes --rounds {foresight.needed}"


def _sources(foresight: Foresight, executions: float, samples: float) -> str:
    of_executions, of_samples = format_deviation(executions), format_deviation(samples)
    noise = f"standard deviations: executions {of_executions}, samples of one execution {of_samples}"
    samples_text = count_of(foresight.per_execution, "sample")
    enough = enough_samples(samples, of=executions)
    if enough is not None and enough <= foresight.per_execution:
        return f"{noise}; {samples_text} per execution are enough, more rounds help"
    return f"{noise}; {samples_text} per execution are few, {'more' if enough is None else f'up to {enough:,}'} help"


_FORMAT = "perf-culprit-audit"
_VERSION = 2


def render_audit(audit: Audit) -> str:
    return log_text(*_nodes(audit), more_at="the JSON")


def _nodes(audit: Audit) -> Iterator[DocumentNode]:
    yield paragraph(*_headline(audit))
    if audit.detectors:
        yield _rates(audit)
    if audit.counters:
        yield _counters(audit)
    if audit.sweep:
        yield _sweep(audit)
    if audit.labelled:
        yield _label_table(audit)
    yield paragraph(Safe(f"Recommendation: {_advice(audit)}"))
    reasons = audit.recommendation.reasons
    yield Bullets(items=[*map(worded, reasons)], total=len(reasons))
    if audit.detectors:
        yield _limits(audit)
    if audit.noise is not None:
        yield paragraph(*map(Safe, _noise(audit.noise)))
    notes = [*map(worded, audit.notes)]
    if notes:
        yield Bullets(items=notes, total=len(notes), title=Safe("Notes"))


def audit_json(audit: Audit) -> bytes:
    """Encode the audit. Rates and effects are fractions; null is an effect that was never found."""
    held = msgspec.to_builtins(audit, enc_hook=lambda reason: reason.to_json(sentence))
    data = {"format": _FORMAT, "version": _VERSION, **held, "notes": [*map(sentence, audit.notes)]}
    data["recommendation"]["reasons"] = [*map(sentence, audit.recommendation.reasons)]
    for counters in data["counters"]:
        counters["found"] = counters.pop("power")
    return (json.dumps(data, indent=1, ensure_ascii=False) + "\n").encode()


def _headline(audit: Audit) -> Iterator[Text]:
    read = f"{count_of(audit.runs, 'run')}, {count_of(audit.metrics, 'metric')}"
    samples = f"{count_of(audit.samples_per_run, 'sample')} per run"
    yield words("Audit of suite {}: {}", Name(audit.suite), Safe(f"{read}, {samples}"))
    entry = next((detector for detector in audit.detectors if detector.detector == audit.configured), None)
    if entry is not None:
        done = {
            TrialKind.STORED_RUNS: f"{count_of(entry.alarms.trials, 'run')}, each judged when it was the newest",
            TrialKind.SPLIT_RUNS: f"{count_of(entry.alarms.trials, 'random split')} of the samples within a run",
        }[audit.kind]
        wrong = f"would have been wrong in {entry.alarms.count:,} of {done} {_bounds(entry.alarms)}"
        yield Safe(f"{audit.configured}, as configured, {wrong}; stated: {percent(audit.stated[0])}")


def _noise(noise: NoiseSources) -> Iterator[str]:
    yield f"Where the noise comes from (standard deviations, median of {count_of(noise.metrics, 'benchmark')}):"
    processes = "" if noise.processes is None else f"processes of a run {format_deviation(noise.processes)}, "
    yield f"runs {format_deviation(noise.runs)}, {processes}samples {format_deviation(noise.samples)}."
    if noise.enough_samples is None:
        yield "Runs hardly differ: more samples per run help."
    else:
        enough = count_of(noise.enough_samples, "sample")
        yield f"More than {enough} per run hardly help; more runs, or both sides in one job, do."


def _rates(audit: Audit) -> Table:
    """Return the table of rates, with the recommended detector marked."""
    sizes = max((detector.power for detector in audit.detectors), key=len)
    effects = [percent(size.effect, signed=True) for size in sizes]
    head = ("detector", "runs with a false proof", "with a false suspicion", "right alarms", *effects)
    rows = [
        (
            f"{'→ ' if detector.detector == audit.recommendation.detector else ''}{detector.detector}",
            _rate(detector.alarms),
            _rate(detector.suspicions),
            f"{detector.lasting:,}",
            *(
                [f"{100 * power.proven:.0f}/{100 * power.suspected:.0f}%" for power in detector.power]
                or ["-"] * len(effects)
            ),
        )
        for detector in audit.detectors
    ]
    title = f"False alarms, and planted slowdowns proven/suspected of {audit.planted} each; → is recommended"
    return _table(title, head, rows, right=range(3, len(head)))


def _table(title: str, head: Sequence[str], rows: Sequence[tuple[str, ...]], *, right: Collection[int]) -> Table:
    """Return a table of our own words only."""
    columns = (Column(name=name, right=place in right) for place, name in enumerate(head))
    return grid(columns, [tuple(map(Safe, row)) for row in rows], Safe(title))


def _counters(audit: Audit) -> Table:
    effects = (f"{percent(effect, signed=True)} found" for effect, _ in audit.counters[0].power)
    head = ("detector", "runs with a false alarm", "counters with one", "stated", "right alarms", *effects)
    rows = [
        (
            counter.detector,
            _rate(counter.alarms),
            _rate(counter.metric_alarms),
            f"{percent(counter.stated_rate)} of {'counters' if counter.stated_of_counters else 'runs'}",
            f"{counter.lasting:,}",
            *("-" if share is None else f"{100 * share:.0f}%" for _, share in counter.power),
        )
        for counter in audit.counters
    ]
    return _table("Counters", head, rows, right=range(4, len(head)))


def _sweep(audit: Audit) -> Table:
    effects = dict.fromkeys(point.effect for point in audit.sweep)
    rows: dict[float | None, list[str]] = {}
    for point in audit.sweep:
        precision = "-" if point.precision is None else percent(point.precision)
        rows.setdefault(point.threshold, []).append(f"{precision}/{percent(point.recall)}")
    head = ("violation-threshold", *(percent(effect, signed=True) for effect in effects))
    title = "Control charts by threshold: precision/recall where a tenth of the counters is larger"
    cells = [("not set" if one is None else percent(one), *shares) for one, shares in rows.items()]
    return _table(title, head, cells, right=range(1, len(head)))


_LABELLED: Final = ("detector", "threshold", "precision", "recall", "F")


def _label_table(audit: Audit) -> Table:
    rows = [
        (
            one.detector,
            "not set" if one.threshold is None else f"{one.threshold:g}",
            *("-" if share is None else percent(share) for share in (one.precision, one.recall, one.f)),
        )
        for one in audit.labelled
    ]
    return _table("Your good and bad runs, by threshold", _LABELLED, rows, right=range(1, len(_LABELLED)))


def _rate(rate: Rate) -> str:
    return f"{rate.count:,} of {rate.trials:,} {_bounds(rate)}"


def _bounds(rate: Rate) -> str:
    # Two digits would write 100 as 1e+02.
    high = f"{100 * rate.high:.2g}" if rate.high < 0.995 else "100"
    return f"({100 * rate.low:.2g} … {high}%)"


def _advice(audit: Audit) -> str:
    advice = audit.recommendation
    parts = []
    if advice.detector is not None:
        effect = advice.minimum_effect
        parts += [
            f"detector {advice.detector}",
            "no minimum effect helps" if effect is None else f"minimum-effect {percent(effect)}",
        ]
    if advice.profile is not None:
        parts.append(f"profile {advice.profile}")
    if advice.counter_detector is not None:
        parts.append(f"counter-detector {advice.counter_detector}")
    return ", ".join(parts)


def _limits(audit: Audit) -> Bullets:
    entry = next(detector for detector in audit.detectors if detector.detector == audit.recommendation.detector)
    items: list[Text] = [
        words("{}: {}", metric_name(limit.key, with_metric=True), Safe(_limit(limit.effect)))
        for limit in entry.limits[: TEXT_LIMITS.audited_limits]
    ]
    items = items or [Safe("nothing: no metric is without a finding")]
    return Bullets(items=items, total=len(items), title=Safe(f"Hardest to judge by {entry.detector}"))


def _limit(effect: float | None) -> str:
    return "not even four times as much" if effect is None else f"{percent_at_least(effect)} or more"


_FORMS: Final = (
    Column(name="measured in turn"),
    Column(name="minutes", right=True),
    Column(name="suspects, 9 times in 10", right=True),
    Column(name="in the noisiest", right=True),
)
WOULD_HELP: Final = (
    "What would: a benchmark that runs longer, counts (`--metric instructions`) where only the code matters, "
    "parts on several machines (`--part`), or a quieter machine."
)


def qualification_text(answer: Qualification) -> str:
    nodes: list[DocumentNode] = [paragraph(*_cost(answer))]
    if answer.seen:
        nodes.append(table(_FORMS, answer.seen, _form, shown=Shown.TABLE))
    nodes.append(paragraph(*map(Safe, _promises(answer))))
    return log_text(*nodes)


def machines_text(noise: NoiseSources, *, machines: int) -> str:
    within = noise.samples if noise.processes is None else noise.processes
    return (
        f"{count_of(machines, 'machine')} differ by {format_deviation(noise.runs)}, "
        f"executions of one by {format_deviation(within)} "
        f"(standard deviations, median of {count_of(noise.metrics, 'benchmark')})."
    )


def _cost(answer: Qualification) -> Iterator[Text]:
    build = f", and a build {lasted(answer.build_s)}" if answer.build_s >= 1 else ""
    yield Safe(f"One execution takes {lasted(answer.execution_s)}{build}.")
    key, largest = answer.noisiest
    noise = Safe(f"Executions differ by {format_deviation(answer.noise)}")
    if answer.metrics > 1:
        yield words("{}, those of {} by {}.", noise, Name(key.benchmark), Safe(format_deviation(largest)))
    else:
        yield words("{}.", noise)


def _form(form: Seen) -> TableRow:
    beyond = f"more than +{percent(LARGEST_PLANTED)}"
    typical, noisiest = (
        beyond if change is None else f"+{percent(change)}" for change in (form.typical, form.noisiest)
    )
    return TableRow((Safe(count_of(form.rounds, "round")), Safe(f"{form.minutes:.1f}"), Safe(typical), Safe(noisiest)))


def _promises(answer: Qualification) -> Iterator[str]:
    if answer.unchanged is None:
        yield (
            f"{answer.minutes:g} minutes hold {count_of(answer.rounds, 'round')}. The first verdict comes after "
            f"{answer.first}, in {answer.first_minutes:.1f} minutes."
        )
    else:
        trials = answer.unchanged
        yield (
            f"Unchanged against unchanged: {trials.warned} of {trials.trials} warned. With +{percent(trials.planted)}: "
            f"{trials.detected} of {trials.trials} found."
        )
        yield "Planting multiplies the real numbers of one benchmark. All else was measured, on this machine alone."
    if not answer.sees_usual:
        yield f"This machine cannot see +{percent(USUAL_CHANGE)} in {answer.minutes:g} minutes. {WOULD_HELP}"
