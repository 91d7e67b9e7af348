import pytest

from perf_culprit.errors import DataError
from perf_culprit.read.results.collect import collect_sources
from perf_culprit.read.results.result_formats import READERS
from perf_culprit.read.results.source import Source
from tests.support.goldens import golden

FILE = golden("phpbench/words.xml")


def test_iterations_are_samples_per_revolution() -> None:
    run = collect_sources([Source("bench.xml", FILE)])
    results = {(one.name, one.metric.name): (one.samples, one.metric.unit) for one in run.benchmarks}
    assert results["Shop\\WordsBench::benchSplit", "time"][0][:3] == (1.495, 1.47, 1.4)
    assert results["Shop\\WordsBench::benchSort small", "time"] == (
        (0.305, 0.32, 0.32, 0.315, 0.32, 0.325, 0.32, 0.32),
        "us",
    )
    assert results["Shop\\WordsBench::benchSort large", "peak_memory"] == ((486_656.0,) * 8, "B")
    assert len(results) == 6
    assert run.time is not None
    assert run.time.isoformat() == "2026-11-23T02:40:15+00:00"
    assert run.notes == ("`Shop\\WordsBench::benchBroken` failed",)


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (b'time-revs="200"', b'time-revs="0"', "without its net time and revolutions"),
        (b'time-net="299"', b'time="299"', "without its net time and revolutions"),
        (b'time-net="299"', b'time-net="fast"', "`time-net` of `iteration` is not a number"),
        (b"</phpbench>", b"", "not well-formed XML"),
        (b"<phpbench ", b"<!DOCTYPE a [<!ENTITY b 'c'>]><phpbench ", "declares a document type"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(old: bytes, new: bytes, text: str) -> None:
    with pytest.raises(DataError, match=text) as caught:
        READERS["phpbench"].read(Source("bench.xml", FILE.replace(old, new)))
    assert (caught.value.place or "").startswith("bench.xml")
    assert caught.value.next_step is not None
