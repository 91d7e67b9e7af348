"""Files for the given names: patterns, folders, standard input and foreign archives."""

import io
import os
import stat
import struct
import tracemalloc
import warnings
import zipfile
from pathlib import Path

import pytest

from perf_culprit.errors import DataError
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.read.results.collect import collect_sources
from perf_culprit.read.results.input_files import read_archive, read_inputs


def test_patterns_directories_and_files_are_found_once(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    for name in ("a.txt", "deep/b.txt", "deep/er/c.txt", "deep/d.log"):
        (tmp_path / name).write_text("1")
    result = read_inputs([f"{tmp_path}/**/*.txt", str(tmp_path), f"{tmp_path}/a.txt"])
    names = [[Path(source.name).name for source in entry.sources] for entry in result]
    assert names == [["a.txt", "b.txt", "c.txt"], ["d.log"]]
    assert all(entry.is_search for entry in result)


def test_hidden_files_of_a_folder_are_no_results(tmp_path: Path) -> None:
    (tmp_path / ".codspeed").mkdir()
    for name in (".codspeed/.gitignore", ".codspeed/results.json"):
        (tmp_path / name).write_text("*")
    (entry,) = read_inputs([str(tmp_path)])
    assert [Path(source.name).name for source in entry.sources] == ["results.json"]


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
    monkeypatch.setattr(type(FILE_LIMITS), "total_bytes", 10)
    with pytest.raises(DataError, match="or 10 bytes together"):
        read_inputs([str(tmp_path)])


def zipped(members: list[tuple[str | zipfile.ZipInfo, bytes]], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # zipfile warns of duplicate names
        with zipfile.ZipFile(buffer, "w", method) as archive:
            for name, data in members:
                archive.writestr(name, data)
    return buffer.getvalue()


def refusal(data: bytes) -> str:
    with pytest.raises(DataError) as caught:
        read_archive(data, name="artifact.zip")
    assert caught.value.place == "artifact.zip"
    return caught.value.message


def link() -> zipfile.ZipInfo:
    member = zipfile.ZipInfo("link.json")
    member.external_attr = (stat.S_IFLNK | 0o777) << 16
    return member


def test_files_are_read_and_folders_passed_over() -> None:
    sources = read_archive(zipped([("out/", b""), ("out/a.txt", b"1\n2\n"), ("b.txt", b"3")]), name="artifact.zip")
    assert [(source.name, source.data) for source in sources] == [
        ("artifact.zip/out/a.txt", b"1\n2\n"),
        ("artifact.zip/b.txt", b"3"),
    ]
    assert [benchmark.name for benchmark in collect_sources(sources).benchmarks] == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../../slip.json", "leads out of the archive"),
        ("a/../../slip.json", "leads out of the archive"),
        ("/etc/passwd", "is an absolute path"),
        ("..\\..\\slip.json", "holds a backslash"),
        ("C:slip.json", "names a drive"),
    ],
)
def test_names_that_lead_elsewhere_are_refused(name: str, reason: str) -> None:
    assert reason in refusal(zipped([("good.json", b"{}"), (name, b"{}")]))


def test_links_duplicates_and_empty_archives_are_refused() -> None:
    assert "is a link" in refusal(zipped([(link(), b"/etc/passwd")]))
    assert "stands there twice" in refusal(zipped([("a.json", b"1"), ("a.json", b"2")]))
    assert "holds no file" in refusal(zipped([]))


def test_encrypted_members_are_refused() -> None:
    data = bytearray(zipped([("a.json", b"1")]))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(signature) + offset] |= 1
    assert "is encrypted" in refusal(bytes(data))


def test_unusual_compression_is_refused() -> None:
    assert "is compressed in a way" in refusal(zipped([("a.json", b"1" * 99)], zipfile.ZIP_LZMA))


def test_a_bomb_of_a_gigabyte_is_refused_in_little_memory() -> None:
    buffer = io.BytesIO()
    zeros = bytes(1 << 20)
    with (
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("b.json", "w") as f,
    ):
        for _ in range(60):
            f.write(zeros)
    assert "unpacks to more than 200 times its size" in refusal(buffer.getvalue())
    # A declared size of two gigabytes, over the same few bytes: refused before anything is unpacked.
    data = bytearray(buffer.getvalue())
    struct.pack_into("<I", data, data.index(b"PK\x01\x02") + 24, 1 << 31)
    tracemalloc.start()
    message = refusal(bytes(data))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "is larger than" in message
    assert peak < 4 << 20


def test_a_member_that_lies_about_its_size_is_not_believed() -> None:
    data = bytearray(zipped([("b.json", b"0" * (4 << 20))]))
    struct.pack_into("<I", data, data.index(b"PK\x01\x02") + 24, 10)
    assert "is a broken zip archive" in refusal(bytes(data))


def test_many_small_members_together_are_too_much() -> None:
    noise = bytes(range(256)) * 256
    members: list[tuple[str | zipfile.ZipInfo, bytes]] = [(f"{i}.bin", noise) for i in range(3)]
    data = bytearray(zipped(members, zipfile.ZIP_STORED))
    start = 0
    for _ in range(3):
        start = data.index(b"PK\x01\x02", start) + 4
        struct.pack_into("<II", data, start + 16, 60 << 20, 60 << 20)
    assert "unpacks to more than" in refusal(bytes(data))


def test_too_many_members_are_counted_before_they_are_read() -> None:
    assert "holds more than" in refusal(b"PK\x03\x04" + b"PK\x01\x02" * (FILE_LIMITS.members + 1))


def test_broken_archives_are_data_errors_wherever_they_are_cut() -> None:
    data = zipped([("a.json", b"{}"), ("b/c.json", b"[1]" * 50)])
    for end in range(4, len(data)):
        refusal(data[:end])


def test_changed_bytes_never_escape_as_other_errors() -> None:
    data = zipped([("a.txt", b"1\n2\n"), ("b/c.txt", b"12345\n" * 20)])
    for position in range(4, len(data)):
        for value in (0x00, 0xFF, data[position] ^ 0x01):
            changed = data[:position] + bytes([value]) + data[position + 1 :]
            try:
                sources = read_archive(changed, name="artifact.zip")
            except DataError:
                continue
            assert sum(len(source.data) for source in sources) <= 1_000
