"""A simulation for a terminal: what each layer does, what is full first, which configuration is best."""

import re
from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from perf_culprit.model.simulation import (
    Configuration,
    Demanded,
    Layer,
    OfferedLoad,
    Output,
    Saturation,
    Simulation,
    SimulationReport,
)
from perf_culprit.say.charts import line_chart
from perf_culprit.say.inert import Safe, plain
from perf_culprit.say.numbers import amount_text, counted, percent, percent_at_least, quantities, significant
from perf_culprit.say.render_html import page
from perf_culprit.say.render_terminal import ruled


def simulation_text(report: SimulationReport) -> str:
    blocks = list(_sweep(report)) if report.swept else [line for one in report.configurations for line in _single(one)]
    if report.saturation:
        blocks.append(saturation_line(report.saturation))
    if report.demands:
        blocks.append(_demands(report.demands))
    return "\n\n".join(blocks) + "\n"


def _single(configuration: Configuration) -> Iterator[str]:
    simulated = configuration.simulation
    yield title(simulated)
    rows = []
    for estimate in simulated.estimates:
        quantity = quantities((estimate.mean,), estimate.output.metric.unit)[0]
        width = "" if estimate.half_width is None or not estimate.mean else percent(estimate.half_width / estimate.mean)
        name = plain(estimate.output.of, limit=60)
        rows.append(
            [
                estimate.output.layer.value,
                name,
                estimate.output.metric.name,
                amount_text(quantity),
                width and f"± {width}",
            ]
        )
    yield ruled(["layer", "of", "output", "mean", "95% interval"], rows)
    if configuration.scores:
        yield "Configuration score: " + ", ".join(
            f"{significant(score)} up to the {layer.value} layer" for layer, score in configuration.scores.items()
        )
    yield from warnings(simulated)
    if simulated.bottleneck is not None and not simulated.overloaded:
        yield f"Bottleneck: {loaded(simulated.bottleneck)}."


def title(simulated: Simulation) -> str:
    hours = quantities((simulated.simulated_s / 3600,), "")[0].number
    return (
        f"{plain(simulated.design)}, scenario {plain(simulated.scenario)}: "
        f"{counted(simulated.replications, 'replication')} of {hours} h, seed {simulated.seed}"
    )


def warnings(simulated: Simulation) -> Iterator[str]:
    """What makes the means above mean less than they seem."""
    for load in simulated.overloaded:
        yield f"Unstable: {loaded(load)}. Its queue grows as long as this lasts; the means depend on the duration."
    if not simulated.is_precise and not simulated.overloaded:
        yield "The outputs are less precise than the scenario asks: raise its replications or its duration."


def loaded(load: OfferedLoad) -> str:
    resource, name = plain(load.resource), plain(load.component, limit=60)
    return f"{resource} of {name}, asked for {percent(load.share)} of its capacity"


def saturation_line(saturation: Saturation) -> str:
    low, high = (significant(saturation.rate * factor) for factor in (saturation.stable, saturation.saturated))
    full = (
        f"; {plain(saturation.bottleneck.resource)} of {plain(saturation.bottleneck.component)} is full"
        if saturation.bottleneck
        else ""
    )
    times = f"{significant(saturation.stable)} times the scenario's, give or take {percent_at_least(saturation.error)}"
    return f"Saturates between {low} and {high} requests/s ({times}){full}."


def _sweep(report: SimulationReport) -> Iterator[str]:
    first = report.configurations[0].simulation
    count = counted(len(report.configurations), "configuration")
    yield f"{count} of {title(first)}"
    layers = [layer for layer in Layer if layer in first_scores(report)]
    columns = shown(report)
    head = [*report.swept, *(f"score:\n{layer.value}" for layer in layers)]
    head += [f"{plain(output.of, limit=40)}\n{output.metric.name}\n{_unit(output.metric.unit)}" for output in columns]
    rows = []
    for one in ranked(report):
        values = [one.simulation.mean(output.of, output.metric.name) for output in columns]
        scores = [significant(one.scores[layer]) if layer in one.scores else "" for layer in layers]
        numbers = ["" if value is None else significant(value) for value in values]
        rows.append([*(plain(one.simulation.parameters[name]) for name in report.swept), *scores, *numbers])
    yield ruled(head, rows)
    if layers and len(report.swept) > 1:
        yield _winners(report, layers)
    for one in report.configurations:
        if one.simulation.overloaded:
            yield f"Unstable at {settings(report, one)}: {loaded(one.simulation.overloaded[0])}."


def first_scores(report: SimulationReport) -> Sequence[Layer]:
    return tuple(dict.fromkeys(layer for one in report.configurations for layer in one.scores))


def ranked(report: SimulationReport) -> list[Configuration]:
    """By the score of the lowest layer, the best first; in the sweep's order without one."""
    return sorted(report.configurations, key=lambda one: list(one.scores.values())[-1] if one.scores else 0.0)


def settings(report: SimulationReport, one: Configuration) -> str:
    return ", ".join(f"{name} {plain(one.simulation.parameters[name])}" for name in report.swept)


def winners(report: SimulationReport) -> list[tuple[str, Layer, Configuration]]:
    """For each value of the first parameter the best configuration by each layer [F11, table 4-8]."""
    groups: dict[str, list[Configuration]] = {}
    for one in report.configurations:
        groups.setdefault(one.simulation.parameters[report.swept[0]], []).append(one)
    return [
        (value, layer, min(group, key=lambda one: one.scores[layer]))
        for value, group in groups.items()
        for layer in first_scores(report)
        if all(layer in one.scores for one in group)
    ]


def _winners(report: SimulationReport, layers: Sequence[Layer]) -> str:
    name, *others = report.swept
    best = {
        (value, layer): " ".join(plain(one.simulation.parameters[key]) for key in others)
        for value, layer, one in winners(report)
    }
    values = dict.fromkeys(value for value, _ in best)
    rows = [[plain(value), *(best.get((value, layer), "") for layer in layers)] for value in values]
    head = [name, *(f"best by {layer.value}" for layer in layers)]
    return f"Best {', '.join(others)} for each {name}:\n{ruled(head, rows)}"


def _demands(demands: Sequence[Demanded]) -> str:
    rows = [
        [
            plain(each.component, limit=60),
            each.resource,
            plain(each.request, limit=60),
            significant(each.demand) + ("" if each.half_width is None else f" ± {significant(each.half_width)}"),
            significant(each.modelled),
            percent(each.explained),
        ]
        for each in demands
    ]
    head = ["component", "resource", "request", "measured demand", "model's", "variance explained"]
    return "Demands, in units held for a second:\n" + ruled(head, rows)


def shown(report: SimulationReport) -> list[Output]:
    """What the scores are made of; without a score whatever differs."""
    scored = {key for one in report.configurations for key in one.scored}
    outputs = dict.fromkeys(each.output for one in report.configurations for each in one.simulation.estimates)
    return [output for output in outputs if (output.key in scored if scored else differs(report, output))]


def differs(report: SimulationReport, output: Output) -> bool:
    return len({one.simulation.mean(output.of, output.metric.name) for one in report.configurations}) > 1


def _unit(unit: str) -> str:
    return f"({unit})" if unit else ""


_NUMBER: Final = re.compile(r"\s*(\d+(?:\.\d+)?)(.*)")


def simulation_html(report: SimulationReport) -> str:
    """Without outside resources."""
    parts = [f"<h1>{escape(title(report.configurations[0].simulation))}</h1>"] if report.configurations else []
    if report.swept:
        parts += _charts(report)
    parts.append(f"<pre>{escape(simulation_text(report))}</pre>")
    return page(Safe("\n".join(parts)), title="simulation")


def _charts(report: SimulationReport) -> Iterator[str]:
    axis = max(report.swept, key=lambda name: len({_setting(one, name) for one in report.configurations}))
    others = [name for name in report.swept if name != axis]
    if any(_NUMBER.fullmatch(_setting(one, axis)) is None for one in report.configurations):
        return
    if report.references:
        yield "<p>Dots are simulated, rings are known from elsewhere (the model's references).</p>"
    yield '<div class="charts">'
    for output in shown(report):
        yield _chart(report, output, axis, others)
    yield "</div>"


def _chart(report: SimulationReport, output: Output, axis: str, others: list[str]) -> str:
    lines: dict[str, list[tuple[float, float]]] = {}
    references: dict[str, list[tuple[float, float]]] = {}
    for one in report.configurations:
        name = ", ".join(f"{other} {_setting(one, other)}" for other in others)
        x = _value(_setting(one, axis))
        mean = one.simulation.mean(output.of, output.metric.name)
        if mean is not None:
            lines.setdefault(name, []).append((x, mean))
        references.setdefault(name, []).extend(
            (x, each.value)
            for each in report.references
            if each.output == output.key and each.holds_for(one.simulation.parameters)
        )
    unit = f" ({output.metric.unit})" if output.metric.unit else ""
    example = _NUMBER.fullmatch(_setting(report.configurations[0], axis))
    x_unit = f" ({example[2].strip()})" if example and example[2].strip() else ""
    return line_chart(f"{output.of} {output.metric.name}{unit}", f"{axis}{x_unit}", lines, references)


def _setting(one: Configuration, name: str) -> str:
    return plain(one.simulation.parameters[name])


def _value(text: str) -> float:
    match = _NUMBER.fullmatch(text)
    return float(match[1]) if match else 0.0
