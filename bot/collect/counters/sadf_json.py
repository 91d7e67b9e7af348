"""`sadf -j`: what sar recorded, as JSON. Versions of sysstat name the keys differently, so any numbers are taken."""

from collections.abc import Iterator

from bot.collect.content import shown
from bot.collect.counters.clock import LOCAL_NOTE, Clock
from bot.collect.counters.reader import counter
from bot.collect.counters.table import Built, Readings
from bot.collect.json_value import JsonValue
from bot.collect.parser import Parsed, components
from bot.collect.source import Source
from bot.model.environment import Environment
from bot.model.metric import Direction, Metric

ID = "sadf_json"
DESCRIPTION = "sar data as JSON (sadf -j)"
EXAMPLE = "sadf -j -- -A > activity.json"

BUSY = frozenset({"user", "usr", "nice", "system", "sys", "iowait", "steal", "irq", "soft"})
# Numbers that name a device, and none that was measured.
NUMBERED = "number"
MAX_DEPTH = 6
MAX_ACTIVITIES = 200


def matches(source: Source, /) -> bool:
    root = source.json_or_none()
    return isinstance(root, dict) and isinstance(root.get("sysstat"), dict) and "hosts" in root["sysstat"]


def parse(source: Source, /) -> Parsed:
    hosts = list(source.root().at("sysstat").at("hosts").elements())
    built: list[Built] = []
    notes: list[str] = []
    for host in hosts:
        prefix = f"{host.peek('nodename')}: " if len(hosts) > 1 else ""
        tables, remarks = _host(host, prefix)
        built += tables
        notes += [f"{source.place}: {remark}" for remark in remarks]
    if not built:
        raise source.root().error("holds no statistics")
    return Parsed(
        counters=tuple(table for table, _ in built),
        environment=_environment(hosts[0]) if len(hosts) == 1 else Environment(),
        notes=(*notes, *dict.fromkeys(note for _, table_notes in built for note in table_notes)),
    )


def _host(host: JsonValue, prefix: str) -> tuple[list[Built], list[str]]:
    """A table per activity: they belong together and share their instants."""
    activities: dict[str, Readings] = {}
    clock = Clock()
    for entry in host.at("statistics").elements():
        if (time_s := _time(entry, clock)) is None:
            continue
        for name, activity in entry.members():
            if name == "timestamp" or (name not in activities and len(activities) == MAX_ACTIVITIES):
                continue
            readings = activities.setdefault(name, Readings(activity.file))
            for path, leaf, number in _leaves(activity, "", MAX_DEPTH):
                readings.add(time_s, _metric(name, path, leaf), number)
    notes = [LOCAL_NOTE] if clock.is_local else []
    restarts = host.peek("restarts")
    if isinstance(restarts, list) and restarts:
        notes.append(f"{shown(str(host.peek('nodename')))} was started {len(restarts)} times; parts of one table")
    return [readings.build(prefix + name) for name, readings in activities.items() if readings], notes


def _time(entry: JsonValue, clock: Clock) -> float | None:
    """None where an entry has no time, as sadf writes for an empty recording."""
    if (timestamp := entry.find("timestamp")) is None or timestamp.find("date") is None:
        return None
    is_utc = timestamp.peek("utc") == 1 or timestamp.peek("tz") == "UTC"
    text = f"{timestamp.at('date').text()} {timestamp.at('time').text()}{' UTC' if is_utc else ''}"
    try:
        return clock(text)
    except (ValueError, OverflowError):
        raise timestamp.error("is no date and time") from None


def _leaves(value: JsonValue, path: str, depth: int) -> Iterator[tuple[str, str, float]]:
    """Every number with its path; elements of lists are told apart by the words in them (a CPU, a device)."""
    if depth == 0:
        return
    if isinstance(value.value, list):
        for index, element in enumerate(value.elements()):
            yield from _leaves(element, f"{path}{_identity(element.value) or index}/", depth - 1)
    elif isinstance(value.value, dict):
        for name, member in value.members():
            if member.is_finite and name != NUMBERED:
                yield path + name, name, member.number()
            elif isinstance(member.value, dict | list):
                yield from _leaves(member, f"{path}{name}/", depth - 1)


def _identity(element: object) -> str:
    if not isinstance(element, dict):
        return ""
    words = [str(element[NUMBERED])[:20]] if NUMBERED in element else []
    return " ".join([*words, *(word for word in element.values() if isinstance(word, str))])


def share_direction(name: str) -> Direction:
    """Of a share of the processors' time: on one machine under one load less work is better."""
    if name in BUSY:
        return Direction.LOWER_IS_BETTER
    return Direction.HIGHER_IS_BETTER if name == "idle" else Direction.UNKNOWN


def _metric(activity: str, path: str, leaf: str) -> Metric:
    is_processor = activity.startswith("cpu-load")
    direction = share_direction(leaf) if is_processor else Direction.UNKNOWN
    unit = "%" if is_processor or leaf.endswith("-percent") or leaf.startswith("percent-") else ""
    return counter(path, unit, direction)


def _environment(host: JsonValue) -> Environment:
    return components(
        host=host.peek("nodename"),
        os=host.peek("sysname"),
        os_release=host.peek("release"),
        architecture=host.peek("machine"),
        cpu_count=host.peek("number-of-cpus"),
    )
