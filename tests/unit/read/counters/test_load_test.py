import pytest

from perf_culprit.errors import DataError
from perf_culprit.read.counters import load_test
from perf_culprit.read.counters.load_test import LoadTest, Reservoir
from perf_culprit.read.results.parsed import KEPT_SAMPLES
from tests.support.counter_tables import columns


def test_a_reservoir_keeps_all_until_it_is_full_and_then_an_even_choice_in_order() -> None:
    small = Reservoir(5)
    for number in range(5):
        small.add(number)
    assert small.numbers() == [0, 1, 2, 3, 4]
    large = Reservoir(1000)
    for number in range(20_000):
        large.add(number)
    kept = large.numbers()
    assert len(kept) == len(large) == 1000
    assert kept == sorted(set(kept))
    # The mean of an even choice is the middle, within five standard errors.
    assert abs(sum(kept) / 1000 - 9999.5) < 5 * 20_000 / (12 * 1000) ** 0.5
    again = Reservoir(1000)
    for number in range(20_000):
        again.add(number)
    assert again.numbers() == kept


def test_seconds_without_requests_have_no_throughput_and_no_other_values() -> None:
    test = LoadTest(name="k6", place="f")
    for time_s in (100.2, 100.9, 103.5):
        test.request(test.at(time_s), "a", 10 * time_s, has_failed=False)
    (table,) = test.parsed().counters
    assert table.load is not None
    assert table.load.tolist() == [2, 0, 0, 1]
    assert columns(table)["response_time"] == [pytest.approx(1005.5), None, None, 1035]


def test_samples_and_labels_are_bounded_and_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_test, "MAX_LABELS", 2)
    test = LoadTest(name="k6", place="f")
    for label in ("a", "b", "c", "c"):
        test.request(test.at(0), label, 1.0, has_failed=False)
        test.request(test.at(0), label, 1.0, has_failed=True)
    for _ in range(KEPT_SAMPLES):
        test.time("a", 2.0)
    parsed = test.parsed()
    assert [(benchmark.name, len(benchmark.samples)) for benchmark in parsed.benchmarks] == [("a", 10_000), ("b", 1)]
    assert parsed.notes == (
        "f: failed requests are left out of the response times: a (1), b (1)",
        "f: of more than 10,000 response times as many are kept, chosen at random: a",
        "f: response times beyond the first 2 labels are left out: 2",
    )


def test_a_test_of_more_than_a_week_has_broken_times(monkeypatch: pytest.MonkeyPatch) -> None:
    test = LoadTest(name="k6", place="f")
    test.at(0).requests += 1
    test.at(8 * 24 * 3600).requests += 1
    with pytest.raises(DataError, match="more than a week"):
        test.parsed()
    monkeypatch.setattr(load_test, "MAX_SECONDS", 2)
    with pytest.raises(DataError, match="more than a week"):
        test.at(5)
