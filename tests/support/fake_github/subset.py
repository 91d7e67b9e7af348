"""Cut GitHub's OpenAPI description to the operations that the fake knows.

How `description.json` was made (MIT, see LICENSE.description):

    npm pack @octokit/openapi@23.0.2 && tar xzf octokit-openapi-23.0.2.tgz
    python -m tests.support.fake_github.subset package/generated/api.github.com.json

Examples, links and GitHub's own extensions are dropped, descriptions are shortened; every schema stays whole.
"""

import json
import sys
from pathlib import Path
from typing import Any

DESCRIPTION_FILE = Path(__file__).with_name("description.json")

REPOSITORY = "/repos/{owner}/{repo}"
KEPT_OPERATIONS: dict[str, tuple[str, ...]] = {
    "": ("get",),
    "/collaborators/{username}/permission": ("get",),
    "/issues": ("get", "post"),
    "/issues/{issue_number}": ("get", "patch"),
    "/issues/{issue_number}/comments": ("get", "post"),
    "/issues/{issue_number}/events": ("get",),
    "/issues/comments/{comment_id}": ("get", "patch", "delete"),
    "/issues/comments/{comment_id}/reactions": ("get", "post"),
    "/issues/comments/{comment_id}/reactions/{reaction_id}": ("delete",),
    "/pulls": ("get",),
    "/pulls/{pull_number}": ("get",),
    "/commits/{ref}": ("get",),
    "/commits/{ref}/check-runs": ("get",),
    "/commits/{commit_sha}/pulls": ("get",),
    "/compare/{basehead}": ("get",),
    "/statuses/{sha}": ("post",),
    "/check-runs": ("post",),
    "/check-runs/{check_run_id}": ("get", "patch"),
    "/actions/runs": ("get",),
    "/actions/runs/{run_id}": ("get",),
    "/actions/runs/{run_id}/artifacts": ("get",),
    "/actions/runs/{run_id}/cancel": ("post",),
    "/actions/runs/{run_id}/rerun": ("post",),
    "/actions/runs/{run_id}/rerun-failed-jobs": ("post",),
    "/actions/artifacts": ("get",),
    "/actions/artifacts/{artifact_id}": ("get",),
    "/actions/artifacts/{artifact_id}/{archive_format}": ("get",),
    "/actions/workflows/{workflow_id}/dispatches": ("post",),
    "/actions/workflows/{workflow_id}/runs": ("get",),
    "/contents/{path}": ("get",),
    "/git/ref/{ref}": ("get",),
    "/git/refs": ("post",),
    "/branches/{branch}": ("get",),
    "/rules/branches/{branch}": ("get",),
}

DROPPED_KEYS = frozenset({"example", "examples", "externalDocs", "tags", "description", "summary"})
DROPPED_PREFIXES = ("x-github", "x-octokit", "x-multi-segment")


def cut(whole: dict[str, Any]) -> dict[str, Any]:
    """The kept operations and every component that they refer to."""
    paths = {
        REPOSITORY + path: {method: whole["paths"][REPOSITORY + path][method] for method in methods}
        for path, methods in KEPT_OPERATIONS.items()
    }
    subset: dict[str, Any] = {
        "openapi": whole["openapi"],
        "info": whole["info"],
        "paths": slim(paths),
        "components": {},
    }
    waiting = [subset["paths"]]
    while waiting:
        for reference in references(waiting.pop()):
            _, _, kind, name = reference.split("/", 3)
            family = subset["components"].setdefault(kind, {})
            if name not in family:
                family[name] = slim(whole["components"][kind][name])
                waiting.append(family[name])
    return subset


def slim(node: Any, *, names: bool = False) -> Any:
    """`node` without prose. Under `properties` (and the like) keys are names of data, so nothing is dropped there."""
    if isinstance(node, list):
        return [slim(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: slim(value, names=key in ("properties", "responses", "headers", "schemas") and not names)
        for key, value in node.items()
        if names or (key not in DROPPED_KEYS and not key.startswith(DROPPED_PREFIXES))
    } | ({"description": ""} if "description" in node and "content" in node and not names else {})


def references(node: Any) -> list[str]:
    if isinstance(node, list):
        return [reference for item in node for reference in references(item)]
    if not isinstance(node, dict):
        return []
    own = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
    return own + [reference for value in node.values() for reference in references(value)]


if __name__ == "__main__":
    source = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    DESCRIPTION_FILE.write_text(json.dumps(cut(source), separators=(",", ":")) + "\n", encoding="utf-8")
