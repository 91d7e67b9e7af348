"""METHODS 6.8: statistics of a service's calls, and distinct trees counted in constant memory."""

import hashlib
import statistics as reference

import pytest

from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.read.logs.reading_settings import ReadingSettings
from perf_culprit.read.logs.service_calls import (
    KEPT,
    count,
    merged,
    response_times,
    seconds_since_1970,
    smallest,
    statistics,
)

SETTINGS = ReadingSettings(window_s=10, slowest_kept=2)


CALLS = [(float(5 + i * 7 % 23), 1000.0 + i, str(i).encode()) for i in range(40)]


def test_methods_6_8_statistics_are_those_of_all_calls() -> None:
    one = response_times(CALLS[:13], settings=SETTINGS)
    other = response_times(CALLS[13:], settings=SETTINGS)
    shown = statistics("shop", merged(one, other, settings=SETTINGS), all_calls=41, variants=2, settings=SETTINGS)
    times = [call[0] for call in CALLS]
    assert (shown.calls, shown.all_calls, shown.min_ms, shown.max_ms) == (40, 41, min(times), max(times))
    assert shown.mean_ms == pytest.approx(reference.fmean(times))
    assert shown.standard_deviation_ms == pytest.approx(reference.pstdev(times))
    assert [(slow.elapsed_ms, slow.call) for slow in shown.slowest] == [(27.0, "13"), (27.0, "36")]
    assert [(window.start_s, window.calls, window.calls_per_s) for window in shown.windows] == [
        (1000.0, 10, 1.0), (1010.0, 10, 1.0), (1020.0, 10, 1.0), (1030.0, 10, 1.0),
    ]  # fmt: skip
    assert shown.windows[1].mean_ms == pytest.approx(reference.fmean(times[10:20]))
    assert shown.windows[1].longest_ms == max(times[10:20])


def test_windows_double_until_few_enough() -> None:
    calls = [(1.0, 10.0 * i, b"c") for i in range(FILE_LIMITS.windows * 3)]
    whole = response_times(calls, settings=SETTINGS)
    assert len(whole.windows) <= FILE_LIMITS.windows
    assert whole.doublings == 2
    parts = [response_times(calls[start::7], settings=SETTINGS) for start in range(7)]
    again = parts[0]
    for part in parts[1:]:
        again = merged(again, part, settings=SETTINGS)
    assert again.windows == whole.windows
    assert statistics("shop", whole, all_calls=whole.calls, variants=1, settings=SETTINGS).windows[0].width_s == 40


def test_calls_without_time_are_in_no_window() -> None:
    shown = statistics(
        "shop", response_times([(3.0, None, b"c")], settings=SETTINGS), all_calls=41, variants=2, settings=SETTINGS
    )
    assert shown.windows == ()
    assert shown.slowest[0].time_s is None


def test_no_calls() -> None:
    shown = statistics("shop", response_times([], settings=SETTINGS), all_calls=41, variants=2, settings=SETTINGS)
    assert (shown.calls, shown.min_ms, shown.standard_deviation_ms) == (0, 0, 0)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (b"1970-01-01T00:00:01.500Z", 1.5),
        (b"1970-01-01 00:00:02,250", 2.25),
        (b"1970-01-01T02:00:00+02:00", 0.0),
        (b"1767225600", 1767225600.0),
        (b"1767225600123", 1767225600.123),
        (b"1960-01-01T00:00:00", None),
        (b"nan", None),
        (b"inf", None),
        (b"-5", None),
        (b"1e300", None),
        (b"09:15", None),
        (b"\xff", None),
        (b"", None),
    ],
)
def test_times(text: bytes, seconds: float | None) -> None:
    assert seconds_since_1970(text) == seconds


def digests(first: int, last: int) -> list[bytes]:
    return [hashlib.blake2b(str(i).encode(), digest_size=8).digest() for i in range(first, last)]


def test_few_are_counted_exactly() -> None:
    assert count(smallest(digests(0, 1_000) * 2)) == 1_000
    assert count(frozenset()) == 0


def test_many_are_estimated_and_merge_as_if_seen_at_once() -> None:
    whole = smallest(digests(0, 20_000))
    assert len(whole) == KEPT
    assert count(whole) == pytest.approx(20_000, rel=0.06)
    assert smallest(smallest(digests(0, 12_000)) | smallest(digests(9_000, 20_000))) == whole
