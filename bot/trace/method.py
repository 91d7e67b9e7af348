"""Which code is followed, and how methods are called in a trace."""

import os
import sys
import sysconfig
import types
from enum import IntEnum
from typing import Final, NamedTuple

OWN_FOLDER: Final = os.path.dirname(os.path.abspath(__file__)) + os.sep  # noqa: PTH100, PTH120 - pathlib costs the traced program 10 ms
HOOK_FILE: Final = "<perf-culprit>"  # of code that is put in the place of the user's
HOOKING_FILE: Final = OWN_FOLDER + "substitution.py"
INSTALLED: Final = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


class Method(NamedTuple):
    """`file` is relative to the root where it lies below, and else to where modules are found."""

    name: str
    file: str | None = None
    line: int | None = None
    is_c: bool = False


class Kind(IntEnum):
    FOLLOWED = 0
    LIBRARY = 1
    OWN = 2
    HOOK = 3


class Scope:
    """The user's code: files below `root` that are neither installed nor of the standard library, and `include`.

    `include`: names of modules or packages that are followed wherever they lie.
    """

    def __init__(self, root: str, include: tuple[str, ...] = ()) -> None:
        self._root = os.path.join(os.path.realpath(root), "")  # noqa: PTH118 - as above
        self._include = include
        paths = sysconfig.get_paths()
        self._library = tuple({os.path.join(paths[name], "") for name in ("stdlib", "platstdlib")})  # noqa: PTH118 - as above
        self._paths: dict[str, str] = {}
        # Code objects compare by content, which is slow: known by identity, and kept so that none is reused.
        self._known: dict[int, tuple[types.CodeType, Method, Kind]] = {}

    def of(self, code: types.CodeType) -> tuple[Method, Kind]:
        described = self._known.get(id(code))
        if described is None:
            described = self._known[id(code)] = (code, *self._describe(code))
        return described[1], described[2]

    def _describe(self, code: types.CodeType) -> tuple[Method, Kind]:
        path = self._real_path(code.co_filename)
        module, file = self._module(path)
        method = Method(f"{module}.{code.co_qualname}", file, code.co_firstlineno)
        if path in (HOOK_FILE, HOOKING_FILE):
            return method, Kind.HOOK
        if path.startswith(OWN_FOLDER):
            return method, Kind.OWN
        is_included = any(module == name or module.startswith(f"{name}.") for name in self._include)
        is_users = path.startswith(self._root) and not self._is_installed(path)
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
        homes = [self._root, *(os.path.join(os.path.realpath(home), "") for home in sys.path if home)]  # noqa: PTH118 - as above
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


def c_method(function: object) -> Method | None:
    """What is called where no Python code is; None for Python functions.

    Nothing of the object's own attributes is touched unless the interpreter made it: they may be computed.
    """
    kind = type(function)
    if kind is types.FunctionType or kind is types.MethodType:
        return None
    if issubclass(kind, PLAIN_C_TYPES):
        name = function.__qualname__  # type: ignore[attr-defined] # the types above all have one
        module = getattr(function, "__module__", None)
        is_function = isinstance(module, str) and module != "builtins" and "." not in name
        return Method(f"{module}.{name}" if is_function else name, is_c=True)
    if issubclass(kind, type):
        return Method(f"{type.__getattribute__(function, '__qualname__')}", is_c=True)
    return Method(f"{kind.__qualname__}.__call__", is_c=True)
