import pytest

from perf_culprit.read.counters.counter_tables import Clock

INSTANT_S = 1795227572.0


@pytest.mark.parametrize(
    "text",
    [
        *("1795227572", "1795227572.0", "1795227572000", "1795227572000000", "1795227572000000000"),
        *("2026-11-21T02:19:32Z", "2026-11-21 03:19:32+01:00", "2026-11-20T21:19:32-05:00"),
        *("2026/11/21 02:19:32", "2026-11-21 02:19:32 UTC", " 20261121T021932Z "),
    ],
)
def test_one_instant_in_every_spelling(text: str) -> None:
    assert Clock()(text) == INSTANT_S


def test_only_times_without_a_zone_are_local() -> None:
    for text, is_local in (("2026-11-21 02:19:32 UTC", False), ("2026-11-21T02:19:32Z", False), ("17952275", False)):
        clock = Clock()
        clock(text)
        assert clock.is_local == is_local
    clock = Clock()
    clock("2026-11-21 02:19:32")
    assert clock.is_local


def test_offsets_keep_the_order_when_summer_time_ends() -> None:
    clock = Clock()
    before, after = clock("2026-10-25T02:59:59+02:00"), clock("2026-10-25T02:00:00+01:00")
    assert after - before == 1


def test_the_first_number_tells_the_unit_of_all() -> None:
    clock = Clock()
    assert clock("1795227572000") == INSTANT_S
    assert clock("1000") == 1.0
    assert Clock(divisor=1e3)("250") == 0.25


@pytest.mark.parametrize("text", ["", "noon", "2026-13-01", "2026-01-01T25:00:00", "x" * 100_000, "\u0661:\u0662"])
def test_what_is_no_time_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"^"):
        Clock()(text)
