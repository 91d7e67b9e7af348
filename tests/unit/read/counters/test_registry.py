import io
import subprocess
import sys
from dataclasses import replace

import pytest

from perf_culprit.errors import DataError
from perf_culprit.model.run import Run
from perf_culprit.model.run_file import encode_run
from perf_culprit.read.counters.counter_formats import COUNTER_READERS
from perf_culprit.read.results.collect import Reading, collect, collect_sources
from perf_culprit.read.results.result_formats import PARSERS, parsers_for
from perf_culprit.read.results.source import Source
from tests.support.counter_tables import same, table_of


def test_readers_are_parsers_and_can_be_named() -> None:
    assert PARSERS.items() >= COUNTER_READERS.items()
    for name, reader in COUNTER_READERS.items():
        assert parsers_for(name) == (reader,)
        assert name == reader.ID


def test_readers_are_asked_before_the_formats_that_anything_may_be() -> None:
    order = list(PARSERS)
    last = max(order.index(name) for name in COUNTER_READERS)
    assert last < order.index("bencher_metric_format")


def test_our_own_run_files_hold_counters_under_the_same_rules() -> None:
    for name, message in (("", "has no name"), ("x" * 20_000, "longer than 10,000")):
        content = encode_run(Run(counters=(replace(table_of(times_s=[1], a=[1]), name=name),)))
        with pytest.raises(DataError, match=message):
            collect_sources([Source("run.json", content)])
    run = Run(counters=(table_of(times_s=[1], a=[1]),))
    again = collect_sources([Source("run.json", encode_run(run))])
    assert same(again.counters[0], run.counters[0])


@pytest.mark.parametrize("name", COUNTER_READERS)
@pytest.mark.parametrize(
    "text", ["", "hello, world\n", "{}", '{"metrics": 5}', '"a\n' * 3, "# a\n", "1\n2\n", "\n\n,\n"]
)
def test_a_named_reader_refuses_what_is_not_its_format(name: str, text: str) -> None:
    assert not COUNTER_READERS[name].matches(Source("results", text.encode()))
    with pytest.raises(DataError) as refusal:
        collect(["-"], Reading(tool=name, stdin=io.BytesIO(text.encode())))
    assert refusal.value.place is not None
    assert refusal.value.place.startswith("standard input")


def test_importing_the_readers_does_not_load_numpy() -> None:
    code = "import sys, perf_culprit.read.results; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
