import re
from pathlib import Path

from perf_culprit.read.results.result_formats import (
    ALIASES,
    AUTO,
    HISTORY_PARSERS,
    NAMED_ONLY,
    PARSERS,
    TREE_PARSERS,
    parsers_for,
)

FORMATS = (Path(__file__).parents[3] / "docs" / "formats.md").read_text(encoding="utf-8")


def test_every_parser_is_registered_under_its_id_and_described() -> None:
    assert [parser.ID for parser in PARSERS.values()] == list(PARSERS)
    for parser in PARSERS.values():
        assert parser.DESCRIPTION
        assert not parser.DESCRIPTION.endswith(".")


def test_every_parser_is_documented() -> None:
    anchors = set(re.findall(r'<a id="([a-z0-9_]+)"></a>', FORMATS))
    assert PARSERS.keys() - NAMED_ONLY == anchors
    assert [name for name in PARSERS if f"`{name}`" not in FORMATS] == []
    assert [name for name in ALIASES if f"`{name}`" not in FORMATS] == []


def test_special_parsers_and_aliases_are_registered_parsers() -> None:
    aliased = {name for names in ALIASES.values() for name in names}
    assert {*HISTORY_PARSERS, *TREE_PARSERS, *NAMED_ONLY, *aliased} <= PARSERS.keys()
    assert not ALIASES.keys() & PARSERS.keys()
    assert AUTO not in PARSERS


def test_detection_never_picks_what_only_a_name_decides() -> None:
    assert not {parser.ID for parser in parsers_for(AUTO)} & NAMED_ONLY
    assert len(parsers_for(AUTO)) == len(PARSERS) - len(NAMED_ONLY)
