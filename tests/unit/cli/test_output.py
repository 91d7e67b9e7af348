"""Text for a terminal: sentences break between words; text that is copied or aligned stays unbroken."""

import ast
import io
import re
from pathlib import Path

import pytest

import perf_culprit
from perf_culprit.cli.output import Status, say, show

BOT = Path(perf_culprit.__file__).parent

SENTENCE = "Worst: parse takes 250% longer. Look there first."
COMMAND = "Again: perf-culprit bisect --good v1.4 --bad main --run './bench --all'"
ROW = "\x1b[31m• parse  13.9 µs  48.5 µs  +250%  slower\x1b[0m"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_nothing_is_wider_than_the_screen_and_a_broken_command_can_be_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    expected = [
        "Worst: parse takes 250%",
        "longer. Look there first.",
        "",
        "  name  1",
        "Again: perf-culprit bisect \\",
        "--good v1.4 --bad main --run \\",
        "'./bench --all'",
        "\x1b[31m• parse  13.9 µs  48.5 µs",
        "  +250%  slower\x1b[0m",
        f"- {'x' * 28}",
        "  xxxx",
    ]
    for stream in (Terminal(), io.StringIO()):
        monkeypatch.setenv("FORCE_COLOR", "1")
        show(f"{SENTENCE}\n\n  name  1\n{COMMAND}\n{ROW}\n- {'x' * 32}\n", stream)
        assert stream.getvalue().splitlines() == expected


def test_a_break_makes_no_command_for_the_runner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "12")
    pipe = io.StringIO()
    show("0123456789 ::debug::x", pipe)
    assert pipe.getvalue() == "0123456789\n: :debug::x\n"


def test_a_coloured_sentence_breaks_and_keeps_its_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    terminal = Terminal()
    show(f"\x1b[1m\x1b[31m  {SENTENCE}\x1b[0m", terminal)
    lines = ["\x1b[1m\x1b[31m  Worst: parse takes 250%", "  longer. Look there first.\x1b[0m"]
    assert terminal.getvalue().splitlines() == lines


def test_what_is_piped_is_whole_without_a_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    pipe = io.StringIO()
    show(f"{SENTENCE}\n{COMMAND}", pipe)
    assert pipe.getvalue() == f"{SENTENCE}\n{COMMAND}\n"


def test_a_commit_of_an_answer_is_a_link_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    pages = {"abc1234": "https://github.com/o/r/commit/abc1234f"}
    text = "abc1234 got slower\n  --good abc1234f\n"
    terminal, pipe = Terminal(), io.StringIO()
    show(text, terminal, links=pages)
    linked = "\x1b]8;;https://github.com/o/r/commit/abc1234f\x1b\\abc1234\x1b]8;;\x1b\\"
    assert terminal.getvalue() == f"{linked} got slower\n  --good abc1234f\n"
    show(text, pipe, links=pages)
    assert pipe.getvalue() == text


EVIL = "a\x1b[2J\x1b[31m\u202eb ##[error]c\n::error::d\n  ::add-mask::e\r::f::"


@pytest.mark.parametrize("screen", [Terminal(), io.StringIO()])
def test_nothing_printed_is_a_command_or_moves_the_cursor(screen: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    say(EVIL, screen)
    show(EVIL, screen)
    Status(screen)(EVIL)
    printed = screen.getvalue().replace("\r\x1b[2K", "").replace("\x1b[31m", "" if screen.isatty() else "\x1b[31m")
    assert not {"\x1b", "\r", "\u202e"} & set(printed)
    assert "##[" not in printed
    assert not any(line.lstrip().startswith("::") for line in printed.splitlines())


def test_everything_printed_goes_through_one_door() -> None:
    """Only `cli/output.py`, the action's log and the tracer, which runs in another program, write to a stream."""
    doors = {"cli/output.py", "action/job.py"}
    written = {
        f"{path.relative_to(BOT)}: {ast.unparse(node.func)}"
        for path in BOT.rglob("*.py")
        if str(path.relative_to(BOT)) not in doors and "tracer" not in path.parts
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and re.fullmatch(r"print|input|(sys\.)?(stdout|stderr)(\.buffer)?\.write(lines)?", ast.unparse(node.func))
    }
    assert written == set()
