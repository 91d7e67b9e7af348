"""House rules: grep finds a name, a name finds its file, and a cold start loads only what it needs."""

import ast
from collections import Counter
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "bot/perf_culprit"
# The measured project of the demo is not our code.
FILES = [path for path in PACKAGE.rglob("*.py") if "project" not in path.relative_to(PACKAGE).parts]
# Every Python package has these.
SHARED_NAMES = {"__init__.py", "__main__.py"}
# `git.push(...)` reads better than a bare `push(...)`, and the tracer is used through its one function.
LISTING = {"git/__init__.py", "explain/tracer/__init__.py"}
# The entry points of commands and modes; the tracer, whose process may lack this package; databases, which are
# optional; and the host, whose client is the slowest import of a job.
IMPORT_LATE = (
    "cli/",
    "commands/",
    "init/",
    "action/",
    "__main__.py",
    "explain/tracer/",
    "store/opening.py",
    "github/job_context.py",
)


def place(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def own_imports(tree: ast.AST) -> list[ast.ImportFrom]:
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return [node for node in imports if node.level or (node.module or "").split(".")[0] == PACKAGE.name]


def test_no_file_name_is_used_twice() -> None:
    names = Counter(path.name for path in FILES)
    assert {name for name, count in names.items() if count > 1} == SHARED_NAMES


def test_no_package_hands_on_what_another_module_defines() -> None:
    doors = {place(path) for path in FILES if path.name == "__init__.py" and own_imports(ast.parse(path.read_text()))}
    assert doors == LISTING


def test_only_the_commands_edge_imports_our_modules_inside_functions() -> None:
    late = {
        place(path)
        for path in FILES
        for function in ast.walk(ast.parse(path.read_text()))
        if isinstance(function, ast.FunctionDef) and own_imports(function)
    }
    assert {name for name in late if not name.startswith(IMPORT_LATE)} == set()


def test_no_function_is_longer_than_a_screen() -> None:
    functions = [
        (node.end_lineno or 0) - node.lineno + 1
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    assert max(functions) <= 70
    assert sorted(functions)[len(functions) // 2] <= 8
