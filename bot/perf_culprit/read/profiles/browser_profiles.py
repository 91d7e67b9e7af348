"""Sampled profiles of JavaScript engines: V8's CPU profiles, and those of the Firefox Profiler (Firefox, samply)."""

import re
from typing import Final

import msgspec

from perf_culprit.errors import DataError
from perf_culprit.model.call_tree import Profile, RecordFault
from perf_culprit.read.profiles.json_elements import UNDECODABLE, decode, each
from perf_culprit.read.profiles.profile_file import ProfileFile, ProfileReader
from perf_culprit.read.profiles.profile_tree import SAMPLES, Frame, ProfileTree, frame, group_name
from perf_culprit.read.profiles.source_maps import Bundle, bundle_of

# The process waits here, so no code can become slower.
_CPUPROFILE_IDLE: Final = "(idle)"
_ROOT: Final = "(root)"


class _CallFrame(msgspec.Struct, rename="camel"):
    function_name: str = ""
    url: str = ""
    line_number: int = -1
    column_number: int = -1


class _CpuprofileNode(msgspec.Struct, rename="camel"):
    id: int
    call_frame: _CallFrame
    hit_count: int = 0
    children: list[int] = []


class _CpuprofileDocument(msgspec.Struct):
    nodes: list[msgspec.Raw]


def _read_cpuprofile(file: ProfileFile) -> tuple[Profile, ...]:
    """Read V8's CPU profile (`node --cpu-prof`, Chromium's performance panel): a tree of functions with hits."""
    step = "check that the process ended by itself"
    raws = decode(file, _CpuprofileDocument, what="CPU profile", next_step=step).nodes
    nodes: dict[int, _CpuprofileNode] = {}
    for at, node in each(raws, _CpuprofileNode, file=file, what="node"):
        name = node.call_frame.function_name
        if node.hit_count < 0:
            file.reject(RecordFault.NUMBER, name, at=at)
        elif node.id in nodes:
            file.reject(RecordFault.REPEATED, name, at=at)
        else:
            nodes[node.id] = node
    return (_cpuprofile_tree(nodes, file).profile(unit=SAMPLES, counted=False),)


def _cpuprofile_tree(nodes: dict[int, _CpuprofileNode], file: ProfileFile) -> ProfileTree:
    tree = ProfileTree()
    called = {child for node in nodes.values() for child in node.children}
    reached: set[int] = set()
    bundles = {url: bundle_of(url) for url in sorted({node.call_frame.url for node in nodes.values()})}
    stack: list[tuple[int, tuple[Frame, ...]]] = [(number, ()) for number in nodes if number not in called]
    while stack:
        number, above = stack.pop()
        node = nodes.get(number)
        if node is None or number in reached:
            file.reject(RecordFault.CYCLE if node else RecordFault.LOST_PARENT, number)
            continue
        reached.add(number)
        name = node.call_frame.function_name
        path = above if name == _ROOT else (*above, _cpuprofile_frame(node.call_frame, bundles[node.call_frame.url]))
        if node.hit_count and name != _CPUPROFILE_IDLE and not tree.add_stack(path, node.hit_count):
            file.reject(RecordFault.TOO_DEEP, name)
        stack += [(child, path) for child in node.children]
    return tree


def _cpuprofile_frame(call: _CallFrame, bundle: Bundle | None) -> Frame:
    if bundle and (source := bundle.source(call.function_name, call.line_number, call.column_number)):
        name, file, line = source
        return frame(name or "(anonymous)", file, line)
    name = call.function_name or "(anonymous)"
    # Lines count from 0.
    return frame(name, call.url or None, call.line_number + 1 if call.line_number >= 0 else None)


CPUPROFILE = ProfileReader(
    id="cpuprofile",
    matches=lambda file: file.begins("{", '"nodes"', '"callFrame"'),
    read=_read_cpuprofile,
)


# samply resolves names when it shows a profile, not when it writes it.
SYMBOLS: Final = (
    "open it with `samply load`, and save it there with the symbols (upload, download); or record with perf record -g, "
    "then perf script > stacks.txt"
)
_ADDRESS: Final = re.compile(r"0x[0-9a-f]+")
ADDRESS_SHARE: Final = 0.5


class _Stacks(msgspec.Struct, frozen=True):
    frame: list[int] = []
    prefix: list[int | None] = []


class _Frames(msgspec.Struct, frozen=True):
    func: list[int] = []


class _Functions(msgspec.Struct, frozen=True, rename="camel"):
    name: list[int] = []
    file_name: list[int | None] = []


class _Samples(msgspec.Struct, frozen=True, rename="camel"):
    stack: list[int | None] = []
    weight: list[float] | None = None
    weight_type: str = SAMPLES


class _Tables(msgspec.Struct, frozen=True, rename="camel"):
    stack_table: _Stacks = _Stacks()
    frame_table: _Frames = _Frames()
    func_table: _Functions = _Functions()
    string_array: list[str] = []


class _FirefoxThread(_Tables, frozen=True, rename="camel"):
    samples: _Samples = _Samples()
    name: str = ""
    process_name: str = ""


class _FirefoxDocument(msgspec.Struct):
    """A processed profile: docs-developer/processed-profile-format.md of firefox-devtools/profiler.

    Newer versions keep the strings and tables that threads share in `shared`.
    """

    threads: list[msgspec.Raw]
    shared: _Tables = _Tables()


_THREAD: Final = msgspec.json.Decoder(_FirefoxThread)


def _is_firefox(file: ProfileFile) -> bool:
    return file.beginning.startswith("{") and (
        '"stackTable"' in file.beginning or '"preprocessedProfileVersion"' in file.beginning
    )


def _read_firefox(file: ProfileFile) -> tuple[Profile, ...]:
    """Read one profile per group of threads with the same name."""
    document = decode(file, _FirefoxDocument, what="profile", next_step="record it again")
    trees: dict[str, ProfileTree] = {}
    names: list[str] = []
    for number, raw in enumerate(document.threads, 1):
        try:
            thread = _THREAD.decode(raw)
            frames = _firefox_frames(thread, document.shared)
            names += [one.method for one in set(frames)]
            service = group_name(f"{thread.process_name or 'process'}/{thread.name or 'thread'}")
            tree = trees.setdefault(service, ProfileTree())
            stacks = thread.stack_table if thread.stack_table.frame else document.shared.stack_table
            file.intake.records += len(thread.samples.stack)
            for leaf, count in _firefox_counts(thread.samples).items():
                path = [frames[stacks.frame[at]] for at in _firefox_chain(stacks, leaf)]
                if count > 0 and not tree.add_stack(path, count):
                    file.reject(RecordFault.TOO_DEEP, path[0].method)
        except (*UNDECODABLE, IndexError):
            file.reject(RecordFault.MALFORMED, bytes(raw), at=f": thread {number}")
    addresses = sum(bool(_ADDRESS.fullmatch(name.rpartition(":")[2])) for name in names)
    if addresses > ADDRESS_SHARE * len(names):
        raise DataError("has addresses instead of names", place=file.place, next_step=SYMBOLS)
    return tuple(tree.profile(service, unit=SAMPLES, counted=False) for service, tree in trees.items() if tree.frames)


def _firefox_frames(thread: _FirefoxThread, shared: _Tables) -> list[Frame]:
    """Return the frames by their index in the frame table."""
    strings = thread.string_array or shared.string_array
    functions = thread.func_table if thread.func_table.name else shared.func_table
    files = functions.file_name or [None] * len(functions.name)
    named = [
        frame(strings[name], None if at is None else strings[at])
        for name, at in zip(functions.name, files, strict=False)
    ]
    table = thread.frame_table if thread.frame_table.func else shared.frame_table
    return [named[function] for function in table.func]


def _firefox_counts(samples: _Samples) -> dict[int, float]:
    """Count samples by stack; weights other than samples (sizes, times) are ignored."""
    weights = samples.weight if samples.weight_type == SAMPLES else None
    counts: dict[int, float] = {}
    for number, stack in enumerate(samples.stack):
        if stack is not None:
            counts[stack] = counts.get(stack, 0.0) + (1.0 if weights is None else weights[number])
    return counts


def _firefox_chain(stacks: _Stacks, leaf: int) -> list[int]:
    """Return the stack's places in the table, root first. A prefix must precede its stacks, so no cycle is possible."""
    chain = [leaf]
    while (above := stacks.prefix[chain[-1]]) is not None:
        if not 0 <= above < chain[-1]:
            raise IndexError(above)
        chain.append(above)
    return chain[::-1]


FIREFOX = ProfileReader(
    id="firefox",
    matches=_is_firefox,
    read=_read_firefox,
)
