"""Print five numbers of the house, each by the rule that its function states.

sh .ci/env python .ci/house_numbers.py [--quick]

`--quick` leaves out the tests, which take minutes.
"""

import ast
import re
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PACKAGE: Final = ROOT / "bot" / "perf_culprit"
CONTRIBUTING: Final = ROOT / ".github" / "CONTRIBUTING.md"
DECIDING_ROOMS: Final = ("stats", "judge", "search", "dispatch", "explain")
# Names of constants that bound a size or the length of a list; all others decide something.
LIMIT: Final = re.compile(r"_?(MOST|MAX|MAXIMUM|LONGEST|SHOWN)_|.*_LIMIT$")
# The tasks whose files CONTRIBUTING lists by hand, by their headings there.
WALKS: Final = {
    "other words for an unproven change": "## Change the words for an unproven change",
    "a detector": "## Add a detector",
}
COMPARE: Final = """
import sys
before = set(sys.modules)
from perf_culprit.__main__ import run
code = run()
print(len(set(sys.modules) - before), file=sys.stderr)
sys.exit(code)
"""


def modules(folder: Path) -> Iterator[tuple[Path, ast.Module]]:
    """Yield our modules; the measured project of the demo is not our code."""
    for path in sorted(folder.rglob("*.py")):
        if not path.is_relative_to(PACKAGE / "demo" / "project"):
            yield path, ast.parse(path.read_text(encoding="utf-8"))


def assigned(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names that the top level binds, each with its value; of `A, B = 1, 2` each with its own."""
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                yield from ((ast.unparse(target), value) for target, value in zip(targets, values, strict=True))
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value
            case _:
                pass


def public_names(tree: ast.Module) -> set[str]:
    """Return the public names of a module: its functions, classes, constants and types."""
    defined = [
        node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    ]
    return {name for name in (*defined, *(name for name, _ in assigned(tree))) if not name.startswith("_")}


def names_defined_twice(folder: Path = PACKAGE) -> list[str]:
    """Return the public top-level names that two modules or more define, without the room `read`."""
    trees = [tree for path, tree in modules(folder) if path.relative_to(folder).parts[0] != "read"]
    counts = Counter(chain.from_iterable(public_names(tree) for tree in trees))
    return sorted(name for name, count in counts.items() if count > 1)


def is_numeric(value: ast.expr) -> bool:
    """Return whether a value is a number, arithmetic of numbers, or a tuple of these."""
    match value:
        case ast.Constant(value=number):
            return isinstance(number, int | float) and not isinstance(number, bool)
        case ast.UnaryOp(operand=operand):
            return is_numeric(operand)
        case ast.BinOp(left=left, right=right):
            return is_numeric(left) and is_numeric(right)
        case ast.Tuple(elts=elements):
            return all(is_numeric(element) for element in elements)
        case _:
            return False


def numeric_constants(folders: Sequence[Path]) -> list[str]:
    """Return the numeric constants that modules of these folders bind at their top level, private ones too."""
    trees = [tree for folder in folders for _, tree in modules(folder)]
    return [name for tree in trees for name, value in assigned(tree) if is_numeric(value)]


def touched(heading: str, text: str) -> list[str]:
    """Return the paths in the first column of the table below a heading."""
    section = text.partition(f"\n{heading}")[2].partition("\n## ")[0]
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return [path for cell in cells for path in re.findall(r"`([^`]+)`", cell)]


def missing(paths: Sequence[str]) -> list[str]:
    """Return the paths that do not exist; what stands in angle brackets may be any name."""
    return [path for path in paths if not any(ROOT.glob(re.sub(r"<[^>]+>", "*", path)))]


def processor_seconds() -> tuple[float, int]:
    """Return the processor seconds of `sh .ci/env pytest`, all its processes included, and its exit code."""
    code = subprocess.run(["sh", str(ROOT / ".ci" / "env"), "pytest"], check=False).returncode
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)  # that of the comparison counts too: less than a second
    return usage.ru_utime + usage.ru_stime, code


def loaded_modules() -> int:
    """Return how many modules Python loads to compare two files of one benchmark, the packages' modules included."""
    with tempfile.TemporaryDirectory() as folder:
        for name, times in (("base", "1.0, 1.1, 1.2"), ("head", "1.1, 1.2, 1.3")):
            result = f'{{"results": [{{"command": "sort", "times": [{times}]}}]}}'
            (Path(folder) / f"{name}.json").write_text(result, encoding="utf-8")
        command = [sys.executable, "-c", COMPARE, "compare", "base.json", "head.json"]
        ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return int(ended.stderr.splitlines()[-1])


def main(*options: str) -> None:
    def say(text: str) -> None:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()

    say(f"public names defined in two modules or more: {len(names_defined_twice())}")
    constants = numeric_constants([PACKAGE / room for room in DECIDING_ROOMS])
    limits = sum(bool(LIMIT.match(name)) for name in constants)
    say(f"numeric constants that decide: {len(constants) - limits} (and {limits} limits of sizes)")
    text = CONTRIBUTING.read_text(encoding="utf-8")
    for walk, heading in WALKS.items():
        paths = touched(heading, text)
        code = sum(path.startswith("bot/") for path in paths)
        say(f"files touched for {walk}: {len(paths)} ({code} of code)")
        if absent := missing(paths):
            sys.exit(f"CONTRIBUTING lists what does not exist: {', '.join(absent)}")
    say(f"modules loaded to compare two small files: {loaded_modules()}")
    if "--quick" not in options:
        seconds, code = processor_seconds()
        say(f"processor seconds of the tests by day: {seconds:.0f}")
        sys.exit(code)


if __name__ == "__main__":
    main(*sys.argv[1:])
