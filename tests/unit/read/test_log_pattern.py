"""Presets read their own examples, pattern files are checked, and foreign JSON is only data."""

import json
import re
from pathlib import Path

import pytest

from perf_culprit.errors import ConfigError, UsageError
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.read.logs.log_pattern import (
    ELAPSED,
    METHOD,
    PRESETS,
    compile_pattern,
    load_pattern,
)
from perf_culprit.read.logs.log_rows import presets_that_read
from tests.support.execution_logs import rows_of

DOCUMENT = Path(__file__).parents[3] / "docs" / "diagnosis.md"


WHOLE = rb"(?P<service>\w+) (?P<call>\w+) (?P<label>[\d.]+) (?P<method>\w+) (?P<elapsed_us>\d+)"


EXAMPLES = {
    "labelled": (
        "2026-03-01 09:15:02.117 [exec-7] service=placeOrder call=c81f02 1.1.2.1 com.acme.OrderDao.find 12.345 ms"
    ),
    "spring": (
        "2026-03-01T09:15:02.117Z  INFO 4711 --- [orders] [nio-8080-exec-7] [65f1c0a2b3d4-7d1e] "
        "c.acme.CallTimer : 1.1.2.1 OrderDao.find 12.345 ms"
    ),
    "json": (
        '{"time": "2026-03-01T09:15:02.117Z", "service": "placeOrder", "call": "c81f02", "label": "1.1.2.1", '
        '"method": "com.acme.OrderDao.find", "elapsed_ms": 12.345, "thread": "exec-7"}'
    ),
}


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_reads_its_example(name: str) -> None:
    (row,) = rows_of(load_pattern(name), EXAMPLES[name].encode())
    time, thread, service, call, label, method, elapsed = row
    assert service in {b"placeOrder", b"orders"}
    assert label == b"1.1.2.1"
    assert method.endswith(b"OrderDao.find")
    assert float(elapsed) == 12.345
    assert call
    assert time
    assert time.startswith(b"2026-03-01")
    assert thread
    assert thread.endswith(b"exec-7")


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_documented_with_its_example(name: str) -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert f"`{name}`" in text
    assert EXAMPLES[name] in text


def test_presets_do_not_read_each_others_lines() -> None:
    for name in PRESETS:
        assert presets_that_read([EXAMPLES[name].encode()]) == [name]


def test_a_pattern_file(tmp_path: Path) -> None:
    path = tmp_path / "pattern.txt"
    path.write_bytes(WHOLE + b"\n")
    pattern = load_pattern(str(path))
    assert pattern.ms_per_unit == 1e-3
    assert rows_of(pattern, b"xx shop c1 1.2 find 250", b"nothing") == [
        (None, None, b"shop", b"c1", b"1.2", b"find", b"250"),
    ]


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        (rb" (?P<time>\S+)", (b"12:00", None)),
        (rb" (?P<thread>\S+)", (None, b"12:00")),
        (rb" (?P<thread>\S\S)(?P<time>\S+)", (b":00", b"12")),
    ],
)
def test_optional_groups(extra: bytes, expected: tuple[bytes | None, bytes | None]) -> None:
    (row,) = rows_of(compile_pattern(WHOLE + extra, name="p"), b"shop c1 1.2 find 250 12:00")
    assert row[:2] == expected


def test_missing_groups_are_named() -> None:
    with pytest.raises(ConfigError, match="lacks the named groups call, method, elapsed_ms or elapsed_us or elapsed_s"):
        compile_pattern(rb"(?P<service>a)(?P<label>b)(?P<elapsed>1)", name="p.txt")


def test_two_units_are_refused() -> None:
    with pytest.raises(ConfigError, match="gives the time twice: elapsed_ms, elapsed_us"):
        compile_pattern(WHOLE + rb"(?P<elapsed_ms>x)", name="p.txt")


@pytest.mark.parametrize("expression", [b"(", b"(?P<service>", b"*", b"(" * 5_000 + b")" * 5_000, b"a{99999999999}"])
def test_what_is_no_expression(expression: bytes) -> None:
    with pytest.raises(ConfigError, match="no regular expression"):
        compile_pattern(expression, name="p.txt")


def test_no_preset_and_no_file() -> None:
    with pytest.raises(UsageError, match="labelled, spring, json"):
        load_pattern("labeled")


def test_a_file_too_long_for_a_pattern(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"x" * (FILE_LIMITS.pattern_bytes + 1))
    with pytest.raises(ConfigError, match="is larger than"):
        load_pattern(str(path))


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"[]",
        b"{",
        b'{"service": "a"}',
        b'{"service": {}, "call": 1, "label": "1", "method": "m", "elapsed_ms": 1}',
        b'{"service": "a", "call": 1, "label": "1", "method": "m", "elapsed_ms": "1"}',
        b'{"service": "a", "call": 1, "label": "1", "method": "m", "elapsed_ms": true}',
        b"[" * 60_000,
        b'{"a":' * 10_000,
        b"1" * 60_000,
        b"\xff\xfe",
    ],
)
def test_json_that_is_no_execution(line: bytes) -> None:
    assert rows_of(load_pattern("json"), line) == []


def test_json_values_are_text_whatever_they_hold() -> None:
    line = (
        rb'{"service": "a\nb", "call": 7, "label": "1", "method": "\ud800[[[[[[[[[[[[[[[[[[[[[[[[", "elapsed_s": 0.5}'
    )
    (row,) = rows_of(load_pattern("json"), line)
    assert row[2:4] == (b"a\nb", b"7")
    assert row[METHOD].startswith(b"?[")
    assert float(row[ELAPSED]) == 500


def test_huge_json_numbers_are_bad_times_not_errors() -> None:
    line = b'{"service": "a", "call": 1, "label": "1", "method": "m", "elapsed_s": 1' + b"0" * 400 + b"}"
    (row,) = rows_of(load_pattern("json"), line)
    assert row[ELAPSED] == b"inf"


@pytest.mark.parametrize("value", ["123456789012345678901234567890", "-0", "-0.0", "1E5", "0.1e-400", "1" + "0" * 400])
def test_numbers_in_json_are_the_text_that_python_reads(value: str) -> None:
    line = f'{{"service": "a", "call": {value}, "label": "1", "method": "m", "elapsed_ms": 1}}'
    (row,) = rows_of(load_pattern("json"), line.encode())
    assert row[3] == str(json.loads(value)).encode()


def test_presets_give_hostile_lines_up_at_once() -> None:
    for preset in PRESETS.values():
        if preset:
            for line in (b"1 " * 30_000, b"[" * 60_000, b"2 [x] service=a call=b " + b"1." * 30_000, b" " * 60_000):
                assert re.search(preset, line) is None
