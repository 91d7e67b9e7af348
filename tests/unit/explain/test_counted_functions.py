"""Callgrind's files of a commit and its parent: the functions whose instructions make up the change."""

import shutil
import subprocess
from pathlib import Path

import pytest

from perf_culprit.explain.counted_functions import costly_functions
from perf_culprit.model.call_tree import ChangeKind, Touched, TouchedFunction
from perf_culprit.model.report import ChangeCause

PARSE = """# callgrind format
events: Ir
fl=(1) app.c
fn=(1) main
10 {main}
cfn=(2) parse
calls={calls} 20
11 {below}
fn=(2)
20 {parse}
fn=(3) parse'2
21 {deeper}
"""
LOCALE = """fn=(3)
cfn=(4) localeconv
calls=40 1
22 4000
fn=(4)
1 4000
"""


def written(folder: Path, name: str, text: str) -> list[Path]:
    (folder / name).write_text(text)
    return [folder / name]


def test_the_change_is_split_over_functions_exactly(tmp_path: Path) -> None:
    before = written(tmp_path, "a", PARSE.format(main=100, calls=40, below=3000, parse=2000, deeper=1000))
    after = written(tmp_path, "b", PARSE.format(main=100, calls=40, below=8000, parse=2600, deeper=1400) + LOCALE)
    head = "f" * 40
    parse = TouchedFunction(
        path="app.c", qualified_name="parse", kind=ChangeKind.CHANGED, first_line=18, last_line=30, changed_line=21
    )
    locale, first = costly_functions(before, after, touched=Touched(base=None, head=head, functions=(parse,)))
    assert (locale.method, locale.score, locale.baseline, locale.path) == (
        "localeconv",
        0.8,
        None,
        ("parse", "localeconv"),
    )
    assert (first.method, first.score, first.cause) == ("parse", 0.2, ChangeCause.TIME_PER_CALL)
    assert first.baseline is not None
    assert first.target is not None
    assert (first.baseline.self_time, first.target.self_time, first.target.calls) == (3000, 4000, 40)
    assert first.touched is not None
    assert (first.touched.file, first.touched.first_line) == ("app.c", 21)
    # With the sides swapped it is removed, and still the largest part of the change.
    gone, less = costly_functions(after, before)
    assert (gone.method, gone.score, gone.target) == ("localeconv", 0.8, None)
    assert (less.relative_change, less.reasons) == (-0.25, ())


def test_a_function_that_is_called_more_often(tmp_path: Path) -> None:
    before = written(tmp_path, "a", PARSE.format(main=100, calls=40, below=3000, parse=2000, deeper=1000))
    after = written(tmp_path, "b", PARSE.format(main=100, calls=80, below=6000, parse=4000, deeper=2000))
    (parse,) = costly_functions(before, after)
    assert (parse.cause, parse.relative_change) == (ChangeCause.MORE_CALLS, 1.0)


def test_equal_counts_name_nothing(tmp_path: Path) -> None:
    same = written(tmp_path, "a", PARSE.format(main=100, calls=40, below=3000, parse=2000, deeper=1000))
    assert costly_functions(same, same) == ()


SOURCE = """
int work(int n) {{ int s = 0; for (int i = 0; i < n; i++) s += i % 7; return s; }}
int main(void) {{ return work({n}) == 1; }}
"""


@pytest.mark.skipif(not (shutil.which("valgrind") and shutil.which("gcc")), reason="needs valgrind and gcc")
def test_of_a_real_program(tmp_path: Path) -> None:
    sides = []
    for n in (10_000, 20_000):
        (tmp_path / "work.c").write_text(SOURCE.format(n=n))
        subprocess.run(["gcc", "-O0", "-g", "-o", "work", "work.c"], cwd=tmp_path, check=True)
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={tmp_path}/{n}.callgrind", "./work"]
        subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
        sides.append([tmp_path / f"{n}.callgrind"])
    (work,) = costly_functions(*sides)
    assert work.method == "work"
    assert work.score == pytest.approx(1, abs=0.01)
