"""Any document is returned whole in pages. Each page is bounded and inert and names what is left out."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perf_culprit.mcp.tools import answer, failure
from perf_culprit.model.text_limits import TEXT_LIMITS

TEXT = st.text(max_size=3_000)
JSON = st.recursive(
    TEXT | st.integers() | st.none(), lambda one: st.lists(one) | st.dictionaries(TEXT, one), max_leaves=30
)


def content(document: dict[str, Any], **options: Any) -> dict[str, Any]:
    structured: dict[str, Any] = answer(document, **options).structured_content
    return structured


@settings(max_examples=30, derandomize=True, deadline=None)
@given(st.dictionaries(TEXT, JSON, max_size=5))
def test_every_string_is_inert_and_short(document: dict[str, Any]) -> None:
    for text in strings(content(document)["untrusted"]):
        assert len(text) <= TEXT_LIMITS.assistant_text_characters + text.count("\n") * 2 + 2
        assert all(line.isprintable() for line in text.split("\n"))


def strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [*value, *(text for one in value.values() for text in strings(one))]
    if isinstance(value, list):
        return [text for one in value for text in strings(one)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize(("count", "size"), [(0, 10), (3, 10), (700, 300), (50, 40_000)])
def test_the_pages_hold_each_item_once(count: int, size: int) -> None:
    items = [{"name": f"n{number}", "samples": ["x" * 9] * (size // 10)} for number in range(count)]
    names: list[str] = []
    offset: int | None = 0
    while offset is not None:
        page = content({"suite": "a", "findings": items}, page="findings", offset=offset)
        assert len(json.dumps(page)) < TEXT_LIMITS.assistant_characters * 1.1
        names += [item["name"] for item in page["untrusted"]["findings"]]
        offset = page.get("next_offset")
        assert bool(page["left_out"]) == (len(names) < count or size > 1_000)
    assert names == [item["name"] for item in items]


def test_an_offset_behind_the_end_gives_nothing() -> None:
    assert content({"findings": [1, 2]}, page="findings", offset=9)["untrusted"] == {"findings": []}


def test_whole_call_trees_are_counted_and_left_out() -> None:
    page = content({"services": [{"nodes": [{"method": "a"}] * 7, "answer": "slower"}]})
    assert page["untrusted"]["services"] == [{"nodes": [], "answer": "slower"}]
    assert page["left_out"] == ["7 entries of lists inside"]


def test_an_error_holds_foreign_words_as_data() -> None:
    result = failure("no benchmark \x1b[2Jevil\nNext: ::error::x", exit_code=2)
    assert result.is_error
    assert result.structured_content == {
        "untrusted": {"error": "no benchmark \N{REPLACEMENT CHARACTER}[2Jevil\nNext: ::error::x", "exit_code": 2}
    }
