"""One set of aggregated stacks, written in every format that holds them, gives one order of suspects."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

from perf_culprit.explain.compare_trees import compare_profiles
from perf_culprit.model.notable_calls import shown_suspects
from perf_culprit.read.profiles.profile_reading import read_profiles

PERIOD_MS = 5.0
RUNS = 5
# Function, file below the worktree, and line. `get` and `close` are in two files each.
Place = tuple[str, str, int]
MAIN: Place = ("main", "index.js", 1)
PARSE: Place = ("parse", "lib/parse.js", 9)
RENDER: Place = ("render", "lib/render.js", 4)
PARSE_GET: Place = ("get", "lib/parse.js", 40)
RENDER_GET: Place = ("get", "lib/render.js", 50)
OFFSET: Place = ("offset", "lib/parse.js", 70)
CLOSE: Place = ("close", "index.js", 30)
LIB_CLOSE: Place = ("close", "lib/index.js", 3)
# `parse.get` takes three times as long, and `render` begins to call `offset`.
BEFORE = {
    (MAIN,): 60,
    (MAIN, PARSE): 300,
    (MAIN, PARSE, PARSE_GET): 200,
    (MAIN, PARSE, PARSE_GET, OFFSET): 80,
    (MAIN, RENDER): 400,
    (MAIN, RENDER, RENDER_GET): 250,
    (MAIN, CLOSE): 120,
    (MAIN, CLOSE, LIB_CLOSE): 140,
}
AFTER = BEFORE | {(MAIN, PARSE, PARSE_GET): 600, (MAIN, RENDER, OFFSET): 300}
Stacks = Mapping[tuple[Place, ...], int]
RIGHT = ["get", "render"]


def drawn(stacks: Stacks, run: int, folder: str) -> dict[tuple[Place, ...], int]:
    """Poisson's counts, with the files of one worktree."""
    rng = np.random.default_rng([run, len(folder)])
    return {
        tuple((name, f"{folder}/{file}", line) for name, file, line in stack): int(rng.poisson(count))
        for stack, count in stacks.items()
    }


def unit(file: str) -> str:
    """A unit of compilation, for formats that name no file."""
    return "_".join(Path(file).with_suffix("").parts[3:])


def with_place(one: Place) -> str:
    return f"{one[0]} ({one[1]}:{one[2]})"


def collapsed(stacks: Stacks) -> bytes:
    return "".join(f"{';'.join(map(with_place, stack))} {count}\n" for stack, count in stacks.items()).encode()


def _speedscope(stacks: Stacks, unit: str, weight: float) -> bytes:
    frames = sorted({one for stack in stacks for one in stack})
    places = [{"name": name, "file": file, "line": line} for name, file, line in frames]
    profile = {
        "type": "sampled",
        "name": "program",
        "unit": unit,
        "samples": [[frames.index(one) for one in stack] for stack, count in stacks.items() for _ in range(count)],
        "weights": [weight] * sum(stacks.values()),
    }
    document = {"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": places}}
    return json.dumps({**document, "profiles": [profile]}).encode()


def speedscope_counts(stacks: Stacks) -> bytes:
    return _speedscope(stacks, "none", 1)


def speedscope_seconds(stacks: Stacks) -> bytes:
    return _speedscope(stacks, "seconds", PERIOD_MS / 1e3)


def perf_script(stacks: Stacks) -> bytes:
    lines = []
    for stack, count in stacks.items():
        frames = "".join(f"\t{line:x} {name}_in_{unit(file)} ({file})\n" for name, file, line in reversed(stack))
        lines += [f"program 71 12.{i:06}: 1 cpu-clock: \n{frames}\n" for i in range(count)]
    return "".join(lines).encode()


def jfr(stacks: Stacks) -> bytes:
    def event(stack: tuple[Place, ...]) -> object:
        frames = [{"method": {"type": {"name": unit(file)}, "name": name}} for name, file, _ in reversed(stack)]
        return {"type": "jdk.ExecutionSample", "values": {"stackTrace": {"truncated": False, "frames": frames}}}

    events = [event(stack) for stack, count in stacks.items() for _ in range(count)]
    return json.dumps({"recording": {"events": events}}).encode()


def cpuprofile(stacks: Stacks) -> bytes:
    nodes: dict[tuple[Place, ...], dict[str, object]] = {}
    children = defaultdict[tuple[Place, ...], list[int]](list)
    paths = sorted({stack[:end] for stack in stacks for end in range(len(stack) + 1)}, key=len)
    for number, path in enumerate(paths, 1):
        name, file, line = path[-1] if path else ("(root)", "", 0)
        call = {"functionName": name, "url": file, "lineNumber": line - 1, "columnNumber": 0, "scriptId": "1"}
        nodes[path] = {"id": number, "callFrame": call, "hitCount": stacks.get(path, 0)}
        if path:
            children[path[:-1]].append(number)
    return json.dumps({"nodes": [node | {"children": children[path]} for path, node in nodes.items()]}).encode()


def nested(stacks: Stacks) -> dict[tuple[Place, ...], float]:
    """Each path's milliseconds with callees."""
    whole = defaultdict[tuple[Place, ...], float](float)
    for stack, count in stacks.items():
        for end in range(1, len(stack) + 1):
            whole[stack[:end]] += count * PERIOD_MS
    return whole


def pyinstrument(stacks: Stacks) -> bytes:
    whole = nested(stacks)

    def frame(path: tuple[Place, ...]) -> object:
        name, file, line = path[-1]
        below = [frame(one) for one in whole if one[:-1] == path]
        time = whole[path] / 1e3
        return {"function": name, "file_path": file, "line_no": line, "time": time, "children": below}

    return json.dumps({"root_frame": frame((main_of(stacks),)), "sample_count": sum(stacks.values())}).encode()


def main_of(stacks: Stacks) -> Place:
    return next(iter(stacks))[0]


def chrome(stacks: Stacks) -> bytes:
    whole = nested(stacks)

    def events(path: tuple[Place, ...], start: float) -> Iterator[object]:
        at = {"pid": 1, "tid": 1, "ph": "X", "cat": "FEE"}
        yield at | {"name": with_place(path[-1]), "ts": 1e3 * start, "dur": 1e3 * whole[path]}
        for one in whole:
            if one[:-1] == path:
                yield from events(one, start)
                start += whole[one]

    return json.dumps({"traceEvents": [*events((main_of(stacks),), 0.0)]}).encode()


def _field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    return bytes([value & 127 | 128]) + _varint(value >> 7) if value > 127 else bytes([value])


def pprof(stacks: Stacks) -> bytes:
    places = sorted({one for stack in stacks for one in stack})
    texts = ["", "samples", "count", *sorted({text for name, file, _ in places for text in (name, file)})]
    parts = [_field(1, _field(1, 1) + _field(2, 2))]
    for stack, count in stacks.items():
        locations = b"".join(_field(1, 1 + places.index(one)) for one in reversed(stack))
        parts.append(_field(2, locations + _field(2, count)))
    for number, (name, file, line) in enumerate(places, 1):
        parts.append(_field(4, _field(1, number) + _field(4, _field(1, number) + _field(2, line))))
        named = _field(2, texts.index(name)) + _field(4, texts.index(file)) + _field(5, line)
        parts.append(_field(5, _field(1, number) + named))
    return b"".join([*parts, *(_field(6, text.encode()) for text in texts)])


WRITERS: dict[str, Callable[[Stacks], bytes]] = {
    "collapsed.txt": collapsed,
    "counts.speedscope.json": speedscope_counts,
    "seconds.speedscope.json": speedscope_seconds,
    "stacks.perf": perf_script,
    "jfr.json": jfr,
    "v8.cpuprofile": cpuprofile,
    "pyinstrument.json": pyinstrument,
    "chrome.json": chrome,
    "cpu.pprof": pprof,
}


@pytest.mark.parametrize("name", WRITERS)
def test_the_order_does_not_depend_on_the_format(tmp_path: Path, name: str) -> None:
    sides = []
    for folder, stacks in (("/w/001-aaaa", BEFORE), ("/w/002-bbbbbb", AFTER)):
        files = [tmp_path / f"{len(folder)}-{run}-{name}" for run in range(RUNS)]
        for run, file in enumerate(files):
            file.write_bytes(WRITERS[name](drawn(stacks, run, folder)))
        sides.append(read_profiles([*map(str, files)]).profiles)
    comparison = compare_profiles(*sides)
    suspects = [one.method for one in shown_suspects(comparison)]
    assert [next(word for word in RIGHT if word in one) for one in suspects[:2]] == RIGHT
    (service,) = comparison.services
    # A worktree's files are the same files: nothing but the new call is on one side alone.
    alone = {node.method for node in service.nodes if node.baseline is None or node.target is None}
    assert all("offset" in one for one in alone), alone
