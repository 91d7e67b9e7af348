"""V8's CPU profiles (`node --cpu-prof`, Chromium's performance panel): a tree of functions with hits of the sampler."""

from typing import Final

import msgspec

from perf_culprit.model.call_tree import Profile, RecordFault
from perf_culprit.read.profiles.json_elements import decode, each
from perf_culprit.read.profiles.profile_file import ProfileFile
from perf_culprit.read.profiles.profile_tree import SAMPLES, Frame, ProfileTree, frame

# While it waits the process does nothing that code could do slower.
_IDLE: Final = "(idle)"
_ROOT: Final = "(root)"


class _CallFrame(msgspec.Struct, rename="camel"):
    function_name: str = ""
    url: str = ""
    line_number: int = -1


class _Node(msgspec.Struct, rename="camel"):
    id: int
    call_frame: _CallFrame
    hit_count: int = 0
    children: list[int] = []


class _Document(msgspec.Struct):
    nodes: list[msgspec.Raw]


def matches(file: ProfileFile, /) -> bool:
    return file.begins("{", '"nodes"', '"callFrame"')


def read(file: ProfileFile, /) -> tuple[Profile, ...]:
    step = "check that the process ended by itself"
    raws = decode(file, _Document, what="CPU profile", next_step=step).nodes
    nodes: dict[int, _Node] = {}
    for at, node in each(raws, _Node, file=file, what="node"):
        name = node.call_frame.function_name
        if node.hit_count < 0:
            file.reject(RecordFault.NUMBER, name, at=at)
        elif node.id in nodes:
            file.reject(RecordFault.REPEATED, name, at=at)
        else:
            nodes[node.id] = node
    return (_tree(nodes, file).profile(unit=SAMPLES, counted=False),)


def _tree(nodes: dict[int, _Node], file: ProfileFile) -> ProfileTree:
    tree = ProfileTree()
    called = {child for node in nodes.values() for child in node.children}
    reached: set[int] = set()
    stack: list[tuple[int, tuple[Frame, ...]]] = [(number, ()) for number in nodes if number not in called]
    while stack:
        number, above = stack.pop()
        node = nodes.get(number)
        if node is None or number in reached:
            file.reject(RecordFault.CYCLE if node else RecordFault.LOST_PARENT, number)
            continue
        reached.add(number)
        name = node.call_frame.function_name
        path = above if name == _ROOT else (*above, _frame(node.call_frame))
        if node.hit_count and name != _IDLE and not tree.add_stack(path, node.hit_count):
            file.reject(RecordFault.TOO_DEEP, name)
        stack += [(child, path) for child in node.children]
    return tree


def _frame(call: _CallFrame) -> Frame:
    name = call.function_name or "(anonymous)"
    # Lines count from 0.
    return frame(name, call.url or None, call.line_number + 1 if call.line_number >= 0 else None)
