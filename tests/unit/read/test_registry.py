import re
from pathlib import Path

import pytest

from perf_culprit.errors import UsageError
from perf_culprit.read.results.result_formats import ALIASES, AUTO, READERS, readers_for

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
