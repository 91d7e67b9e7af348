"""Read a model file into a `Design`: insert parameters, and check references between its parts."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final

import yaml

from perf_culprit.config.reader import Fault, parse_yaml
from perf_culprit.errors import ConfigError, UsageError
from perf_culprit.files import read_limited
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.work_limits import WORK_LIMITS
from perf_culprit.simulate.design import Design, Message, Scenario, Send

_WHOLE: Final = 1e-6
OF_REQUESTS: Final = ("response time", "throughput")
OF_LINKS: Final = ("utilisation", "cost per message", "cost per hour")
OF_COMPONENTS: Final = (
    "queue length",
    "refused",
    *(f"{resource} utilisation" for resource in ("places", "threads", "cpu", "ram", "disk")),
)


def faults(design: Design) -> Iterator[Fault]:
    """Yield the errors between the layers, in the order of the file."""
    components = design.world_view.components
    yield from _send_faults(design)
    yield from _link_faults(design)
    yield from _layer_faults(design)
    if not design.scenario:
        yield ("scenario",), "holds no scenario", "describe who asks for what"
    for name, scenario in design.scenario.items():
        if not scenario.arrivals:
            yield ("scenario", name), "nothing ever arrives", "describe who asks for what under arrivals"
        yield from _scenario_faults(design, scenario, ("scenario", name))
        yield from _size_faults(design, scenario, ("scenario", name))
    yield from _cycle(design)
    for name in design.sweep:
        yield from _name_faults(name, design.parameters, ("sweep", name), "parameter")
    for name, scenario in design.scenario.items():
        for index, precise in enumerate(scenario.precise):
            at = ("scenario", name, "precise", index)
            yield from _output_faults(design, precise.of, (precise.output,), at)
    for index, scored in enumerate(design.score):
        yield from _output_faults(design, scored.of, (scored.output,), ("score", index))
    for index, reference in enumerate(design.references):
        yield from _output_faults(design, reference.of, tuple(reference.outputs), ("references", index))
    for index, entry in enumerate(design.calibration):
        yield from _name_faults(entry.component, components, ("calibration", index, "component"), "component")


def _send_faults(design: Design) -> Iterator[Fault]:
    components = design.world_view.components
    for name, component in components.items():
        for request, world in component.requests.items():
            at: tuple[str, ...] = ("world-view", "components", name, "requests", request, "sends")
            for index, send in enumerate(world.sends):
                yield from _name_faults(send.to, components, (*at, index, "to"), "component")
                yield from _resend_faults(send, (*at, index))
                if send.count.mean > (most := WORK_LIMITS.simulated_receivers):
                    message = f"goes to {send.count.mean:,.0f} receivers, at most {most:,} are simulated"
                    yield (*at, index, "count"), message, "model groups of them"
            chances = [send.probability for send in world.sends if send.probability < 1]
            if sum(chances) > 1 + _WHOLE:
                yield at, f"probabilities that exclude each other add up to {sum(chances):.0%}", "at most 100%"


def _output_faults(design: Design, of: str, names: tuple[str, ...], loc: tuple[int | str, ...]) -> Iterator[Fault]:
    """Check names of outputs. A wrong name would silently drop its factor from a score; a missing layer is allowed."""
    arrivals = [arrival for scenario in design.scenario.values() for arrival in scenario.arrivals]
    outputs = {
        **dict.fromkeys((kind for arrival in arrivals for kind in arrival.shares), OF_REQUESTS),
        **dict.fromkeys((f"{link.source} → {link.to}" for link in design.world_view.links), OF_LINKS),
        **dict.fromkeys(design.world_view.components, OF_COMPONENTS),
    }
    yield from _name_faults(of, outputs, (*loc, "of"), "request, link or component")
    for name in names:
        yield from _name_faults(name, outputs.get(of, (name,)), loc, f"output of {of} called")


def _name_faults(name: str, names: Iterable[str], loc: tuple[int | str, ...], noun: str) -> Iterator[Fault]:
    if name not in names:
        yield loc, f"there is no {noun} {name!r}", f"use one of: {', '.join(names) or 'none yet'}"


def _resend_faults(message: Message, loc: tuple[int | str, ...]) -> Iterator[Fault]:
    if message.resends and message.timeout is None:
        yield (*loc, "resends"), "without timeout nothing is ever sent again", "give a timeout"


def _link_faults(design: Design) -> Iterator[Fault]:
    for index, link in enumerate(design.world_view.links):
        for end, key in ((link.source, "from"), (link.to, "to")):
            yield from _name_faults(end, design.world_view.components, ("world-view", "links", index, key), "component")
    shares: dict[tuple[str, str], list[float]] = {}
    for link in design.world_view.links:
        shares.setdefault((link.source, link.to), []).append(link.share)
    for index, link in enumerate(design.world_view.links):
        total = sum(shares.pop((link.source, link.to), [1.0]))
        if abs(total - 1) > _WHOLE:
            message = f"the links from {link.source} to {link.to} share out {total:.0%}"
            yield ("world-view", "links", index), message, "let their shares add up to 100%"


def _layer_faults(design: Design) -> Iterator[Fault]:
    components = design.world_view.components
    for name, logic in design.component.items():
        yield from _name_faults(name, components, ("component", name), "component")
        for request, processing in logic.requests.items():
            held = ("component", name, "requests", request, "threads")
            if logic.threads is not None and processing.threads > logic.threads:
                yield from _impossible(held, "threads", processing.threads, logic.threads)
    for name, hardware in design.physical.items():
        yield from _name_faults(name, components, ("physical", name), "component")
        for request, demand in hardware.requests.items():
            for resource in ("cpu", "ram", "disk"):
                at = ("physical", name, "requests", request, resource)
                needed, there = getattr(demand, resource), getattr(hardware, resource)
                if needed and there is None:
                    yield at, f"{name} has no {resource} to be held", f"give {resource} of {name} under physical"
                elif needed and needed > there:
                    yield from _impossible(at, resource, needed, there)


def _impossible(loc: tuple[int | str, ...], resource: str, needed: float, there: float) -> Iterator[Fault]:
    message = f"asks for {needed:g} of {resource} where there are {there:g}: it would wait forever"
    yield loc, message, "ask for less, or give the component more"


def _scenario_faults(design: Design, scenario: Scenario, loc: tuple[int | str, ...]) -> Iterator[Fault]:
    components = design.world_view.components
    for name in scenario.instances:
        yield from _name_faults(name, components, (*loc, "instances", name), "component")
    if not 0 <= scenario.start < scenario.duration:
        yield (*loc, "warm-up"), "the warm-up leaves nothing of the duration", "make it shorter"
    for index, arrival in enumerate(scenario.arrivals):
        at = (*loc, "arrivals", index)
        for end, key in ((arrival.source, "from"), (arrival.to, "to")):
            yield from _name_faults(end, components, (*at, key), "component")
        if (arrival.request is None) == (not arrival.mix):
            yield at, "needs either request or mix", "name what is asked for"
        elif abs(sum(arrival.shares.values()) - 1) > _WHOLE:
            total = sum(arrival.shares.values())
            yield (*at, "mix"), f"its shares add up to {total:.0%}", "let them add up to 100%"
        yield from _resend_faults(arrival, at)
        for request in arrival.shares:
            if arrival.to in components and not _is_handled(design, arrival.to, request):
                yield (
                    (*at, "request" if arrival.request else "mix"),
                    f"{arrival.to} knows no request {request!r}",
                    (f"describe it in a layer of {arrival.to}, or give {arrival.to} a placeholder"),
                )


def _size_faults(design: Design, scenario: Scenario, loc: tuple[int | str, ...]) -> Iterator[Fault]:
    components = design.world_view.components
    requests = sum(
        each.rate * scenario.duration * scenario.instances.get(each.source, components[each.source].instances)
        for each in scenario.arrivals
        if each.source in components
    )
    if requests > WORK_LIMITS.simulated_requests:
        message = f"asks for {requests:,.0f} requests, at most {WORK_LIMITS.simulated_requests:,} are simulated"
        yield (*loc, "duration"), message, "make it shorter; replications make it more precise"


def _is_handled(design: Design, name: str, request: str) -> bool:
    """Whether the component handles the request. A component without any layer only receives."""
    component, logic = design.world_view.components[name], design.component.get(name)
    described = component.requests or logic is not None or name in design.physical
    return (
        not described
        or component.placeholder is not None
        or request in component.requests
        or (logic is not None and request in logic.requests)
    )


def _cycle(design: Design) -> Iterator[Fault]:
    """Find cycles: requests that cause themselves would never end."""
    components = design.world_view.components

    def sends(node: tuple[str, str]) -> tuple[Send, ...]:
        world = components[node[0]].requests.get(node[1]) if node[0] in components else None
        return world.sends if world else ()

    done: set[tuple[str, str]] = set()

    def visit(node: tuple[str, str], path: tuple[tuple[str, str], ...]) -> Iterator[Fault]:
        for index, send in enumerate(sends(node)):
            following = (send.to, send.request)
            at = ("world-view", "components", node[0], "requests", node[1], "sends", index)
            if following in (*path, node):
                circle = " → ".join(f"{name} {request}" for name, request in (*path, node, following))
                yield at, f"a cycle, which never ends: {circle}", "leave one of these messages out"
                return
            if following not in done:
                yield from visit(following, (*path, node))
            if send.to in components and not _is_handled(design, *following):
                yield (
                    (*at, "request"),
                    f"{send.to} knows no request {send.request!r}",
                    f"describe it in a layer of {send.to}",
                )
        done.add(node)

    for name, component in components.items():
        for request in component.requests:
            yield from visit((name, request), ())


_MODEL_PAGE: Final = "docs/simulation.md"
_REFERENCE: Final = re.compile(r"\$\{([^{}]*)\}")


def load_design(path: Path, parameters: Mapping[str, str] | None = None) -> Design:
    data = read_limited(path, FILE_LIMITS.config_bytes, next_step="give the path of a model file", error=ConfigError)
    return parse_design(data, parameters or {}, place=str(path))


def parse_design(data: bytes, parameters: Mapping[str, str], *, place: str) -> Design:
    """Parse the model in `data` with these parameter values; a ConfigError with `place:line` if it is invalid."""
    prepare = partial(_fill, parameters=dict(parameters), place=place)
    return parse_yaml(data, Design, place=place, docs=_MODEL_PAGE, prepare=prepare, check=faults)


def _fill(root: yaml.Node, *, parameters: Mapping[str, str], place: str) -> None:
    """Replace each `${name}` by the parameter's value."""
    if not isinstance(root, yaml.MappingNode):
        return
    parts = {key.value: value for key, value in root.value}
    own = parts.get("parameters")
    defaults = {key.value: value.value for key, value in own.value} if isinstance(own, yaml.MappingNode) else {}
    if unknown := parameters.keys() - defaults.keys():
        raise UsageError(
            f"the model has no parameter {min(unknown)!r}",
            place=place,
            next_step=f"use one of: {', '.join(map(str, defaults)) or 'none; list them under parameters'}",
        )
    values = {**defaults, **parameters}
    for key, value in own.value if isinstance(own, yaml.MappingNode) else ():
        value.value = values[key.value]
    for name, part in parts.items():
        if name not in {"parameters", "sweep"}:
            for node in _scalars(part):
                _substitute(node, values, place)


def _scalars(node: yaml.Node) -> Iterator[yaml.ScalarNode]:
    if isinstance(node, yaml.ScalarNode):
        yield node
    elif isinstance(node, yaml.MappingNode):
        for _, value in node.value:
            yield from _scalars(value)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            yield from _scalars(value)


def _substitute(node: yaml.ScalarNode, values: Mapping[str, object], place: str) -> None:
    def value_of(match: re.Match[str]) -> str:
        if match[1] not in values:
            raise ConfigError(
                f"there is no parameter {match[1][:60]!r}",
                place=f"{place}:{node.start_mark.line + 1}",
                next_step="list it under parameters",
            )
        return str(values[match[1]])

    if _REFERENCE.search(node.value):
        node.value = _REFERENCE.sub(value_of, node.value)
        node.tag = yaml.SafeLoader("").resolve(yaml.ScalarNode, node.value, (True, False))  # type: ignore[no-untyped-call]  # the stubs leave it out
