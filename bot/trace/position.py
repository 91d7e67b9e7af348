"""Where in the tree a frame is, by looking at its callers."""

import sys
from types import FrameType

from .method import Kind, Method, Scope
from .tree import Tree

current_frame = sys._getframe  # noqa: SLF001 - the interpreter's only way to a caller's frame


def node_of(frame: FrameType, tree: Tree, scope: Scope) -> int | None:
    """None where the full pass saw no such path, or where the frame is inside a library."""
    if scope.of(frame.f_code)[1] is not Kind.FOLLOWED and not is_leaf(outer(frame, scope), scope):
        return None
    return tree.find(path_of(frame, scope))


def path_of(frame: FrameType, scope: Scope) -> list[Method]:
    """The methods that have nodes, from the outermost to the frame's own or its nearest caller's."""
    path: list[Method] = []
    at: FrameType | None = frame
    while at is not None:
        method, kind = scope.of(at.f_code)
        if kind is Kind.OWN:
            break
        caller = outer(at, scope)
        if kind is Kind.FOLLOWED or (kind is Kind.LIBRARY and is_leaf(caller, scope)):
            path.append(method)
        at = caller
    path.reverse()
    return path


def outer(frame: FrameType, scope: Scope) -> FrameType | None:
    """The calling frame; hooks between the two are not there."""
    caller = frame.f_back
    while caller is not None and scope.of(caller.f_code)[1] is Kind.HOOK:
        caller = caller.f_back
    return caller


def is_leaf(caller: FrameType | None, scope: Scope) -> bool:
    """Whether library code that this frame calls is a node: the user's code calls it."""
    return caller is not None and scope.of(caller.f_code)[1] is Kind.FOLLOWED
