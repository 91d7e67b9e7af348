import io
import json
import marshal
import pickle
import zlib
from pathlib import Path

import pytest

from perf_culprit.errors import DataError
from perf_culprit.read.results.content import shown
from perf_culprit.read.results.source import Source, read_file, read_stream


def refusal(data: bytes, *, as_json: bool = False) -> str:
    source = Source("results/bench.json", data)
    with pytest.raises(DataError) as caught:
        source.json() if as_json else source.text()
    assert caught.value.next_step
    assert caught.value.place
    assert caught.value.place.startswith("results/bench.json")
    # A second read gives the same answer, because the first one is cached.
    assert source.json_or_none() is None
    return str(caught.value).partition("\n")[0]


@pytest.mark.parametrize(
    "data",
    [
        '{"µ": 1}'.encode(),
        b"\xef\xbb\xbf" + '{"µ": 1}'.encode(),
        '{"µ": 1}'.encode("utf-16"),
        b"\xfe\xff" + '{"µ": 1}'.encode("utf-16-be"),
    ],
)
def test_utf8_and_marked_utf16_are_read(data: bytes) -> None:
    assert Source("x", data).json() == {"µ": 1}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "is empty"),
        (b" \r\n", "is empty"),
        (bytes(4096), "holds only zero bytes"),
        (b"abc\x00def", "is binary (a zero byte at byte 3)"),
        (b"caf\xe9", "is neither UTF-8 nor UTF-16 with a byte order mark (byte 3)"),
        (b"\xef\xbb\xbfcaf\xe9", "(byte 6)"),
        ("x".encode("utf-32"), "is binary"),
        (pickle.dumps({"a": 1}), "is a Python pickle"),
        (marshal.dumps({("a.py", 1, "f"): (1, 1, 0.5, 0.5, {})}), "is marshalled Python data"),
        (b"\xa7\x0d\r\n" + bytes(12), "is compiled Python"),
        (b"\x1f\x8b\x08" + zlib.compress(b"x"), "is gzip data"),
        (b"PK\x03\x04rest", "is a zip archive"),
        (b"\x7fELF\x02", "is a program"),
        (b"\x89PNG\r\n", "is a picture"),
    ],
)
def test_what_is_no_text_is_named(data: bytes, reason: str) -> None:
    assert reason in refusal(data)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a": 1,\n "b": }', "results/bench.json:2:7: is not valid JSON"),
        ("[" * 100_000, "is nested too deeply"),
        ('{"a":' * 100_000, "is nested too deeply"),
        ("9" * 5_000, "holds an integer with thousands of digits"),
        ('{"a": 1, "a": 2}', "holds the name `a` twice"),
        ('{"a', "is not valid JSON"),
    ],
)
def test_broken_json_is_a_data_error(text: str, reason: str) -> None:
    assert reason in refusal(text.encode(), as_json=True)


def test_nan_comes_through_for_the_parser_to_judge() -> None:
    value = Source("x", b"[NaN, Infinity]").json()
    assert json.dumps(value) == "[NaN, Infinity]"


def test_a_file_over_the_limit_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "big.json"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(DataError, match="is larger than"):
        read_file(path)


def test_a_stream_is_read_only_up_to_the_limit() -> None:
    stream = io.BytesIO(b"x" * 100)
    with pytest.raises(DataError, match="standard input: is larger than 10 bytes"):
        read_stream("-", stream, max_bytes=10)
    assert stream.tell() == 11


@pytest.mark.parametrize("path", ["missing.json", ".", "a\x00b", "x" * 5_000])
def test_paths_that_cannot_be_read_are_data_errors(path: str) -> None:
    with pytest.raises(DataError) as caught:
        read_file(path)
    assert caught.value.next_step


def test_foreign_names_are_shown_without_control_characters_and_cut() -> None:
    assert shown("a\x1b[31m\n\u202eb\ud800") == "a\ufffd[31m\ufffd\ufffdb\ufffd"
    assert len(shown("x" * 500)) == 120
    assert Source("a\nb" * 200, b"").place.count("\n") == 0
