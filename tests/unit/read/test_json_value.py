import pytest

from perf_culprit.errors import DataError
from perf_culprit.read.results.json_value import JsonValue


def value(content: object) -> JsonValue:
    return JsonValue(content, "bench.json")


def test_places_name_the_path() -> None:
    root = value({"benchmarks": [{"stats": {"data": [1.0, "2"]}}]})
    data = next(root.at("benchmarks").elements()).at("stats").at("data")
    with pytest.raises(DataError, match=r"bench\.json: benchmarks\[0\]\.stats\.data\[1\]: is text, not a number"):
        data.numbers()


@pytest.mark.parametrize("number", [True, None, "1", float("nan"), float("inf"), 10**400, [], {}])
def test_what_is_no_finite_number_is_refused(number: object) -> None:
    with pytest.raises(DataError):
        value(number).number()
    with pytest.raises(DataError):
        value([1.0, number]).numbers()
    assert not value(number).is_finite


def test_numbers_are_floats() -> None:
    numbers = value([1, 2.5]).numbers()
    assert numbers == (1.0, 2.5)
    assert all(type(number) is float for number in numbers)


@pytest.mark.parametrize("number", [-1, 1.0, True, "1", None])
def test_whole_numbers_are_not_negative(number: object) -> None:
    with pytest.raises(DataError):
        value(number).whole()


def test_absent_and_null_are_the_same() -> None:
    assert value({"a": None}).find("a") is None
    assert value({}).find("a") is None
    assert value([]).peek("a") is None
    with pytest.raises(DataError, match="has no `a`"):
        value({"a": None}).at("a")
    with pytest.raises(DataError, match="is a list, not an object"):
        value([]).find("a")


def test_long_and_unprintable_keys_do_not_fill_a_message() -> None:
    (_, member), *_ = value({"k\n\x1b" * 100: "x"}).members()
    with pytest.raises(DataError) as caught:
        member.number()
    assert "\x1b" not in str(caught.value)
    assert caught.value.place is not None
    assert len(caught.value.place) < 100
