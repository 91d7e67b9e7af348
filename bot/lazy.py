"""The front door of a package: names that are imported when they are first used.

A package lists its names once, where type checkers read them, and the rest of the file is this:

    if TYPE_CHECKING:
        from bot.stage.module import name
    else:
        __getattr__ = front_door(__name__)

Callers write `from bot import stage` at the top of their module and `stage.name` where they need it. That is all that
keeps a cold start cheap: no import stands inside a function for its sake.
A listed name must not be that of a module of the package, because importing that module would replace it.
"""

import ast
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path


def front_door(package: str) -> Callable[[str], object]:
    """The package's `__getattr__`."""

    def load(name: str) -> object:
        if name not in listed(package):
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, original = listed(package)[name]
        value: object = getattr(import_module(module), original)
        setattr(sys.modules[package], name, value)
        return value

    return load


@cache
def listed(package: str) -> dict[str, tuple[str, str]]:
    """By name the module and the name there, of all that the package imports under `if TYPE_CHECKING:`."""
    source = Path(sys.modules[package].__file__ or "").read_text(encoding="utf-8")
    return {
        alias.asname or alias.name: (statement.module or "", alias.name)
        for block in ast.parse(source).body
        if isinstance(block, ast.If)
        for statement in block.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
