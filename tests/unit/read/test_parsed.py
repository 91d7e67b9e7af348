from datetime import UTC, datetime

import pytest

from perf_culprit.errors import DataError
from perf_culprit.model.run import Direction, Metric, Summary
from perf_culprit.read.results.parsed import (
    components,
    direction_of,
    epoch_time,
    from_samples,
    from_summary,
    full_hash,
    gathered,
    unique,
    utc_time,
)

TIME = Metric(name="time", unit="s", direction=Direction.LOWER_IS_BETTER)


VALUE = Metric(name="value", unit="", direction=Direction.LOWER_IS_BETTER)


@pytest.mark.parametrize("sample", [float("nan"), float("inf"), -1.0])
def test_samples_that_cannot_have_been_measured_are_refused_with_their_place(sample: float) -> None:
    with pytest.raises(DataError, match=r"x: data\[1\]"):
        from_samples("a", metric=TIME, samples=(1.0, sample), place="x: data")
    with pytest.raises(DataError):
        from_summary("a", metric=TIME, summary=Summary(value=sample), place="x")


def test_negative_values_that_are_no_times_are_kept() -> None:
    assert from_samples("a", metric=VALUE, samples=(-1.0,), place="x").samples == (-1.0,)


def test_a_summary_with_infinite_spread_is_refused() -> None:
    with pytest.raises(DataError, match="not finite"):
        from_summary("a", metric=TIME, summary=Summary(value=1.0, standard_deviation=float("inf")), place="x")


def test_no_samples_and_no_names_are_refused() -> None:
    with pytest.raises(DataError, match="no samples"):
        from_samples("a", metric=TIME, samples=(), place="x")
    with pytest.raises(DataError, match="no name"):
        from_samples(" ", metric=TIME, samples=(1.0,), place="x")
    with pytest.raises(DataError, match="longer than"):
        from_samples("a" * 20_000, metric=TIME, samples=(1.0,), place="x")
    with pytest.raises(DataError, match="unit is longer"):
        from_samples(
            "a",
            metric=Metric(name="m", unit="u" * 200, direction=TIME.direction),
            samples=(1.0,),
            place="x",
        )


def test_groups_have_to_add_up_and_one_group_is_none() -> None:
    assert from_samples("a", metric=TIME, samples=(1.0, 2.0), place="x", group_sizes=(2,)).group_sizes == ()
    with pytest.raises(DataError, match="add up"):
        from_samples("a", metric=TIME, samples=(1.0, 2.0), place="x", group_sizes=(1, 2))


def test_half_characters_become_writable() -> None:
    assert from_samples("a\ud800", metric=TIME, samples=(1.0,), place="x").name == "a\ufffd"


def test_a_name_twice_names_both_places() -> None:
    a = from_samples("a", metric=TIME, samples=(1.0,), place="x")
    with pytest.raises(DataError, match=r"f: b\[1\]: `a` is also at b\[0\]"):
        unique([(a, "f: b[0]"), (a, "f: b[1]")])


def test_gathered_names_are_more_samples() -> None:
    a = from_samples("a", metric=TIME, samples=(1.0,), place="x")
    b = from_samples("a", metric=TIME, samples=(2.0,), place="x")
    summary = from_summary("s", metric=TIME, summary=Summary(value=1.0), place="x")
    assert [g.samples for g in gathered([(a, "x"), (b, "y"), (summary, "z")])] == [(1.0, 2.0), ()]
    assert gathered([(summary, "x"), (summary, "y")])[0].samples == (1.0, 1.0)
    other = from_samples(
        "a", metric=Metric(name="time", unit="ms", direction=TIME.direction), samples=(1.0,), place="x"
    )
    with pytest.raises(DataError, match="another unit"):
        gathered([(a, "x"), (other, "y")])


@pytest.mark.parametrize(
    ("unit", "direction"),
    [
        ("ns/op", Direction.LOWER_IS_BETTER),
        ("ms", Direction.LOWER_IS_BETTER),
        ("\N{MICRO SIGN}s", Direction.LOWER_IS_BETTER),
        ("ops/s", Direction.HIGHER_IS_BETTER),
        ("MB/s", Direction.HIGHER_IS_BETTER),
        ("iter/sec", Direction.HIGHER_IS_BETTER),
        ("B/op", None),
        ("points", None),
        ("", None),
        ("bytes", None),
    ],
)
def test_only_times_and_rates_say_their_direction(unit: str, direction: Direction | None) -> None:
    assert direction_of(unit) is direction


def test_only_full_hashes_are_commits() -> None:
    assert full_hash("A" * 40) == "a" * 40
    assert full_hash("a" * 64) == "a" * 64
    assert full_hash("abc1234") is None
    assert full_hash("--upload-pack=evil") is None
    assert full_hash(7) is None


def test_times_are_utc_or_unknown() -> None:
    noon = datetime(2026, 1, 2, 12, tzinfo=UTC)
    assert utc_time("2026-01-02T13:00:00+01:00") == noon
    assert utc_time("2026-01-02T12:00:00") == noon
    assert utc_time("2026-01-02T12:00:00", local_is_unknown=True) is None
    assert utc_time("0001-01-01T00:00:00+14:00") is None
    assert [utc_time(text) for text in ("yesterday", None, "2" * 1_000)] == [None] * 3
    assert epoch_time(noon.timestamp()) == noon
    assert [epoch_time(seconds) for seconds in (1e30, float("nan"), True, "1", 10**400)] == [None] * 5


def test_environments_keep_only_what_is_known() -> None:
    environment = components(cpu=" a\n b ", count=4, empty="", none=None, odd=[1], truth=True)
    assert environment.components == {"cpu": "a b", "count": "4"}
    assert components(cpu="x" * 999).components["cpu"] == "x" * 200
