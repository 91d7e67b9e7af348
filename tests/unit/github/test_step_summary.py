from pathlib import Path

import pytest

from perf_culprit.errors import InfrastructureError
from perf_culprit.github.runner_files import append_summary
from perf_culprit.model.text_limits import TEXT_LIMITS


def test_appends(tmp_path: Path) -> None:
    path = tmp_path / "summary"
    append_summary("### one", path=path)
    append_summary("### zwei 🔴", path=path)
    assert path.read_text(encoding="utf-8") == "### one\n### zwei 🔴\n"


@pytest.mark.parametrize("line", ["a row of the table", "eine Zeile größer 🔴"])
def test_cuts_at_a_line_to_one_mebibyte(tmp_path: Path, line: str) -> None:
    path = tmp_path / "summary"
    append_summary(f"{line}\n" * 100_000, path=path)
    assert TEXT_LIMITS.summary_bytes - 200 < path.stat().st_size <= TEXT_LIMITS.summary_bytes
    lines = path.read_text(encoding="utf-8").splitlines()
    assert set(lines[:-3]) == {line}
    assert lines[-2].startswith("Cut here: a job summary holds 1 MiB")


def test_counts_what_is_in_the_file_already(tmp_path: Path) -> None:
    path = tmp_path / "summary"
    path.write_bytes(b"x" * (TEXT_LIMITS.summary_bytes - 1000))
    append_summary("line\n" * 1000, path=path)
    assert TEXT_LIMITS.summary_bytes - 1000 < path.stat().st_size <= TEXT_LIMITS.summary_bytes


def test_a_full_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "summary"
    path.write_bytes(b"x" * TEXT_LIMITS.summary_bytes)
    append_summary("more", path=path)
    assert path.stat().st_size == TEXT_LIMITS.summary_bytes


def test_takes_lone_surrogates(tmp_path: Path) -> None:
    path = tmp_path / "summary"
    append_summary("name \ud800", path=path)
    assert path.read_text(encoding="utf-8") == "name ?\n"


def test_says_where_it_cannot_write(tmp_path: Path) -> None:
    with pytest.raises(InfrastructureError, match="cannot write the job summary: Is a directory") as raised:
        append_summary("x", path=tmp_path)
    assert raised.value.place == str(tmp_path)
