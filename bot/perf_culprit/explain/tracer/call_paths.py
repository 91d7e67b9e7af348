"""The tree of call paths that one full pass finds, and the choice of code to follow."""

import os
import sys
import sysconfig
import threading
import types
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from types import FrameType
from typing import Any, Final, NamedTuple

from .trace_limits import TRACE_LIMITS

OWN_FOLDER: Final = os.path.dirname(os.path.abspath(__file__)) + os.sep
HOOK_FILE: Final = "<perf-culprit>"  # file name of code that replaces the user's
HOOKING_FILE: Final = OWN_FOLDER + "substitution.py"
INSTALLED: Final = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


class TracedMethod(NamedTuple):
    """`file` is relative to the root if it lies below, otherwise to the folder of its modules."""

    name: str
    file: str | None = None
    line: int | None = None
    is_c: bool = False


class Kind(IntEnum):
    FOLLOWED = 0
    LIBRARY = 1
    OWN = 2
    HOOK = 3


class TracedScope:
    """The user's code: files below `root` that are neither installed nor of the standard library, and `include`.

    `include`: names of modules or packages that are followed wherever they are.
    """

    def __init__(self, root: str, include: tuple[str, ...] = ()) -> None:
        self._root = os.path.join(os.path.realpath(root), "")
        self._include = include
        paths = sysconfig.get_paths()
        self._library = tuple({os.path.join(paths[name], "") for name in ("stdlib", "platstdlib")})
        self._paths: dict[str, str] = {}
        # Comparing code objects by content is slow: use their identity, and keep them so that no id is reused.
        self._known: dict[int, tuple[types.CodeType, TracedMethod, Kind]] = {}

    def of(self, code: types.CodeType) -> tuple[TracedMethod, Kind]:
        described = self._known.get(id(code))
        if described is None:
            described = self._known[id(code)] = (code, *self._describe(code))
        return described[1], described[2]

    def _describe(self, code: types.CodeType) -> tuple[TracedMethod, Kind]:
        path = self._real_path(code.co_filename)
        module, file = self._module(path)
        method = TracedMethod(f"{module}.{code.co_qualname}", file, code.co_firstlineno)
        if path in (HOOK_FILE, HOOKING_FILE):
            return method, Kind.HOOK
        if path.startswith(OWN_FOLDER):
            return method, Kind.OWN
        is_included = any(module == name or module.startswith(f"{name}.") for name in self._include)
        # Follow the executed script wherever it is: its own slowdown belongs to no function below the root.
        script = getattr(sys.modules["__main__"], "__file__", None) or ""
        is_script = path.endswith(".py") and path == self._real_path(script)
        is_users = (is_script or path.startswith(self._root)) and not self._is_installed(path)
        return method, Kind.FOLLOWED if is_included or is_users else Kind.LIBRARY

    def _real_path(self, path: str) -> str:
        if path not in self._paths:
            self._paths[path] = path if path.startswith("<") else os.path.realpath(path)
        return self._paths[path]

    def _is_installed(self, path: str) -> bool:
        return path.startswith(self._library) or any(folder in path for folder in INSTALLED)

    def _module(self, path: str) -> tuple[str, str | None]:
        if path.startswith("<frozen ") and path.endswith(">"):
            return path[8:-1], path
        if path.startswith("<"):
            return path, None
        homes = [self._root, *(os.path.join(os.path.realpath(home), "") for home in sys.path if home)]
        if path.startswith(self._root) and not self._is_installed(path):
            home = self._root
        else:
            home = max((home for home in homes if path.startswith(home)), key=len, default="")
        file = path[len(home) :]
        dotted = file.removesuffix(".py").strip(os.sep).replace(os.sep, ".")
        return dotted.removesuffix(".__init__") or dotted, file


PLAIN_C_TYPES: Final = (
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.MethodWrapperType,
    types.ClassMethodDescriptorType,
)


def c_method(function: object) -> TracedMethod | None:
    """Return the called object as a method if it is not Python code; None for Python functions.

    Attributes are read only from objects that the interpreter made: other objects may compute them.
    """
    kind = type(function)
    if kind is types.FunctionType or kind is types.MethodType:
        return None
    if issubclass(kind, PLAIN_C_TYPES):
        name = function.__qualname__  # type: ignore[attr-defined] # the types above all have one
        module = getattr(function, "__module__", None)
        is_function = isinstance(module, str) and module != "builtins" and "." not in name
        return TracedMethod(f"{module}.{name}" if is_function else name, is_c=True)
    if issubclass(kind, type):
        return TracedMethod(f"{type.__getattribute__(function, '__qualname__')}", is_c=True)
    return TracedMethod(f"{kind.__qualname__}.__call__", is_c=True)


OUTSIDE: Final = -1  # the parent of roots


@dataclass(slots=True)
class TracedNode:
    """`returns_to`: ancestors that are called again from here. `is_benchmark`: a benchmark tool's timing loop calls it.

    `is_transparent`: a C function that runs Python code. Its callees and its time belong to its caller, because frames
    do not show the callees of a C function.
    """

    method: TracedMethod
    parent: int
    calls: int = 0
    is_transparent: bool = False
    is_benchmark: bool = False
    returns_to: set[int] = field(default_factory=set)


class Tree:
    """The call paths that one full pass finds. A method occurs once on a path, because recursion returns to its node.

    With a node of its own, a recursive call would be timed inside of its caller's time, with the cost of its hooks.
    """

    def __init__(self) -> None:
        self.nodes: list[TracedNode] = []
        self._steps: dict[tuple[int, TracedMethod], int] = {}

    def enter(self, parent: int, method: TracedMethod) -> int:
        """Return the node of `method` called from `parent`; create it if it is new."""
        existing = self._steps.get((parent, method))
        if existing is not None:
            return existing
        ancestor = parent
        while ancestor != OUTSIDE and self.nodes[ancestor].method != method:
            ancestor = self.nodes[ancestor].parent
        if ancestor != OUTSIDE:
            self.nodes[parent].returns_to.add(ancestor)
            self._steps[parent, method] = ancestor
            return ancestor
        if len(self.nodes) >= TRACE_LIMITS.nodes:
            return parent
        self.nodes.append(TracedNode(method, parent))
        self._steps[parent, method] = len(self.nodes) - 1
        return len(self.nodes) - 1

    @classmethod
    def of_rows(cls, rows: Sequence[Sequence[Any]]) -> "Tree":
        """Return the tree that `rows` describes. Raises: ValueError, if a node comes before its parent."""
        tree = cls()
        for name, file, line, is_c, parent, calls, is_transparent, is_benchmark, returns_to in rows:
            if not OUTSIDE <= parent < len(tree.nodes):
                raise ValueError(f"parent {parent} does not come before node {len(tree.nodes)}")
            method = TracedMethod(name, file, line, is_c)
            tree.nodes.append(TracedNode(method, parent, calls, is_transparent, is_benchmark, set(returns_to)))
            tree._steps[parent, method] = len(tree.nodes) - 1
        for index, node in enumerate(tree.nodes):
            for ancestor in node.returns_to:
                tree._steps[index, tree.nodes[ancestor].method] = ancestor
        return tree

    def find(self, methods: Iterable[TracedMethod]) -> int | None:
        """Return the node of a path, outermost method first; None if the full pass never recorded it."""
        node = OUTSIDE
        for method in methods:
            step = self._steps.get((node, method))
            if step is None:
                return None
            node = step
        return node

    def step(self, parent: int, method: TracedMethod) -> int | None:
        return self._steps.get((parent, method))

    def children(self) -> list[list[int]]:
        children: list[list[int]] = [[] for _ in self.nodes]
        for index, node in enumerate(self.nodes):
            if node.parent != OUTSIDE:
                children[node.parent].append(index)
        return children

    def add(self, other: "Tree") -> list[int]:
        """Add the calls of another process or of a further execution; return the places of its nodes here."""
        places: list[int] = []
        for node in other.nodes:
            place = self.enter(OUTSIDE if node.parent == OUTSIDE else places[node.parent], node.method)
            places.append(place)
            if place != OUTSIDE:
                self.nodes[place].calls += node.calls
                self.nodes[place].is_transparent |= node.is_transparent
                self.nodes[place].is_benchmark |= node.is_benchmark
        for place, node in zip(places, other.nodes, strict=True):
            for ancestor in node.returns_to:
                self._steps[place, self.nodes[places[ancestor]].method] = places[ancestor]
                self.nodes[place].returns_to.add(places[ancestor])
        return places

    def rows(self) -> list[list[Any]]:
        """Return the nodes as JSON-compatible rows."""
        return [
            [*node.method, node.parent, node.calls, node.is_transparent, node.is_benchmark, sorted(node.returns_to)]
            for node in self.nodes
        ]

    def starts(self, at: str | None) -> list[int]:
        """Return the start nodes of a trace: calls of `at`, else functions timed by benchmark tools, else all roots.

        Imports and set-up are next to or above them.
        """
        starts: list[int] = []
        inside = [False] * len(self.nodes)
        is_benchmark = at is None and any(node.is_benchmark for node in self.nodes)
        for index, node in enumerate(self.nodes):
            if node.is_transparent:
                is_start = False
            elif at is not None:
                is_start = f".{node.method.name}".endswith(f".{at.replace(':', '.')}")
            else:
                is_start = node.is_benchmark if is_benchmark else node.parent == OUTSIDE
            above = node.parent != OUTSIDE and inside[node.parent]
            inside[index] = above or is_start
            if is_start and not above:
                starts.append(index)
        return starts


current_frame = sys._getframe  # noqa: SLF001 - the interpreter's only way to a caller's frame


def node_of(frame: FrameType, tree: Tree, scope: TracedScope) -> int | None:
    """Return the frame's node; None if the full pass recorded no such path, or the frame is inside a library."""
    if scope.of(frame.f_code)[1] is not Kind.FOLLOWED and not is_leaf(outer(frame, scope), scope):
        return None
    return tree.find(path_of(frame, scope))


def path_of(frame: FrameType, scope: TracedScope) -> list[TracedMethod]:
    """Return the methods with nodes, from the outermost to the frame's own or its nearest caller's."""
    path: list[TracedMethod] = []
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


def outer(frame: FrameType, scope: TracedScope) -> FrameType | None:
    """Return the calling frame, without hooks between the two."""
    caller = frame.f_back
    while caller is not None and scope.of(caller.f_code)[1] is Kind.HOOK:
        caller = caller.f_back
    return caller


def is_leaf(caller: FrameType | None, scope: TracedScope) -> bool:
    """Return whether library code called by this frame is a node, because the frame is the user's code."""
    return caller is not None and scope.of(caller.f_code)[1] is Kind.FOLLOWED


# The places where benchmark tools call the timed code.
TIMING_LOOPS: Final = (
    "/pytest_benchmark/fixture.py",
    "/asv_runner/benchmarks/time.py",
    "/pyperf/_runner.py",
    "<timeit-src>",
)


@dataclass(slots=True)
class _Open:
    """A running frame with its node, or that of the nearest caller that has one."""

    frame: FrameType
    node: int
    is_leaf_caller: bool
    c_node: int | None = None


class Recorder:
    """Follows the begin, pause and end of frames, separately for each thread."""

    def __init__(self, tree: Tree, scope: TracedScope) -> None:
        self._tree = tree
        self._scope = scope
        self._stacks: dict[int, list[_Open]] = {}
        self._lock = threading.Lock()

    def begin(self, frame: FrameType, *, is_call: bool) -> None:
        """Record the start of a frame. `is_call` is False if a generator or coroutine resumes, which is no call."""
        stack = self._stacks.setdefault(threading.get_ident(), [])
        method, kind = self._scope.of(frame.f_code)
        if kind is Kind.OWN or kind is Kind.HOOK:
            stack.append(_Open(frame, OUTSIDE, is_leaf_caller=False))
            return
        caller = stack[-1] if stack else None
        node = caller.node if caller else OUTSIDE
        with self._lock:
            if caller is not None and caller.c_node is not None:
                self._tree.nodes[caller.c_node].is_transparent = True
            if kind is Kind.FOLLOWED or (caller is not None and caller.is_leaf_caller):
                node = self._tree.enter(node, method)
                if is_call and node != OUTSIDE:
                    self._tree.nodes[node].calls += 1
                    self._tree.nodes[node].is_benchmark |= is_timing_loop(frame.f_back)
        stack.append(_Open(frame, node, is_leaf_caller=kind is Kind.FOLLOWED))

    def end(self, frame: FrameType) -> None:
        stack = self._stacks.get(threading.get_ident(), [])
        for place in range(len(stack) - 1, -1, -1):
            if stack[place].frame is frame:
                del stack[place:]
                return

    def begin_c(self, frame: FrameType, function: object) -> None:
        stack = self._stacks.get(threading.get_ident())
        if not stack or stack[-1].frame is not frame or self._scope.of(frame.f_code)[1] is not Kind.FOLLOWED:
            return
        method = c_method(function)
        if method is None:
            return
        with self._lock:
            node = self._tree.enter(stack[-1].node, method)
            self._tree.nodes[node].calls += 1
        stack[-1].c_node = node

    def end_c(self, frame: FrameType) -> None:
        stack = self._stacks.get(threading.get_ident())
        if stack and stack[-1].frame is frame:
            stack[-1].c_node = None


def is_timing_loop(caller: FrameType | None) -> bool:
    return caller is not None and caller.f_code.co_filename.endswith(TIMING_LOOPS)
