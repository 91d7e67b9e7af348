"""The registry of results and counters agrees with itself and with docs/formats.md."""

import io
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from perf_culprit.errors import DataError, UsageError
from perf_culprit.model.run import Run
from perf_culprit.model.run_file import encode_run
from perf_culprit.read.results.collect import Reading, collect, collect_sources
from perf_culprit.read.results.result_formats import ALIASES, AUTO, COUNTER_READERS, READERS, readers_for
from perf_culprit.read.results.source import Source
from tests.support.counter_tables import same, table_of

FORMATS = (Path(__file__).parents[3] / "docs" / "formats.md").read_text(encoding="utf-8")


NAMED_ONLY = {reader.id for reader in READERS.values() if reader.is_named_only}


def test_every_reader_is_described() -> None:
    for reader in READERS.values():
        assert reader.description
        assert not reader.description.endswith(".")


def test_every_reader_is_documented() -> None:
    anchors = set(re.findall(r'<a id="([a-z0-9_]+)"></a>', FORMATS))
    assert READERS.keys() - NAMED_ONLY == anchors
    assert [name for name in READERS if f"`{name}`" not in FORMATS] == []
    assert [name for name in ALIASES if f"`{name}`" not in FORMATS] == []


def test_names_of_other_tools_mean_readers_and_are_none_of_ours() -> None:
    assert ALIASES.keys() == {
        *("pytest", "googlecpp", "customSmallerIsBetter", "customBiggerIsBetter", "nyrkioJson"),
        *("benchmarkjs", "benchmarkluau", "cargo", "catch2", "go"),
    }
    assert {reader.id for reader in readers_for("cargo")} == {"criterion", "criterion_text", "bencher_text"}
    assert not ALIASES.keys() & READERS.keys()
    assert AUTO not in READERS
    with pytest.raises(UsageError, match="`gopher` is not a known tool"):
        readers_for("gopher")


def test_detection_never_picks_what_only_a_name_decides() -> None:
    assert not {reader.id for reader in readers_for(AUTO)} & NAMED_ONLY
    assert len(readers_for(AUTO)) == len(READERS) - len(NAMED_ONLY)


def test_readers_of_counters_are_readers_of_results_and_can_be_named() -> None:
    assert READERS.items() >= COUNTER_READERS.items()
    for name, reader in COUNTER_READERS.items():
        assert readers_for(name) == (reader,)


def test_readers_are_asked_before_the_formats_that_anything_may_be() -> None:
    order = list(READERS)
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
