"""Front doors: every name that a package lists is there, is imported when it is used, and hides no module."""

import ast
import pkgutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from bot.lazy import listed

ROOT = Path(__file__).parents[2]
PACKAGES = sorted(
    ".".join(file.parent.relative_to(ROOT).parts)
    for file in (ROOT / "bot").rglob("__init__.py")
    if "front_door(__name__)" in file.read_text()
)


def test_the_pipeline_has_one() -> None:
    assert "bot.pipeline" in PACKAGES


@pytest.mark.parametrize("package", PACKAGES)
def test_every_listed_name_is_there(package: str) -> None:
    module = import_module(package)
    assert listed(package)
    for name, (place, original) in listed(package).items():
        assert getattr(module, name) is getattr(import_module(place), original)
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = module.nonsense


@pytest.mark.parametrize("package", PACKAGES)
def test_no_listed_name_is_that_of_a_module(package: str) -> None:
    modules = {entry.name for entry in pkgutil.iter_modules(import_module(package).__path__)}
    assert not modules & set(listed(package))


@pytest.mark.parametrize("package", PACKAGES)
def test_a_front_door_alone_loads_nothing(package: str) -> None:
    code = f"import sys, {package}; print([name for name in sys.modules if name.startswith('{package}.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


# The entry points set the process up before anything else is imported; the traced program may lack this package.
IMPORT_LATE = {"bot/__main__.py", "bot/action/__main__.py", "bot/trace/profile.py"}


def test_no_module_of_ours_is_imported_inside_a_function() -> None:
    results = {
        str(file.relative_to(ROOT))
        for file in (ROOT / "bot").rglob("*.py")
        for function in ast.walk(ast.parse(file.read_text()))
        if isinstance(function, ast.FunctionDef)
        for statement in ast.walk(function)
        if isinstance(statement, ast.ImportFrom) and (statement.module or "").split(".")[0] == "bot"
    }
    assert results == IMPORT_LATE
