"""Our payloads of webhooks against the schema that Octokit publishes; CI fetches it from npm (`.ci/tests`)."""

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from tests.support.webhooks import event

SCHEMA_VARIABLE = "PERF_CULPRIT_WEBHOOK_SCHEMA"
SCHEMAS = {
    "pull_request": "pull_request$synchronize",
    "push": "push$event",
    "workflow_run": "workflow_run$completed",
    "issue_comment": "issue_comment$created",
    "issue_comment_edited": "issue_comment$edited",
    "issue_comment_deleted": "issue_comment$deleted",
    "workflow_dispatch": "workflow_dispatch$event",
}
FACTS: dict[str, dict[str, Any]] = {
    "of our own branch": {},
    "of a fork": {"head_owner": "mallory", "author": "mallory", "author_association": "NONE"},
    "of an issue, by a bot": {"on_pull_request": False, "author": "github-actions[bot]", "workflow_name": "Perf"},
}


@cache
def schema() -> dict[str, Any]:
    path = os.environ.get(SCHEMA_VARIABLE)
    if not path:
        pytest.skip(f"{SCHEMA_VARIABLE} names no schema.json of the npm package @octokit/webhooks-schemas")
    loaded: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
    return loaded


@pytest.mark.parametrize("facts", FACTS.values(), ids=FACTS.keys())
@pytest.mark.parametrize("name", SCHEMAS)
def test_a_payload_of_ours_is_one_of_github(name: str, facts: dict[str, Any]) -> None:
    validator = Draft7Validator({**schema(), "$ref": f"#/definitions/{SCHEMAS[name]}"})
    mistakes = [
        f"{list(error.absolute_path)}: {error.message[:200]}" for error in validator.iter_errors(event(name, **facts))
    ]
    assert not mistakes


def test_the_schema_refuses_what_github_would_not_send() -> None:
    payload = event("workflow_run")
    del payload["workflow_run"]["head_sha"]
    assert not Draft7Validator({**schema(), "$ref": "#/definitions/workflow_run$completed"}).is_valid(payload)
