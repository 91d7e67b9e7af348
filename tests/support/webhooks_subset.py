"""Cut Octokit's example payloads and their JSON schema to the events that start the bot.

How `tests/golden/webhooks/` was made (both npm packages are MIT, see LICENSE there):

    npm pack @octokit/webhooks-examples@7.6.1 @octokit/webhooks-schemas@7.6.1   # and unpack both
    python -m tests.support.webhooks_subset examples/package/api.github.com/index.json schemas/package/schema.json
"""

import json
import sys
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parents[1] / "golden" / "webhooks"
SCHEMA_FILE = GOLDEN / "schema.json"

# Event name, with the action where there are several -> its schema's name. The newest example of it is kept.
EVENTS = {
    "pull_request": "pull_request$synchronize",
    "push": "push$event",
    "workflow_run": "workflow_run$completed",
    "issue_comment": "issue_comment$created",
    "issue_comment_edited": "issue_comment$edited",
    "issue_comment_deleted": "issue_comment$deleted",
    "workflow_dispatch": "workflow_dispatch$event",
}


def newest_example(examples: list[dict[str, Any]], *, action: str) -> dict[str, Any]:
    found: dict[str, Any] = [example for example in examples if example.get("action", "event") == action][-1]
    return found


def cut_schema(whole: dict[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    waiting = list(EVENTS.values())
    while waiting:
        name = waiting.pop()
        if name not in kept:
            kept[name] = without_prose(whole["definitions"][name])
            waiting += references(kept[name])
    return {"$schema": whole["$schema"], "definitions": kept}


def without_prose(node: Any) -> Any:
    """Descriptions are dropped where they are text; a property may be called so too."""
    if isinstance(node, list):
        return [without_prose(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: without_prose(value)
        for key, value in node.items()
        if not (key in ("description", "tsAdditionalProperties", "title") and not isinstance(value, dict))
    }


def references(node: Any) -> list[str]:
    if isinstance(node, list):
        return [name for item in node for name in references(item)]
    if not isinstance(node, dict):
        return []
    own = [node["$ref"].removeprefix("#/definitions/")] if isinstance(node.get("$ref"), str) else []
    return own + [name for value in node.values() for name in references(value)]


def write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, separators=(",", ":"), ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    all_examples = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    by_event = {entry["name"]: entry["examples"] for entry in all_examples}
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for event, definition in EVENTS.items():
        name, _, action = definition.partition("$")
        write(GOLDEN / f"{event}.json", newest_example(by_event[name], action=action))
    write(SCHEMA_FILE, cut_schema(json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))))
