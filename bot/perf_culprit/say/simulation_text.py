"""A simulation: each layer's outputs, the bottleneck, and the best configuration."""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from perf_culprit.model.simulation import (
    Configuration,
    Demanded,
    Estimate,
    Layer,
    OfferedLoad,
    Output,
    Saturation,
    Simulation,
    SimulationReport,
)
from perf_culprit.say.charts import line_chart
from perf_culprit.say.document import (
    Column,
    Document,
    DocumentNode,
    Heading,
    Name,
    Picture,
    Table,
    Text,
    Tone,
    grid,
    join_texts,
    paragraph,
    words,
)
from perf_culprit.say.inert import Safe
from perf_culprit.say.numbers import amount, count_of, percent, percent_at_least, quantities, significant
from perf_culprit.say.render_html import html_of, page
from perf_culprit.say.render_terminal import log_text


def simulation_text(report: SimulationReport) -> str:
    return log_text(*_document(report).nodes)


def simulation_html(report: SimulationReport) -> str:
    """Render a page without outside resources."""
    return page(html_of(_document(report)), title="simulation")


def _document(report: SimulationReport) -> Document:
    nodes = (
        list(_sweep(report))
        if report.swept
        else [node for configuration in report.configurations for node in _single(configuration)]
    )
    if report.saturation:
        nodes.append(paragraph(_saturation_text(report.saturation)))
    if report.demands:
        head = ("component", "resource", "request", "measured demand", "model's", "variance explained")
        nodes.append(grid(head, [*map(_demand_cells, report.demands)], Safe("Demands, in units held for a second")))
    return Document(nodes=tuple(nodes), more_at=Safe("the JSON"))


def _single(configuration: Configuration) -> Iterator[DocumentNode]:
    simulated = configuration.simulation
    yield Heading(text=_title(simulated), tone=Tone.PLAIN)
    yield grid(("layer", "of", "output", "mean", "95% interval"), [*map(_estimate_cells, simulated.estimates)])
    if configuration.scores:
        scores = (f"{significant(score)} up to the {layer} layer" for layer, score in configuration.scores.items())
        yield paragraph(Safe(f"Configuration score: {', '.join(scores)}"))
    for load in simulated.overloaded:
        why = Safe("Its queue grows as long as this lasts; the means depend on the duration.")
        yield paragraph(words("Unstable: {}. {}", _load_text(load), why))
    if not simulated.is_precise and not simulated.overloaded:
        advice = "raise its replications or its duration"
        yield paragraph(Safe(f"The outputs are less precise than the scenario asks: {advice}."))
    if simulated.bottleneck is not None and not simulated.overloaded:
        yield paragraph(words("Bottleneck: {}.", _load_text(simulated.bottleneck)))


def _estimate_cells(estimate: Estimate) -> tuple[Text, ...]:
    output, width = estimate.output, estimate.half_width
    interval = "" if width is None or not estimate.mean else f"± {percent(width / estimate.mean)}"
    (mean,) = quantities((estimate.mean,), output.metric.unit)
    return Safe(output.layer), Name(output.of), Name(output.metric.name), amount(mean), Safe(interval)


def _title(simulated: Simulation) -> Text:
    hours = quantities((simulated.simulated_s / 3600,), "")[0].number
    took = Safe(f"{count_of(simulated.replications, 'replication')} of {hours} h, seed {simulated.seed}")
    return words("{}, scenario {}: {}", Name(simulated.design), Name(simulated.scenario), took)


def _load_text(load: OfferedLoad) -> Text:
    share = Safe(percent(load.share))
    return words("{} of {}, asked for {} of its capacity", Name(load.resource), Name(load.component), share)


def _saturation_text(saturation: Saturation) -> Text:
    low, high = (significant(saturation.rate * factor) for factor in (saturation.stable, saturation.saturated))
    full: Text = Safe("")
    if (load := saturation.bottleneck) is not None:
        full = words("; {} of {} is full", Name(load.resource), Name(load.component))
    times = f"{significant(saturation.stable)} times the scenario's, give or take {percent_at_least(saturation.error)}"
    return words("{}{}.", Safe(f"Saturates between {low} and {high} requests/s ({times})"), full)


_NUMBER: Final = re.compile(r"\s*(\d+(?:\.\d+)?)(.*)")


def _sweep(report: SimulationReport) -> Iterator[DocumentNode]:
    count = Safe(count_of(len(report.configurations), "configuration"))
    yield Heading(text=words("{} of {}", count, _title(report.configurations[0].simulation)), tone=Tone.PLAIN)
    axis = max(
        report.swept,
        key=lambda name: len({_value(configuration, name).text for configuration in report.configurations}),
    )
    if all(_NUMBER.fullmatch(_value(configuration, axis).text) for configuration in report.configurations):
        caption = Safe("Dots are simulated, rings are known from elsewhere (the model's references)")
        charts = partial(_charts, report, axis)
        yield Picture(markdown=Safe(""), html=charts, title=caption if report.references else None)
    layers = _scored_layers(report)
    yield _ranking(report, layers)
    if layers and len(report.swept) > 1:
        yield _best(report, layers)
    for configuration in report.configurations:
        if configuration.simulation.overloaded:
            settings = join_texts(
                ", ", (words("{} {}", Name(name), _value(configuration, name)) for name in report.swept)
            )
            yield paragraph(words("Unstable at {}: {}.", settings, _load_text(configuration.simulation.overloaded[0])))


def _value(configuration: Configuration, name: str) -> Name:
    return Name(configuration.simulation.parameters[name])


def _scored_layers(report: SimulationReport) -> Sequence[Layer]:
    return [layer for layer in Layer if any(layer in configuration.scores for configuration in report.configurations)]


def _ranking(report: SimulationReport, layers: Sequence[Layer]) -> Table:
    """Sort by the score of the lowest layer, best first, or in the sweep's order without scores."""
    ranked = sorted(
        report.configurations,
        key=lambda configuration: list(configuration.scores.values())[-1] if configuration.scores else 0.0,
    )
    outputs = _outputs_to_compare(report)

    def row(configuration: Configuration) -> tuple[Text, ...]:
        means = (_mean(configuration, output) for output in outputs)
        numbers = (
            "" if value is None else significant(value) for value in (*map(configuration.scores.get, layers), *means)
        )
        return *(_value(configuration, name) for name in report.swept), *map(Safe, numbers)

    heads = [Column(name="", of=name) for name in report.swept] + [Column(name=f"{layer} score") for layer in layers]
    heads += [Column(name=f"{output.metric.name}{_unit(output)}", of=output.of) for output in outputs]
    return grid(heads, [*map(row, ranked)])


def _outputs_to_compare(report: SimulationReport) -> list[Output]:
    """Return the scored outputs, or without scores all outputs that differ."""
    scored = {key for configuration in report.configurations for key in configuration.scored}
    outputs = dict.fromkeys(
        each.output for configuration in report.configurations for each in configuration.simulation.estimates
    )
    if scored:
        return [output for output in outputs if output.key in scored]
    return [
        output
        for output in outputs
        if len({_mean(configuration, output) for configuration in report.configurations}) > 1
    ]


def _mean(configuration: Configuration, output: Output) -> float | None:
    return configuration.simulation.mean(output.of, output.metric.name)


def _unit(output: Output) -> str:
    return f" ({output.metric.unit})" if output.metric.unit else ""


def winners(report: SimulationReport) -> list[tuple[str, Layer, Configuration]]:
    """Return the best configuration by each layer, for each value of the first parameter [F11, table 4-8]."""
    groups: dict[str, list[Configuration]] = {}
    for configuration in report.configurations:
        groups.setdefault(_value(configuration, report.swept[0]).text, []).append(configuration)
    return [
        (value, layer, min(group, key=lambda configuration: configuration.scores[layer]))
        for value, group in groups.items()
        for layer in _scored_layers(report)
        if all(layer in configuration.scores for configuration in group)
    ]


def _best(report: SimulationReport, layers: Sequence[Layer]) -> Table:
    name, *others = report.swept
    best = {
        (value, layer): join_texts(" ", (_value(one, key) for key in others)) for value, layer, one in winners(report)
    }
    values = dict.fromkeys(value for value, _ in best)
    rows = [(Name(value), *(best.get((value, layer), Safe("")) for layer in layers)) for value in values]
    title = words("Best {} for each {}", join_texts(", ", map(Name, others)), Name(name))
    return grid((Column(name="", of=name), *(f"best by {layer}" for layer in layers)), rows, title)


def _charts(report: SimulationReport, axis: str) -> Safe:
    charts = (_chart(report, output, axis) for output in _outputs_to_compare(report))
    return Safe("\n".join(['<div class="charts">', *charts, "</div>"]))


def _chart(report: SimulationReport, output: Output, axis: str) -> str:
    lines: dict[str, list[tuple[float, float]]] = {}
    references: dict[str, list[tuple[float, float]]] = {}
    for configuration in report.configurations:
        name = ", ".join(f"{other} {_value(configuration, other).text}" for other in report.swept if other != axis)
        x, _ = _number(_value(configuration, axis).text)
        if (mean := _mean(configuration, output)) is not None:
            lines.setdefault(name, []).append((x, mean))
        references.setdefault(name, []).extend(
            (x, each.value)
            for each in report.references
            if each.output == output.key and each.holds_for(configuration.simulation.parameters)
        )
    _, unit = _number(_value(report.configurations[0], axis).text)
    x_name = f"{axis} ({unit})" if unit else axis
    return line_chart(f"{output.of} {output.metric.name}{_unit(output)}", x_name, lines, references)


def _number(setting: str) -> tuple[float, str]:
    """Return the number and the unit of a setting."""
    match = _NUMBER.fullmatch(setting)
    return (float(match[1]), match[2].strip()) if match else (0.0, "")


def _demand_cells(each: Demanded) -> tuple[Text, ...]:
    width = "" if each.half_width is None else f" ± {significant(each.half_width)}"
    numbers = (f"{significant(each.demand)}{width}", significant(each.modelled), percent(each.explained))
    return Name(each.component), Name(each.resource), Name(each.request), *map(Safe, numbers)
