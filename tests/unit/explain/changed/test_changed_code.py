import importlib.util
from collections.abc import Mapping
from pathlib import Path

import pytest

from perf_culprit.explain.changed_code import touched_by_commit, touched_code
from perf_culprit.model.call_tree import ChangeKind, LineRange, Scope, Touched
from perf_culprit.model.reason import Caveat, because
from tests.support.git_repository import init_repository, run_git

needs_grammars = pytest.mark.skipif(
    importlib.util.find_spec("tree_sitter") is None, reason="the extra `languages` is not installed"
)
BODY = "    total = 0\n    for number in numbers:\n        total += number * number\n    return total + len(numbers)\n"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return init_repository(tmp_path / "repository")


def commit(repository: Path, files: Mapping[str, str | bytes | None]) -> str:
    for name, content in files.items():
        path = repository / name
        if content is None:
            path.unlink()
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    run_git(repository, "add", "--all")
    run_git(repository, "commit", "--quiet", "--allow-empty", "--message=change")
    return run_git(repository, "rev-parse", "HEAD")


def kinds(touched: Touched) -> dict[str, ChangeKind]:
    return {f"{one.path}:{one.qualified_name}": one.kind for one in touched.functions}


def change(repository: Path, before: Mapping[str, str | bytes], after: Mapping[str, str | bytes | None]) -> Touched:
    commit(repository, before)
    return touched_by_commit(repository, commit(repository, after))


def test_the_innermost_function_is_touched_and_its_neighbours_are_not(repository: Path) -> None:
    before = (
        "class A:\n    def f(self):\n        def g():\n            return 1\n        return g\n\n    def h(self): ...\n"
    )
    touched = change(repository, {"a.py": before}, {"a.py": before.replace("return 1", "return (lambda: 2)()")})
    (function,) = touched.functions
    assert (function.qualified_name, function.kind) == ("A.f.<locals>.g", ChangeKind.CHANGED)
    assert (function.first_line, function.last_line, function.scope) == (3, 4, Scope.FUNCTION)
    assert function.changed_line == 4


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("@a\ndef f(): ...\n", "@b\ndef f(): ...\n"),
        ("def f(x=1): ...\n", "def f(x=2): ...\n"),
        ("async def f(): ...\n", "def f(): ...\n"),
        ("def f(): return 'a b'\n", "def f(): return 'a  b'\n"),
        ("def f(): return 0x" + "f" * 9000 + "\n", "def f(): return 0x" + "e" * 9000 + "\n"),
    ],
)
def test_what_runs_differently_is_a_change(repository: Path, before: str, after: str) -> None:
    assert kinds(change(repository, {"a.py": before}, {"a.py": after})) == {"a.py:f": ChangeKind.CHANGED}


@pytest.mark.parametrize(
    "after",
    [
        'def f(x):\n    """Another."""\n    return (x + 1)  # one more\n',
        'def f(x):\r\n    """Doc."""\r\n    return x + 1\r\n',
        "def f( x ):\n\n    return x \\\n        + 1\n",
    ],
)
def test_comments_layout_docstrings_and_line_ends_are_cosmetic(repository: Path, after: str) -> None:
    touched = change(repository, {"a.py": 'def f(x):\n    """Doc."""\n    return x + 1\n'}, {"a.py": after})
    assert kinds(touched) == {"a.py:f": ChangeKind.COSMETIC}
    assert not touched.functions[0].changes_code


def test_a_comment_outside_functions_is_the_files(repository: Path) -> None:
    touched = change(repository, {"a.py": "x = 1\n"}, {"a.py": "x = 1  # one\n"})
    assert kinds(touched) == {"a.py:": ChangeKind.COSMETIC}


def test_functions_come_and_go(repository: Path) -> None:
    touched = change(repository, {"a.py": "def f(): return 1\n"}, {"a.py": "def g(x): return [x]\n"})
    assert kinds(touched) == {"a.py:f": ChangeKind.DELETED, "a.py:g": ChangeKind.ADDED}


def test_a_function_that_moves_to_another_file_is_not_changed(repository: Path) -> None:
    both = {"a.py": f"import os\n\n\ndef squares(numbers):\n{BODY}", "b.py": "import sys\n"}
    after = {"a.py": "import os\n", "b.py": f"import sys\n\n\ndef squares(numbers):\n{BODY}"}
    (moved,) = change(repository, both, after).functions
    assert (moved.path, moved.kind, moved.moved_from) == ("b.py", ChangeKind.MOVED, "a.py:squares")


def test_a_renamed_file_shows_only_what_changed_in_it(repository: Path) -> None:
    before = f"def squares(numbers):\n{BODY}\n\ndef f(): return 1\n"
    touched = change(repository, {"a.py": before}, {"a.py": None, "c/d.py": before.replace("return 1", "return 2")})
    assert kinds(touched) == {"c/d.py:f": ChangeKind.CHANGED}


def test_what_cannot_be_read_is_given_by_its_lines(repository: Path) -> None:
    deep = "x = " + "-" * 100_000 + "1\n"
    touched = change(
        repository,
        {"a.py": "x = 1\ny = 2\n", "b.py": "", "c.py": "", "d.py": b"x = 1\n", "e.zig": "a\nb\n", "f.py": b"a\0"},
        {
            "a.py": "x = 1\ny = (\n",
            "b.py": deep,
            "c.py": "x = 1\n" * 300_000,
            "d.py": b"x = '\xe9'\n",
            "e.zig": "a\nc\n",
            "f.py": b"b\0",
        },
    )
    assert touched.functions == ()
    lines = {one.path: one.lines for one in touched.unresolved}
    assert sorted(lines) == ["a.py", "b.py", "c.py", "d.py", "e.zig", "f.py"]
    assert lines["a.py"] == lines["e.zig"] == (LineRange(2, 2),)


def test_an_encoding_that_the_file_names_is_used_where_it_is_a_plain_one(repository: Path) -> None:
    before = {"a.py": b"# coding: latin-1\ndef f(): return '\xe9'\n", "b.py": b"# coding: rot13\nx = 1\n"}
    after = {"a.py": b"# coding: latin-1\ndef f(): return '\xe8'\n", "b.py": b"# coding: rot13\nx = 2\n"}
    touched = change(repository, before, after)
    assert kinds(touched) == {"a.py:f": ChangeKind.CHANGED}
    assert [one.path for one in touched.unresolved] == ["b.py"]


def test_documents_submodules_and_links(repository: Path) -> None:
    (repository / "link.py").symlink_to("a.py")
    touched = change(repository, {"README.md": "a"}, {"README.md": "b"})
    assert (touched.functions, touched.unresolved) == ((), ())
    (repository / "link.py").unlink()
    (repository / "link.py").symlink_to("b.py")
    linked = touched_by_commit(repository, commit(repository, {}))
    assert [one.path for one in linked.unresolved] == ["link.py"]


def test_the_first_commit_adds_everything(repository: Path) -> None:
    first = commit(repository, {"a.py": "def f(): return 1\n"})
    touched = touched_by_commit(repository, first)
    assert touched.base is None
    assert kinds(touched) == {"a.py:f": ChangeKind.ADDED}


def test_a_range_is_one_change(repository: Path) -> None:
    base = commit(repository, {"a.py": "def f(): return 1\n"})
    commit(repository, {"a.py": "def f(): return 2\n"})
    head = commit(repository, {"a.py": "def f(): return 1\n"})
    assert touched_code(repository, base=base, head=head).functions == ()


def test_callers_are_found_by_name_at_the_head(repository: Path) -> None:
    commit(
        repository,
        {
            "a.py": "class Cart:\n    def __init__(self): self.n = 1\n    def total(self): return 1\n",
            "pkg/b.py": "import a\n\n\ndef pay(cart):\n    return cart.total()\n\n\ndef other(): return 'total'\n",
            "c.py": "from a import Cart\nCart()\n",
            "broken.py": "total(\n",
        },
    )
    after = "class Cart:\n    def __init__(self): self.n = 2\n    def total(self): return 2\n"
    touched = touched_by_commit(repository, commit(repository, {"a.py": after}))
    assert [(one.path, one.qualified_name, one.called_names) for one in touched.callers] == [
        ("c.py", "", ("Cart",)),
        ("pkg/b.py", "pay", ("total",)),
    ]
    assert because(Caveat.CALLING_FILES_UNREAD, count=1, mebibytes=1) in touched.notes


@needs_grammars
@pytest.mark.parametrize(
    ("name", "before", "touched"),
    [
        ("A.java", "package a.b;\nclass A { int f(int a) { return 1; }\n int g() { return 3; } }", "a.b.A.f"),
        ("a.go", "package shop\nfunc (c *Cart[T]) Total() int { return 1 }\nfunc f() {}", "shop.Cart.Total"),
        ("a.rs", "impl<T> Cart<T> { fn total(&self) -> u8 { 1 } }", "Cart.total"),
        ("a.rs", "impl<'a, T> Iterator for &'a mut Cart<T> { fn total(&self) -> u8 { 1 } }", "Cart.total"),
        ("a.c", "static int *f(int a) { return 1; }\nint g() { return 3; }", "f"),
        ("a.cpp", "int a::C<int>::g(int *p) { return 1; }\nint h() { return 3; }", "a.C.g"),
        ("a.cs", "namespace N.M; class A { int f() => 1;\n int g() => 3; }", "N.M.A.f"),
        ("a.rb", "module M\n class A\n  def f\n 1\n end\n def g; 3; end\n end\nend", "M.A.f"),
        ("a.php", "<?php\nnamespace App;\nclass A { function f() { return 1; } }", "App.A.f"),
        ("a.kt", "package a.b\nclass A {\n fun f(): Int = 1\n fun g(): Int = 3\n}", "a.b.A.f"),
        ("a.js", "const f = (x) => 1;\nclass A { m() { return 3 } }", "f"),
        ("a.ts", "export class A<T> { private m(): number { return 1 } }", "A.m"),
        ("a.tsx", "const F = () => <b>1</b>;\nconst G = () => <b>3</b>", "F"),
    ],
)  # fmt: skip
def test_other_languages(repository: Path, name: str, before: str, touched: str) -> None:
    result = change(repository, {name: before}, {name: before.replace("1", "2")})
    assert kinds(result) == {f"{name}:{touched}": ChangeKind.CHANGED}


@needs_grammars
def test_comments_are_cosmetic_in_other_languages(repository: Path) -> None:
    before = "int f() { return 1; }\nint g() { return 3; }\n"
    touched = change(
        repository, {"a.cpp": before}, {"a.cpp": before.replace("{ return 1;", "{\n  return /* one */ 1;")}
    )
    assert kinds(touched) == {"a.cpp:f": ChangeKind.COSMETIC}


def test_without_the_grammars_a_note_names_the_extra(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from perf_culprit.explain import syntax_tree

    syntax_tree._language.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "tree_sitter", None)
    touched = change(repository, {"a.go": "package a\n"}, {"a.go": "package b\n"})
    assert touched.notes == (because(Caveat.NO_GRAMMAR, count=1),)
    assert touched.unresolved[0].lines == (LineRange(1, 1),)
