import io
import os
import zipfile
from pathlib import Path

import pytest

from perf_culprit.errors import DataError
from perf_culprit.read.results import inputs
from perf_culprit.read.results.inputs import read_inputs


def test_patterns_directories_and_files_are_found_once(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    for name in ("a.txt", "deep/b.txt", "deep/er/c.txt", "deep/d.log"):
        (tmp_path / name).write_text("1")
    result = read_inputs([f"{tmp_path}/**/*.txt", str(tmp_path), f"{tmp_path}/a.txt"])
    names = [[Path(source.name).name for source in entry.sources] for entry in result]
    assert names == [["a.txt", "b.txt", "c.txt"], ["d.log"]]
    assert all(entry.is_search for entry in result)


def test_a_named_file_may_have_a_bracket_in_its_name(tmp_path: Path) -> None:
    path = tmp_path / "bench[1].txt"
    path.write_text("1")
    (entry,) = read_inputs([str(path)])
    assert not entry.is_search


def test_a_pattern_without_match_and_an_empty_directory_say_so(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="matches no file"):
        read_inputs([f"{tmp_path}/*.json"])
    with pytest.raises(DataError, match="holds no file"):
        read_inputs([str(tmp_path)])
    with pytest.raises(DataError, match="No such file"):
        read_inputs([f"{tmp_path}/missing.json"])


def test_standard_input_is_a_dash() -> None:
    (entry,) = read_inputs(["-", "-"], stdin=io.BytesIO(b"1\n"))
    assert [source.data for source in entry.sources] == [b"1\n"]


def test_links_in_a_directory_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("1")
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "link.txt").symlink_to(tmp_path / "secret")
    (folder / "up").symlink_to(tmp_path)
    with pytest.raises(DataError, match="holds no file"):
        read_inputs([str(folder)])


def test_pipes_in_a_directory_are_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="holds no file"):
        read_inputs([str(tmp_path)])


def test_archives_are_opened(tmp_path: Path) -> None:
    path = tmp_path / "artifact"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "1")
    (entry,) = read_inputs([str(path)])
    assert [source.name for source in entry.sources] == [f"{path}/a.txt"]
    assert entry.is_search


def test_too_much_together_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("123456")
    monkeypatch.setattr(inputs, "MAX_TOTAL_BYTES", 10)
    with pytest.raises(DataError, match="or 10 bytes together"):
        read_inputs([str(tmp_path)])
