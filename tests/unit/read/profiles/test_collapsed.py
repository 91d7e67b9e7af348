from pathlib import Path

import pytest

from perf_culprit.errors import DataError
from perf_culprit.model.call_tree import ProfileReading, RecordFault
from perf_culprit.read.profiles.profile_reading import read_profiles


def reading(tmp_path: Path, text: str | bytes) -> ProfileReading:
    path = tmp_path / "stacks.txt"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_profiles([str(path)])


def times(read: ProfileReading) -> dict[str, tuple[float, float]]:
    """Per path: elapsed and self."""
    paths: list[str] = []
    (profile,) = read.profiles
    for node in profile.nodes:
        paths.append(node.method if node.parent is None else f"{paths[node.parent]};{node.method}")
    return {path: (node.elapsed_ms[0], node.self_ms[0]) for path, node in zip(paths, profile.nodes, strict=True)}


def test_counts_are_self_and_add_up_towards_the_root(tmp_path: Path) -> None:
    read = reading(tmp_path, "main;find 3\nmain;find;scan line 4\nmain 1\nmain;find 2\n")
    assert times(read) == {"main": (10, 1), "main;find": (9, 5), "main;find;scan line": (4, 4)}
    assert (read.profiles[0].unit, read.profiles[0].nodes[0].calls) == ("samples", None)
    assert (read.records, read.unused) == (4, ())


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_what_windows_writes(tmp_path: Path, encoding: str) -> None:
    assert times(reading(tmp_path, "main;größe 3\r\nmain 1\r\n".encode(encoding))) == {
        "main": (4, 1),
        "main;größe": (3, 3),
    }


def test_places_in_names_are_files_and_lines(tmp_path: Path) -> None:
    read = reading(tmp_path, "main (app.py:3);find (shop/dao.py:12) 3\nmain (app.py:9);find (shop/dao.py:10) 1\n")
    assert times(read) == {"app.py:main": (4, 0), "app.py:main;dao.py:find": (4, 4)}
    assert (read.profiles[0].nodes[1].file, read.profiles[0].nodes[1].line) == ("shop/dao.py", 10)


def test_what_is_no_stack_is_counted_and_shown(tmp_path: Path) -> None:
    read = reading(tmp_path, "main 1\n" * 5 + "# a remark\n\nmain -4\nmain 1e400\nmain nan\nlonely\n 12\n")
    assert times(read) == {"main": (5, 5)}
    assert dict(read.unused) == {RecordFault.NUMBER: 3, RecordFault.MALFORMED: 2}
    assert (read.examples[0].place[-2:], read.examples[0].text) == (":8", "main -4")


def test_stacks_too_deep_keep_their_time_with_the_deepest_caller(tmp_path: Path) -> None:
    read = reading(tmp_path, ";".join(f"f{i}" for i in range(12_000)) + " 5\n")
    (profile,) = read.profiles
    assert len(profile.nodes) == 10_000
    assert (profile.nodes[0].elapsed_ms, profile.nodes[-1].self_ms) == ((5,), (5,))
    assert dict(read.unused) == {RecordFault.TOO_DEEP: 1}


def test_nothing_measured_is_an_error_with_an_example(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"stacks\.txt: holds no measured execution"):
        reading(tmp_path, "main 0\n")
