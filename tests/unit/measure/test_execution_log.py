from pathlib import Path

import pytest

from perf_culprit.errors import UsageError
from perf_culprit.measure.processes import Log, shown_output
from perf_culprit.model.text_limits import TEXT_LIMITS


def test_a_log_starts_anew_or_goes_on(tmp_path: Path) -> None:
    for text, keep in (("first", False), ("second", False), ("third", True)):
        with Log(tmp_path / "log.txt", keep=keep) as log:
            log.remark(text)
    assert (tmp_path / "log.txt").read_text() == "=== second\n=== third\n"


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot be written"):
        Log(tmp_path / "file" / "log.txt")


def test_shown_output_keeps_names_and_commands_nobody() -> None:
    assert shown_output(b"FAILED b.py::test_write[a-1]\n") == "FAILED b.py::test_write[a-1]"
    assert not shown_output(b"::add-mask::x\n").startswith("::")
    assert "##[" not in shown_output(b"so ##[error]x")


def test_the_error_of_a_failed_collection_is_shown_beside_the_summary() -> None:
    lines = [
        "E   ModuleNotFoundError: No module named 'words'",
        *(f"line {n}" for n in range(8)),
        "ERROR b.py",
        "1 error",
    ]
    shown = shown_output("\n".join(lines).encode())
    assert "No module named 'words'" in shown
    assert shown.endswith("ERROR b.py | 1 error")
    long = shown_output("\n".join([lines[0], *(f"{n}" * 300 for n in range(6))]).encode())
    assert "No module named 'words'" in long
    assert len(long) <= TEXT_LIMITS.output_characters + len(" … ")


def test_the_error_comes_first_where_a_reader_may_cut_the_line() -> None:
    traceback = 'File "a.py", line 87, in __init__\n    self.tokens = self.clex.tokens\n    ^^^^^^\nKeyError: 1\n'
    assert shown_output(traceback.encode()) == (
        'KeyError: 1 | File "a.py", line 87, in __init__ | self.tokens = self.clex.tokens'
    )
    compiler = b"a.c:3:5: error: expected ';'\n   3 |  x\n     |   ^\na.c:9:1: error: 'y'\nmake: *** [bench]\n"
    assert shown_output(compiler).startswith("a.c:3:5: error: expected ';' | ")
