import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf_culprit.errors import DataError
from perf_culprit.flows.published_schemas import schema_text
from perf_culprit.model.call_tree import Profile, ProfileNode, decode_profile
from tests.support.profiles import encode_profile

PROFILE = Profile(
    service="shop",
    repetitions=2,
    nodes=(
        ProfileNode(method="main", parent=None, elapsed_ms=(10.0, 11.5), self_ms=(1.0, 1.5), calls=1.0),
        ProfileNode(
            method="find", parent=0, elapsed_ms=(9.0, 10.0), self_ms=(9.0, 10.0), calls=2.5, file="shop/dao.py", line=7
        ),
    ),
)


def encoded(**changes: object) -> bytes:
    """The line of PROFILE with some members replaced. `node_…` replaces a member of the second node."""
    document: dict[str, Any] = json.loads(encode_profile(PROFILE))
    for name, value in changes.items():
        if name.startswith("node_"):
            document["nodes"][1][name.removeprefix("node_")] = value
        else:
            document[name] = value
    return json.dumps(document).encode()


def test_a_profile_survives() -> None:
    assert decode_profile(encode_profile(PROFILE), place="f") == PROFILE


def test_it_is_valid_by_the_schema() -> None:
    validator = jsonschema.Draft202012Validator(json.loads(schema_text("trace-v1")))
    validator.validate(json.loads(encode_profile(PROFILE)))
    with pytest.raises(jsonschema.ValidationError):
        validator.validate(json.loads(encoded(node_elapsed=["long"])))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "other"}, r"f: not a valid trace-v1"),
        ({"version": 0}, r"f: not a valid trace-v1"),
        ({"owner": "x"}, r"unknown field `owner`"),
        ({"repetitions": 3}, r"f: nodes\.0\.elapsed: has 2 values for 3 repetitions"),
        ({"repetitions": 0}, r">= 1"),
        ({"node_parent": 1}, r"f: nodes\.1\.parent: its parent 1 does not come before it"),
        ({"node_parent": 99}, r"f: nodes\.1\.parent: its parent 99 does not come before it"),
        ({"node_parent": -1}, r">= 0"),
        ({"node_self": [1.0]}, r"f: nodes\.1\.self: has 1 values for 2 repetitions"),
        ({"node_self": [1.0, -0.5]}, r">= 0"),
        ({"node_self": [1.0, 1e30]}, r"<= 1e\+24"),
        ({"node_elapsed": [1.0, None]}, r"got `null`"),
        ({"node_method": "x" * 10_001}, r"length <= 10000"),
    ],
)
def test_what_is_no_profile_is_refused_with_its_place(changes: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        decode_profile(encoded(**changes), place="f")


@pytest.mark.parametrize("text", [b"", b"NaN", b"[" * 100_000, b"\xff\xfe", b'{"format": "perf-'])
def test_broken_files_are_refused(text: bytes) -> None:
    with pytest.raises(DataError):
        decode_profile(text, place="f")


numbers = st.floats(min_value=0, max_value=1e24)


@st.composite
def profiles(draw: st.DrawFn) -> Profile:
    repetitions = draw(st.integers(1, 3))
    times = st.lists(numbers, min_size=repetitions, max_size=repetitions).map(tuple)
    text = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)
    nodes = tuple(
        ProfileNode(
            method=draw(text),
            parent=draw(st.none() | st.integers(0, i - 1)) if i else None,
            elapsed_ms=draw(times),
            self_ms=draw(times),
            calls=draw(st.none() | numbers),
            file=draw(st.none() | text),
            line=draw(st.none() | st.integers(0, 2**31)),
        )
        for i in range(draw(st.integers(0, 5)))
    )
    return Profile(service=draw(text), nodes=nodes, repetitions=repetitions, unit=draw(text))


@given(profiles())
def test_any_profile_survives(profile: Profile) -> None:
    assert decode_profile(encode_profile(profile), place="f") == profile
