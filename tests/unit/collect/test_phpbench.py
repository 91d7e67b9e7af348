import pytest

from bot.collect import PARSERS, collect_sources
from bot.collect.source import Source
from bot.errors import DataError
from tests.support.goldens import golden

FILE = golden("phpbench/by_hand.xml")


def test_iterations_are_samples_per_revolution() -> None:
    run = collect_sources([Source("bench.xml", FILE)])
    found = {(one.name, one.metric.name): (one.samples, one.metric.unit) for one in run.benchmarks}
    assert found["Shop\\WordsBench::benchSplit short", "time"] == ((2.466, 2.379), "us")
    assert found["Shop\\WordsBench::benchSplit long", "peak_memory"] == ((720_896.0, 720_896.0), "B")
    assert len(found) == 4
    assert run.time is not None
    assert run.time.isoformat() == "2026-11-22T20:15:00+00:00"
    assert run.notes == ("`Shop\\WordsBench::benchBroken` failed",)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b'time-revs="1000"', b'time-revs="0"', "without its net time and revolutions"),
        (b'time-net="2466"', b'time="2466"', "without its net time and revolutions"),
        (b'time-net="2466"', b'time-net="fast"', "`time-net` of `iteration` is no number"),
        (b"</phpbench>", b"", "not well-formed XML"),
        (b"<phpbench ", b"<!DOCTYPE a [<!ENTITY b 'c'>]><phpbench ", "declares a document type"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(old: bytes, new: bytes, said: str) -> None:
    with pytest.raises(DataError, match=said) as caught:
        PARSERS["phpbench"].parse(Source("bench.xml", FILE.replace(old, new)))
    assert (caught.value.place or "").startswith("bench.xml")
    assert caught.value.next_step is not None
