"""The ends of elements agree with a decoder's, for any strings in them and any cut of the bytes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf_culprit.read.profiles.json_elements import last_end
from tests.support.turns import many

TEXT = st.text('a"\\{}[]é\n', max_size=6)


def containers(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4)


ELEMENTS = st.lists(containers(st.recursive(TEXT | st.integers(), containers, max_leaves=5)), max_size=5)


@many
@given(ELEMENTS, st.integers(1, 200), st.booleans())
def test_the_last_whole_element_in_so_many_bytes(elements: list[object], size: int, ascii_only: bool) -> None:
    texts = [json.dumps(one, ensure_ascii=ascii_only).encode() for one in elements]
    data = b"[" + b", ".join(texts) + b"], [{}]"
    ends = [1 + sum(map(len, texts[: i + 1])) + 2 * i for i in range(len(texts))]
    whole = [end for end in ends if end <= 1 + size]
    array_end = 1 + sum(map(len, texts)) + 2 * max(0, len(texts) - 1)
    assert last_end(data, 1, size) == (whole[-1] if whole else None, array_end < 1 + size)


@pytest.mark.parametrize("text", [b'{"a": "\\\\"}', b'{"a": "\\\\\\""}', b'{"\\"": "}"}'])
def test_escapes(text: bytes) -> None:
    assert last_end(text + b", {", 0, 100) == (len(text), False)
