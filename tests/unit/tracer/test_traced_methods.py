import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FunctionType

import pytest

from perf_culprit.explain.tracer.call_paths import Kind, TracedMethod, TracedScope, c_method
from perf_culprit.explain.tracer.session import trace
from tests.support import traced_programs


def code(function: object) -> CodeType:
    assert isinstance(function, FunctionType)
    return function.__code__


def compiled(path: Path) -> CodeType:
    return compile("", str(path), "exec")


def test_code_below_the_root_is_followed_under_its_modules_name(tmp_path: Path) -> None:
    method, kind = TracedScope(str(tmp_path)).of(compiled(tmp_path / "shop" / "cart.py"))
    assert method == TracedMethod("shop.cart.<module>", "shop/cart.py", 1)
    assert kind is Kind.FOLLOWED


def test_a_package_has_its_folders_name(tmp_path: Path) -> None:
    assert TracedScope(str(tmp_path)).of(compiled(tmp_path / "shop" / "__init__.py"))[0].name == "shop.<module>"


@pytest.mark.parametrize("folder", ["site-packages", "dist-packages"])
def test_what_is_installed_below_the_root_is_no_users_code(tmp_path: Path, folder: str) -> None:
    path = tmp_path / ".venv" / "lib" / folder / "shop.py"
    assert TracedScope(str(tmp_path)).of(compiled(path))[1] is Kind.LIBRARY


def test_the_standard_library_is_a_library_even_below_the_root() -> None:
    assert TracedScope("/").of(code(json.dumps)) == (
        TracedMethod("json.dumps", "json/__init__.py", code(json.dumps).co_firstlineno),
        Kind.LIBRARY,
    )


@pytest.mark.parametrize(("include", "kind"), [("json", Kind.FOLLOWED), ("js", Kind.LIBRARY)])
def test_a_package_can_be_included_by_its_whole_name(tmp_path: Path, include: str, kind: Kind) -> None:
    assert TracedScope(str(tmp_path), (include,)).of(code(json.dumps))[1] is kind


def test_our_own_code_is_never_the_users() -> None:
    assert TracedScope(str(Path(__file__).parents[3])).of(code(trace))[1] is Kind.OWN


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (len, "len"),
        (time.sleep, "time.sleep"),
        ([].append, "list.append"),
        (str.upper, "str.upper"),
        (dict, "dict"),
        (sys.exit, "sys.exit"),
    ],
)
def test_c_functions_have_their_qualified_names(function: Callable[..., object], name: str) -> None:
    assert c_method(function) == TracedMethod(name, is_c=True)


def test_python_functions_are_none_of_them() -> None:
    assert c_method(traced_programs.tiny) is None
    assert c_method(traced_programs.First().run) is None


def test_a_callable_objects_attributes_are_not_touched() -> None:
    class Tricky:
        def __getattribute__(self, name: str) -> object:
            raise AssertionError(name)

        def __call__(self) -> None: ...

    method = c_method(Tricky())
    assert method is not None
    assert method.name.endswith("Tricky.__call__")


def test_a_frozen_module_says_that_it_is_one(tmp_path: Path) -> None:
    """The name alone could match a function of the program with the same name."""
    frozen = compile("", "<frozen _collections_abc>", "exec")
    method, kind = TracedScope(str(tmp_path)).of(frozen)
    assert method == TracedMethod("_collections_abc.<module>", "<frozen _collections_abc>", 1)
    assert kind is Kind.LIBRARY


def test_the_script_that_is_run_is_followed_wherever_it_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (script := tmp_path / "bench.py").touch()
    code = compile("1", str(script), "exec")
    assert TracedScope(str(tmp_path / "repository")).of(code)[1] is Kind.LIBRARY
    monkeypatch.setattr(sys.modules["__main__"], "__file__", str(script), raising=False)
    assert TracedScope(str(tmp_path / "repository")).of(code)[1] is Kind.FOLLOWED
