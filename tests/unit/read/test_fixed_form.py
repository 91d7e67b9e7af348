"""Reading many lines at once finds the same as the regular expression line by line."""

import math
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.read.logs import log_rows
from perf_culprit.read.logs.fixed_form import steps_of, walk
from perf_culprit.read.logs.log_pattern import ELAPSED, LABEL, METHOD, LinePattern, compile_pattern, load_pattern
from perf_culprit.read.logs.log_rows import PADDING, read_lines
from tests.support.execution_logs import LABELLED, part_of

if TYPE_CHECKING:
    from perf_culprit.arrays import Integers

DOCUMENTED = compile_pattern(
    rb"^(?P<time>\S+) (?P<service>\w+)/(?P<call>\w+) (?P<label>[\d.]++) (?P<method>\S++) took (?P<elapsed_us>\d+)us",
    name="p",
)
INSIDE = compile_pattern(
    rb"svc=(?P<service>\w+) call=(?P<call>\w+) label=(?P<label>[\d.]+) (?P<method>\S+) took (?P<elapsed_ms>[\d.]+)ms",
    name="inside",
)
LINES = {
    "labelled": b"2026-03-01 09:15:02.117 [exec-7] service=shop call=%s %s com.acme.Dao.find %s ms",
    "spring": b"2026-03-01T09:15:02Z  INFO 1 --- [shop] [exec-8] [%s-7d1e] c.acme.T : %s Dao.find %s ms",
    "p": b"2026-03-01T09:15:02 shop/%s %s com.acme.util.Class06.find took %sus",
    "inside": b"2026-03-01 09:15 INFO svc=svc call=%s label=%s com.acme.Dao.find took %sms",
}
seeded = settings(derandomize=True, deadline=None, max_examples=100)
hostile = st.binary(max_size=60) | st.sampled_from(
    [
        b"",
        b" \t",
        b"\tat java.lang.Thread.run",
        b"x" * (FILE_LIMITS.log_line_bytes + 1),
        b"y" * (2 * FILE_LIMITS.pattern_steps),
        b"\xff\x85\0",
    ]
)


@st.composite
def logs(draw: st.DrawFn, form: bytes) -> bytes:
    """A log of executions, some with a changed byte, a lost piece or an appended text, and of other lines."""
    lines = []
    for _ in range(draw(st.integers(0, 12))):
        call = draw(st.sampled_from([b"c1", b"c2", b"long" * 30, b"c\xe4"]))
        label = draw(st.sampled_from([b"1", b"1.1", b"1.2.1", b"1..1"]))
        line = form % (call, label, draw(st.sampled_from([b"3", b"4.25", b"1.2.3", b"99999999999999999.5"])))
        place = draw(st.integers(0, len(line)))
        what = draw(st.sampled_from(["whole", "whole", "whole", "changed", "cut", "more", "other"]))
        if what == "changed":
            line = line[:place] + draw(st.binary(min_size=1, max_size=1)) + line[place + 1 :]
        elif what == "cut":
            line = line[place:]
        elif what != "whole":
            line = draw(hostile) if what == "other" else line + draw(hostile)
        lines.append(line)
    end = draw(st.sampled_from([b"\n", b"\r\n"]))
    return end.join(lines) + draw(st.sampled_from([b"", end]))


PATTERNS = [LABELLED, load_pattern("spring"), DOCUMENTED, INSIDE]


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.name)
@seeded
@given(st.data(), st.sampled_from([1, 3, 8_192]))
def test_side_by_side_gives_the_part_of_the_expression_alone(
    pattern: LinePattern, data: st.DataObject, at_once: int
) -> None:
    log = data.draw(logs(LINES[pattern.name]))
    with mock.patch.object(log_rows, "AT_ONCE", at_once):
        side_by_side = part_of(log, pattern=pattern, horizon=2)
        with mock.patch.object(log_rows, "steps_of", return_value=None):
            alone = part_of(log, pattern=pattern, horizon=2)
    assert side_by_side == alone


def walked(form: bytes, lines: list[bytes]) -> Iterator[tuple[bool, dict[str, int], int]]:
    """Yield for each line whether it fits, its marks, and its beginning."""
    steps = steps_of(form)
    assert steps is not None
    begins = np.cumsum([0, *(len(line) + 1 for line in lines[:-1])])
    marks: dict[str, Integers] = {}
    _, fits = walk(steps, np.frombuffer(b"\n".join(lines) + PADDING, np.uint8), begins, marks)
    for i, begin in enumerate(begins.tolist()):
        yield bool(fits[i]), {name: int(places[i]) for name, places in marks.items()}, begin


FORMS = [
    rb"(?P<a>[ab]*)(?P<c>c?)d", rb"^(?P<a>\S+) (?P<b>\w+)$", rb"(?P<a>a?+)(?: b++)?+c?(?P<b>[^c]++)\b",
    rb"a(?:b)(?P<a>.*)", rb"(?P<a>[]a-]+)b", rb"(?P<a>\\+)(?P<b>\.?)b", rb"(?P<a>(?P<b>a+)b)(?: c)?(?P<c>)",
    rb"(?P<a>[^\n]++)", rb"(?P<a>\d*+)\b",
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@seeded
@given(st.lists(st.text("abcd .\\]-0", max_size=9).map(str.encode), min_size=1, max_size=20))
def test_a_line_that_fits_has_the_places_that_the_expression_finds(form: bytes, lines: list[bytes]) -> None:
    for i, (fits, marks, begin) in enumerate(walked(form, lines)):
        at_begin = re.compile(form).match(lines[i])
        assert fits == (at_begin is not None)
        for name in at_begin.groupdict() if at_begin else ():
            assert at_begin is not None
            assert tuple(marks[name + end] - begin for end in "()") == at_begin.span(name)


# In these forms, the first way may fail to fit although a later one fits.
WAYS = [
    rb"(?P<a>.*)b", rb"(?P<a>\w+)(?P<b>1?)d", rb"(?P<a>a+?)b", rb"(?P<a>.*?) (?P<b>a*)(?:b)?c", rb"(?P<a>[a ]+)\b",
    rb"(?:ab)?(?P<a>a)", rb"a?(?P<a>a)", rb"(?:a)?+(?P<a>.)", rb"(?: a+)?(?P<a>.)", rb"(?:a*b)?(?P<a>.)",
    rb"(?P<a>.+?) (?P<b>.*?)\.", rb"(?P<a>a*?)[ab](?P<b>.+?)$", rb"(?P<a>.+?)b+(?P<b>.)", rb"(?: (?:a)?+b)?(?P<a>.*)d",
]  # fmt: skip


@pytest.mark.parametrize("form", WAYS)
@seeded
@given(st.lists(st.text("abcd .1", max_size=9).map(str.encode), min_size=1, max_size=20))
def test_a_first_way_that_fits_is_the_match(form: bytes, lines: list[bytes]) -> None:
    for i, (fits, marks, begin) in enumerate(walked(form, lines)):
        at_begin = re.compile(form).match(lines[i])
        if fits:
            assert at_begin is not None
            for name in at_begin.groupdict():
                assert tuple(marks[name + end] - begin for end in "()") == at_begin.span(name)


@pytest.mark.parametrize(
    "expression",
    [
        rb"a|b", rb"a{2}", rb"(?:ab)*c", rb"(?=a)a", rb"(?i)a", rb"a\Z", rb"(?:(?P<a>a))?b", rb"(?P<a>a)(?P=a)",
        rb"\x41", rb"a^", rb"a??b", rb".*?a?b", rb".*?", rb"(?:a*ab)?c", rb"(?:a.*?b)?c", rb"(?:(?:a)?a)?c",
        rb"(?:a?\b)?c", rb"(?:a)??b",
    ],
)  # fmt: skip
def test_what_has_no_sure_first_way_has_no_form(expression: bytes) -> None:
    re.compile(expression)
    assert steps_of(expression) is None


def test_presets_and_own_patterns_have_a_form() -> None:
    for pattern in PATTERNS:
        assert pattern.expression is not None
        log = b"\n".join([LINES[pattern.name] % (b"c1", b"1.1", b"3")] * 3)
        with mock.patch.object(LinePattern, "read", lambda _, lines: [] if not lines else pytest.fail("searched")):
            assert len(read_lines(log, pattern).rows) == 3


def test_rows_with_one_digest_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    log = b"\n".join(LINES["labelled"] % (b"c%d" % (i % 7), b"1.%d" % (i % 5), b"3") for i in range(100))
    rows = read_lines(log, LABELLED).rows

    def numbers() -> list[list[int]]:
        return [rows.numbers(*fields)[0].tolist() for fields in ((METHOD, LABEL), (LABEL, ELAPSED))]

    before = numbers()
    monkeypatch.setattr(log_rows, "_mix", lambda words: words & np.uint64(0))
    assert before == [[i % 5 for i in range(100)]] * 2
    assert numbers() == before


@seeded
@given(
    st.lists(
        st.from_regex(rb"\A-?[0-9]{0,18}\.?[0-9]{0,18}\Z") | st.sampled_from([b"1e5", b"0_4", b"nan", b"1.2.3"]),
        min_size=1,
    )
)
def test_times_are_those_that_a_parser_reads(texts: list[bytes]) -> None:
    pattern = compile_pattern(rb"(?P<service>s)(?P<call>c)(?P<label>1)(?P<method>m) (?P<elapsed_ms>\S*)", name="p")
    read = read_lines(b"".join(b"sc1m %s\n" % text for text in texts), pattern).rows.elapsed().tolist()
    for text, time in zip(texts, read, strict=True):
        try:
            expected = float(text)
        except ValueError:
            expected = math.nan
        assert time == expected or (math.isnan(time) and math.isnan(expected))
