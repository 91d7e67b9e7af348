from typing import Any

import pytest

from tests.support.workflows.expressions import condition, evaluate, fill

CONTEXTS: dict[str, Any] = {
    "inputs": {"run": "make", "jobs": '["a", "b"]', "empty": "", "count": 20},
    "github": {"event_name": "issue_comment", "event": {"comment": {"body": "/perf-help", "user": {"type": "User"}}}},
}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("inputs.run", "make"),
        ("inputs.missing", None),
        ("github.event.pull_request.head.sha || inputs.run", "make"),
        ("inputs.empty != ''", False),
        ("startsWith(github.event.comment.body, '/perf-') && github.event.comment.user.type == 'User'", True),
        ("fromJSON(inputs.jobs)", ["a", "b"]),
        ("!(inputs.run == 'MAKE')", False),
        ("'it''s'", "it's"),
        ("inputs.count == 20 && (true || false)", True),
    ],
)
def test_evaluates(expression: str, expected: object) -> None:
    assert evaluate(expression, CONTEXTS) == expected


def test_fills_texts_and_keeps_types() -> None:
    assert fill({"a": "${{ inputs.count }}", "b": ["x-${{ inputs.run }}-${{ inputs.missing }}"]}, CONTEXTS) == {
        "a": 20,
        "b": ["x-make-"],
    }
    assert condition("github.event_name == 'issue_comment'", CONTEXTS)
    assert not condition("${{ inputs.empty }}", CONTEXTS)


@pytest.mark.parametrize("expression", ["secrets.TOKEN", "hashFiles('x')", "1 +", "inputs.run inputs.run"])
def test_what_is_unknown_is_an_error(expression: str) -> None:
    with pytest.raises((KeyError, ValueError, IndexError)):
        evaluate(expression, CONTEXTS)
