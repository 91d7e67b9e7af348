from pathlib import Path

import pytest

from perf_culprit.errors import InfrastructureError
from perf_culprit.github.runner_files import write_outputs
from tests.support.container.file_commands import parse_file_commands

NASTY = [
    "",
    "a",
    "a=b",
    "tail\n",
    "a\nevil=1",
    "x\nEOF\nevil=2\nfoo<<EOF\ny",
    "end-\nevil=3",
    "\r\nevil=4\r\n",
    "größer 🔴",
]


def read(path: Path) -> dict[str, str]:
    return parse_file_commands(path.read_bytes().decode())


@pytest.mark.parametrize("value", NASTY)
def test_the_runner_reads_one_output_with_the_same_value(tmp_path: Path, value: str) -> None:
    path = tmp_path / "output"
    write_outputs({"conclusion": value}, path=path)
    assert read(path) == {"conclusion": value}


def test_appends_all(tmp_path: Path) -> None:
    path = tmp_path / "output"
    path.write_text("earlier=1\n", encoding="utf-8")
    write_outputs({"regressions": "2", "comment-url": "https://example.com"}, path=path)
    assert read(path) == {"earlier": "1", "regressions": "2", "comment-url": "https://example.com"}


def test_the_delimiter_is_never_the_same(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_outputs({"x": "y"}, path=tmp_path / name)
    assert (tmp_path / "one").read_bytes() != (tmp_path / "two").read_bytes()


@pytest.mark.parametrize("name", ["", "a=b", "a<<b", "a\nb", "A b", "-x"])
def test_refuses_names_that_are_none(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="not an output's name"):
        write_outputs({name: "x"}, path=tmp_path / "output")


def test_says_where_it_cannot_write(tmp_path: Path) -> None:
    with pytest.raises(InfrastructureError, match="cannot write the action's outputs: Is a directory"):
        write_outputs({"x": "y"}, path=tmp_path)
