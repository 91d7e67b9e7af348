"""Execution logs with planted slow methods, on which the diagnosis is timed and scored.

    python benchmarks/logs/generator.py FILE [CALLS] [SEED]

The default, 35,906 calls of 6 services and 591 methods, gives the size of the log in [Z15] section 4. It has some 1.6
million lines and 630 MB.
"""

import csv
import json
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CALLS = 35_906
SERVICES = 6
METHODS = 591
KINDS_PER_SERVICE = 40  # trees that a service's parameters lead to
BYTES_PER_LINE = 397
# The mean number.
LINES_PER_CALL = 46
IN_FLIGHT = 12
USUAL_LOG_MS = 2.0  # a usual method takes some 7 ms by itself
PLANTED = {"always": 5, "one service": 5, "contention": 5, "frequent": 5}


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    label: str
    method: int
    parent: int
    repeats: bool


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A system. `planted`: method -> reason of its slowness. `obvious`: methods that a reader of the log would name."""

    names: list[str]
    services: list[str]
    planted: dict[str, str]
    obvious: list[str]
    kinds: list[list[list[Step]]]
    usual_ms: list[float]
    slow_in: dict[int, int]


def plan(seed: int) -> Plan:
    """Draw the system: its calls and their durations."""
    chance = random.Random(seed)
    names = [f"com.acme.{layer}.Class{number % 97:02d}.method{number:03d}" for number in range(METHODS)
             for layer in (("web", "service", "dao", "util")[number % 4],)]  # fmt: skip
    services = [f"placeOrder{number}" for number in range(SERVICES)]
    chosen = chance.sample(range(1, METHODS), sum(PLANTED.values()))
    reasons = [why for why, number in PLANTED.items() for _ in range(number)]
    planted = dict(zip(chosen, reasons, strict=True))
    background = [method for method in range(METHODS) if method not in planted]
    shared = chance.sample(background, len(background) // 3)
    private = [method for method in background if method not in set(shared)]
    slow_in = {method: chance.randrange(SERVICES) for method, why in planted.items() if why == "one service"}
    used_in = {
        method: set(range(SERVICES))
        if why == "always"
        else {slow_in.get(method, 0), *chance.sample(range(SERVICES), 3)}
        for method, why in planted.items()
    }
    kinds = []
    for service in range(SERVICES):
        pool = shared + private[service::SERVICES]
        slow = [method for method, services in used_in.items() if service in services]
        kinds.append([_kind(chance, pool, slow, planted, number) for number in range(KINDS_PER_SERVICE)])
    usual_ms = [chance.lognormvariate(USUAL_LOG_MS, 1.0) for _ in range(METHODS)]
    return Plan(
        names=names,
        services=services,
        planted={names[method]: why for method, why in planted.items()},
        obvious=[names[method] for method, why in planted.items() if why == "always"],
        kinds=kinds,
        usual_ms=usual_ms,
        slow_in=slow_in,
    )


def _kind(chance: random.Random, pool: list[int], slow: list[int], planted: dict[int, str], number: int) -> list[Step]:
    """Draw a tree of some 40 executions that includes a share of the planted methods."""
    methods = chance.sample(pool, 34) + chance.sample(slow, min(len(slow), 5)) + [slow[number % len(slow)]]
    methods = list(dict.fromkeys(methods))
    chance.shuffle(methods)
    steps = [Step(label="1", method=pool[0], parent=-1, repeats=False)]
    children = [0]
    for method in methods:
        parent = chance.choice([i for i, step in enumerate(steps) if step.label.count(".") < 7 and not step.repeats])
        children[parent] += 1
        repeats = planted.get(method) == "frequent"
        steps.append(
            Step(label=f"{steps[parent].label}.{children[parent]}", method=method, parent=parent, repeats=repeats)
        )
        children.append(0)
    return steps


def _self_ms(chance: random.Random, system: Plan, method: int, service: int, *, busy: bool) -> float:
    usual = system.usual_ms[method]
    noise = chance.lognormvariate(0.0, 0.3)
    match system.planted.get(system.names[method]):
        case "always":
            return 900 * noise
        case "one service":
            return (600 if system.slow_in[method] == service else usual) * noise
        case "contention":
            return (1500 if busy and chance.random() < 0.5 else 3 * usual) * noise
        case "frequent":
            return 12 * noise
        case _:
            return usual * noise


def _call(chance: random.Random, system: Plan, number: int) -> Iterator[tuple[str, str, float]]:
    """Yield label, method and elapsed time of each execution, in the order of their starts."""
    service = number % SERVICES
    busy = number // 250 % 4 == 3
    steps = chance.choice(system.kinds[service])
    rows: list[tuple[str, str, float]] = []
    totals = [0.0] * len(steps)
    repeated: dict[int, list[float]] = {}
    for i in range(len(steps) - 1, -1, -1):
        step = steps[i]
        times = [_self_ms(chance, system, step.method, service, busy=busy) for _ in range(6 if step.repeats else 1)]
        repeated[i] = times
        totals[i] += sum(times)
        if step.parent >= 0:
            totals[step.parent] += totals[i]
    for i, step in enumerate(steps):
        if step.repeats:
            base, _, last = step.label.rpartition(".")
            rows += [
                (f"{base}.{int(last) + 1000 * n}", system.names[step.method], t) for n, t in enumerate(repeated[i])
            ]
        else:
            rows.append((step.label, system.names[step.method], totals[i]))
    yield from rows


def write_log(path: Path, *, calls: int = CALLS, seed: int = 0, bytes_per_line: int = BYTES_PER_LINE) -> Plan:
    """Write a log of the preset `labelled`: calls of several threads, interleaved line by line. Lines may be longer."""
    system = plan(seed)
    chance = random.Random(seed + 1)
    padding = "args=" + "".join(chance.choices("abcdefghijklmnop0123456789", k=bytes_per_line))
    started = 0
    clock_ms = 0
    with path.open("w", encoding="ascii") as file:
        threads: list[tuple[int, int, Iterator[tuple[str, str, float]]]] = []
        while started < calls or threads:
            while started < calls and len(threads) < IN_FLIGHT:
                threads.append((started % IN_FLIGHT, started, _call(chance, system, started)))
                started += 1
            slot = chance.randrange(len(threads))
            thread, number, rows = threads[slot]
            for _ in range(chance.randint(1, 6)):
                row = next(rows, None)
                if row is None:
                    threads.pop(slot)
                    break
                clock_ms += 2
                seconds = clock_ms // 1000
                head = (
                    f"2026-03-01 {seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
                    f".{clock_ms % 1000:03d} "
                    f"[exec-{thread}] service={system.services[number % SERVICES]} call=c{number:07x} "
                    f"{row[0]} {row[1]} {row[2]:.3f} ms "
                )
                file.write(f"{head}{padding[: max(0, bytes_per_line - 1 - len(head))]}\n")
    return system


def write_json_lines(path: Path, *, calls: int, seed: int = 0) -> None:
    """Write the same executions as JSON lines, call by call."""
    system = plan(seed)
    chance = random.Random(seed + 1)
    with path.open("w", encoding="ascii") as file:
        for number in range(calls):
            for line, (label, method, elapsed_ms) in enumerate(_call(chance, system, number)):
                record = {
                    "time": 1_772_355_600 + number // 50 + line / 1_000,
                    "thread": f"exec-{number % IN_FLIGHT}",
                    "service": system.services[number % SERVICES],
                    "call": f"c{number:07x}",
                    "label": label,
                    "method": method,
                    "elapsed_ms": round(elapsed_ms, 3),
                }
                file.write(json.dumps(record) + "\n")


# The same executions as spans of a trace per call, in the formats of traces.

SPAN_COLUMNS = "csv:trace=trace,span=span,parent=parent,service=service,name=name,start_us=start_us,duration_us=us"
_AROUND = {
    "otlp": ('{"resourceSpans":[', "]}"),
    "jaeger": ('{"data":[', '],"total":0,"limit":0,"offset":0,"errors":null}'),
    "zipkin": ("[", "]"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    trace: str
    span: str
    parent: str
    service: str
    name: str
    start_us: int
    us: int


def write_spans(path: Path, form: str, *, calls: int, seed: int = 0) -> None:
    """Write spans in the format `form`: otlp, jaeger, zipkin or csv. An execution's layer is its service."""
    system = plan(seed)
    chance = random.Random(seed + 1)
    traces = (_trace(chance, system, number) for number in range(calls))
    with path.open("w", encoding="ascii", newline="") as file:
        if form == "csv":
            table = csv.writer(file)
            table.writerow(Span.__slots__)
            table.writerows([getattr(one, name) for name in Span.__slots__] for spans in traces for one in spans)
            return
        opening, closing = _AROUND[form]
        file.write(opening)
        for number, spans in enumerate(traces):
            file.write("," * (number > 0) + _TRACES[form](spans))
        file.write(closing)


def _trace(chance: random.Random, system: Plan, number: int) -> list[Span]:
    spans: dict[str, Span] = {}
    free_us: dict[str, int] = {}
    for place, (label, method, elapsed_ms) in enumerate(_call(chance, system, number), 1):
        above = label.rpartition(".")[0]
        start_us = free_us.get(above, 1_772_355_600_000_000 + number * 20_000)
        us = max(1, int(elapsed_ms * 1_000))
        free_us[above], free_us[label] = start_us + us, start_us
        spans[label] = Span(
            trace=f"{number * 7919:032x}",
            span=f"{place << 32 | number:016x}",
            parent=spans[above].span if above else "",
            service=method.split(".")[2],
            name=method,
            start_us=start_us,
            us=us,
        )
    return [*spans.values()]


def _otlp(spans: list[Span]) -> str:
    batches = []
    for service in dict.fromkeys(one.service for one in spans):
        own = [
            {
                "traceId": one.trace,
                "spanId": one.span,
                "parentSpanId": one.parent,
                "flags": 257,
                "name": one.name,
                "kind": 1,
                "startTimeUnixNano": str(one.start_us * 1_000),
                "endTimeUnixNano": str((one.start_us + one.us) * 1_000),
                "attributes": [
                    {"key": "thread.id", "value": {"intValue": "17"}},
                    {"key": "code.function.name", "value": {"stringValue": one.name}},
                ],
                "status": {},
            }
            for one in spans
            if one.service == service
        ]
        attributes = [{"key": "service.name", "value": {"stringValue": service}}]
        batches.append({"resource": {"attributes": attributes}, "scopeSpans": [{"scope": {"name": "t"}, "spans": own}]})
    return json.dumps(batches, separators=(",", ":"))[1:-1]


def _jaeger(spans: list[Span]) -> str:
    services = [*dict.fromkeys(one.service for one in spans)]
    records = [
        {
            "traceID": one.trace,
            "spanID": one.span,
            "flags": 1,
            "operationName": one.name,
            "references": [{"refType": "CHILD_OF", "traceID": one.trace, "spanID": one.parent}] if one.parent else [],
            "startTime": one.start_us,
            "duration": one.us,
            "tags": [
                {"key": "thread.id", "type": "int64", "value": 17},
                {"key": "span.kind", "type": "string", "value": "internal"},
            ],
            "logs": [],
            "processID": f"p{services.index(one.service) + 1}",
            "warnings": None,
        }
        for one in spans
    ]
    processes = {f"p{place}": {"serviceName": service, "tags": []} for place, service in enumerate(services, 1)}
    trace = {"traceID": spans[0].trace, "spans": records, "processes": processes, "warnings": None}
    return json.dumps(trace, separators=(",", ":"))


def _zipkin(spans: list[Span]) -> str:
    records = [
        {
            "traceId": one.trace,
            **({"parentId": one.parent} if one.parent else {}),
            "id": one.span,
            "kind": "SERVER",
            "name": one.name,
            "timestamp": one.start_us,
            "duration": one.us,
            "localEndpoint": {"serviceName": one.service, "ipv4": "10.0.0.7"},
            "tags": {"thread.id": "17", "code.function.name": one.name},
        }
        for one in spans
    ]
    return json.dumps(records, separators=(",", ":"))[1:-1]


_TRACES = {"otlp": _otlp, "jaeger": _jaeger, "zipkin": _zipkin}


if __name__ == "__main__":
    write_log(
        Path(sys.argv[1]),
        calls=int(sys.argv[2]) if len(sys.argv) > 2 else CALLS,
        seed=int(sys.argv[3]) if len(sys.argv) > 3 else 0,
    )
