"""V8's CPU profiles (`node --cpu-prof`, Chromium's performance panel): a tree of functions with hits of the sampler."""

from typing import Final

import msgspec

from bot.diagnose.profiles import whole_json
from bot.diagnose.profiles.file import ProfileFile
from bot.diagnose.profiles.frame import Frame, frame
from bot.diagnose.profiles.intake import Intake
from bot.diagnose.profiles.tree import ProfileTree
from bot.diagnose.profiles.weights import SAMPLES
from bot.model.profile import Profile, RecordFault

SERVICE: Final = "profile"
_NODES: Final = '"callFrame"'
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


_NODE: Final = msgspec.json.Decoder(_Node)


def matches(file: ProfileFile, /) -> bool:
    text = file.beginning
    return text.startswith("{") and '"nodes"' in text and _NODES in text


def read(file: ProfileFile, intake: Intake, /) -> tuple[Profile, ...]:
    step = "check that the process ended by itself"
    raws = whole_json.decode(file, _Document, what="CPU profile", next_step=step).nodes
    nodes: dict[int, _Node] = {}
    for place, node in whole_json.each(raws, _NODE, place=f"{file.place}: node", intake=intake):
        name = node.call_frame.function_name
        if node.hit_count < 0:
            intake.reject(RecordFault.NUMBER, place=place, text=name)
        elif node.id in nodes:
            intake.reject(RecordFault.REPEATED, place=place, text=name)
        else:
            nodes[node.id] = node
    return (_tree(nodes, file, intake).profile(SERVICE, unit=SAMPLES, counted=False),)


def _tree(nodes: dict[int, _Node], file: ProfileFile, intake: Intake) -> ProfileTree:
    tree = ProfileTree()
    called = {child for node in nodes.values() for child in node.children}
    reached: set[int] = set()
    stack: list[tuple[int, tuple[Frame, ...]]] = [(number, ()) for number in nodes if number not in called]
    while stack:
        number, above = stack.pop()
        node = nodes.get(number)
        if node is None or number in reached:
            intake.reject(RecordFault.CYCLE if node else RecordFault.LOST_PARENT, place=file.place, text=number)
            continue
        reached.add(number)
        name = node.call_frame.function_name
        path = above if name == _ROOT else (*above, _frame(node.call_frame))
        if node.hit_count and name != _IDLE and not tree.add_stack(path, node.hit_count):
            intake.reject(RecordFault.TOO_DEEP, place=file.place, text=name)
        stack += [(child, path) for child in node.children]
    return tree


def _frame(call: _CallFrame) -> Frame:
    name = call.function_name or "(anonymous)"
    # Lines count from 0.
    return frame(name, call.url or None, call.line_number + 1 if call.line_number >= 0 else None)
