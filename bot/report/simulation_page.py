"""A sweep as a page: a chart for each output beside what is known of it from elsewhere, and the ranked table."""

import re
from collections.abc import Iterator
from html import escape
from typing import Final

from bot.model.simulation import Configuration, Output, SimulationReport
from bot.report.html import page
from bot.report.inert import Safe, plain
from bot.report.line_chart import line_chart
from bot.report.simulation import shown, simulation_text, title

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
