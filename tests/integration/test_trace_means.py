"""Each language's profiler on a real repository: one line says what traced, and the slower function is found."""

import shutil
from pathlib import Path

import pytest

from perf_culprit.config.settings import Config
from perf_culprit.explain.compare_trees import compare_profiles
from perf_culprit.machine import trace_means
from perf_culprit.machine.this_machine import TracePlan, this_machine
from perf_culprit.machine.trace_means import Traced, trace_revisions
from perf_culprit.measure.runner import Commands
from perf_culprit.model.report import Answer
from tests.support.measured_repository import Commit, measured_repository

GO = """
package shop
func parse(n int) int { s := 0; for i := 0; i < n; i++ { s += i*i%7 }; return s }
func render(n int) int { s := 0; for i := 0; i < 4*n; i++ { s += i*i%7 }; return s }
func Total(n int) int { return parse(SLOW*n) + render(n) }
"""
GO_TEST = 'package shop\nimport "testing"\nfunc BenchmarkTotal(b *testing.B) { for b.Loop() { Total(100000) } }\n'
LOOPS = "let s = 0; for (let i = 0; i < n; i++) s += Math.sqrt(i); return s"
NODE = f"""
function parse(n) {{ n *= SLOW; {LOOPS} }}
function render(n) {{ n *= 4; {LOOPS} }}
for (let i = 0; i < 40; i++) {{ parse(1e6); render(1e6) }}
console.log(1)
"""
JAVA_LOOP = "double s = 0; for (long i = 0; i < n; i++) s += Math.sqrt(i); return s;"
JAVA = f"""
public class Bench {{
  static double parse(long n) {{ n *= SLOW; {JAVA_LOOP} }}
  static double render(long n) {{ n *= 4; {JAVA_LOOP} }}
  public static void main(String[] a) {{
    double s = 0; for (int i = 0; i < 100; i++) s += parse(1000000) + render(1000000); System.out.println(1 + 0 * s);
  }}
}}
"""
C_LOOP = "volatile double s = 0; for (long i = 0; i < n; i++) s += i; return s;"
C = f"""
#include <stdio.h>
double parse(long n) {{ n *= SLOW; {C_LOOP} }}
double render(long n) {{ n *= 4; {C_LOOP} }}
int main(void) {{ for (int i = 0; i < TIMES; i++) {{ parse(100000); render(100000); }} puts("1"); }}
"""
CC = "cc -O1 -g -DTIMES={} b.c -o bench"
SHOP = """
def parse(n):
    return sum([i * i for i in range(SLOW * n)])
def render(n):
    return sum(range(9 * n))
"""
MAKE = ".PHONY: bench\nbench:\n\tPYTHONPATH=lib python3 bench.py\n"
PYTHON = {
    "lib/shop.py": SHOP,
    "bench.py": "import shop\nfor _ in range(300):\n    shop.parse(5000); shop.render(5000)\nprint(1)\n",
}
MADE = PYTHON | {"Makefile": MAKE}
SYSTEM = "PATH=/usr/local/bin:/usr/bin:/bin"


def traced(folder: Path, files: dict[str, str], command: str, build: str | None = None) -> Traced:
    """Trace two commits, of which the second parses six times as much."""
    sides = [{name: text.replace("SLOW", times) for name, text in files.items()} for times in ("1", "6")]
    commits = measured_repository(
        folder / "repository", {name: Commit(files=one) for name, one in zip("ab", sides, strict=True)}
    )
    with this_machine(
        folder / "repository",
        Commands(run=command, build=build),
        config=Config(),
        tool="auto",
        log=folder / "log",
    ) as workplace:
        return trace_revisions(
            command,
            "auto",
            workplace=workplace,
            commits={"baseline": commits["a"], "target": commits["b"]},
            plan=TracePlan(budget_s=15),
            folder=folder,
            say=lambda _: None,
        )


def needs(*programs: str) -> pytest.MarkDecorator:
    missing = [one for one in programs if shutil.which(one) is None]
    return pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)}: not installed")


NEEDS_PERF = pytest.mark.skipif(not trace_means._has_perf(), reason="perf is not installed, or may not record here")
GO_FILES = {"go.mod": "module shop\ngo 1.24\n", "shop.go": GO, "shop_test.go": GO_TEST}
NODE_FILES = {"bench.js": NODE, "package.json": '{"scripts": {"bench": "node bench.js"}}'}
PYTHON_TRACER = "our tracer for Python"


@pytest.mark.slow  # ten executions under a profiler
@pytest.mark.parametrize(
    ("files", "command", "by"),
    [
        pytest.param(GO_FILES, "go test -bench . -benchtime 1s", "go test -cpuprofile", marks=needs("go")),
        pytest.param(NODE_FILES, "npm run -s bench", "node --cpu-prof", marks=needs("npm")),
        pytest.param({"Bench.java": JAVA}, "java Bench.java", "Java's Flight Recorder", marks=needs("java", "jfr")),
        pytest.param({"b.c": C}, "./bench", "perf", marks=[needs("cc"), NEEDS_PERF]),
        pytest.param(PYTHON, "PYTHONPATH=lib python3 bench.py", PYTHON_TRACER),
        pytest.param(MADE, f"{SYSTEM} make bench", PYTHON_TRACER, marks=needs("make", "/usr/bin/python3")),
    ],
    ids=["go", "node", "java", "c", "python", "make"],
)
def test_the_slower_function_is_traced(tmp_path: Path, files: dict[str, str], command: str, by: str) -> None:
    answer = traced(tmp_path, files, command, CC.format(500) if "b.c" in files else None)
    assert answer.line == f"traced by {by}"
    comparison = compare_profiles(*answer.profiles())
    assert comparison.answer is not Answer.NOT_SLOWER
    (service,) = comparison.services
    assert any("parse" in node.method and node.target is not None for node in service.nodes)


@pytest.mark.slow
@needs("npm")
def test_what_starts_a_short_program_of_node_is_not_taken_for_it(tmp_path: Path) -> None:
    short = NODE_FILES | {"bench.js": NODE.replace("i < 40", "i < 2")}
    before, after = traced(tmp_path, short, "npm run -s bench").profiles()
    assert all("npm" not in node.method for profile in (*before, *after) for node in profile.nodes)
    assert any("bench.js" in node.method for profile in before for node in profile.nodes)


@pytest.mark.slow
@needs("cc", "valgrind")
def test_without_perf_a_short_program_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_means, "_has_perf", lambda: False)
    answer = traced(tmp_path, {"b.c": C}, "./bench", CC.format(2))
    assert answer.line == "traced by callgrind"
    assert "parse" in compare_profiles(*answer.profiles()).suspects[0].method


@needs("cc", "valgrind")
def test_without_perf_a_long_program_is_not_traced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_means, "_has_perf", lambda: False)
    answer = traced(tmp_path, {"b.c": C}, "./bench && sleep 1", CC.format(2))
    assert answer.line.startswith("not traced, because perf does not work on this machine, and counting instructions")
