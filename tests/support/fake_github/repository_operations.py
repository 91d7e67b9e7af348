"""The repository, its git data and its pull requests."""

import base64
from typing import Any

from tests.support.fake_github.call import Answer, ApiError, Call, item_of
from tests.support.fake_github.pages import Listing


def get_repository(call: Call) -> Answer:
    return Answer(200, call.shapes.base_repository("full-repository"))


def get_permission(call: Call) -> Answer:
    role = call.state.roles.get(call.path["username"], "none")
    permission = {"maintain": "write", "triage": "read"}.get(role, role)
    return Answer(200, {"permission": permission, "role_name": role, "user": None})


def get_reference(call: Call) -> Answer:
    reference = f"refs/{call.path['ref']}"
    sha = call.git("rev-parse", "--verify", reference).strip()
    return Answer(200, reference_body(call, reference, sha))


def create_reference(call: Call) -> Answer:
    if call.body["sha"] == "0" * 40:
        raise ApiError(422, "Object does not exist")
    call.git("update-ref", call.body["ref"], call.body["sha"], "")
    return Answer(201, reference_body(call, call.body["ref"], call.body["sha"]))


def reference_body(call: Call, reference: str, sha: str) -> dict[str, Any]:
    url = call.shapes.repository_url
    target = {"type": "commit", "sha": sha, "url": f"{url}/git/commits/{sha}"}
    return {"ref": reference, "node_id": "REF", "url": f"{url}/git/{reference}", "object": target}


def list_rules(call: Call) -> Answer:
    """List the rules of the repository's rulesets that are active for a branch."""
    source = {"ruleset_id": 1, "ruleset_source": call.shapes.repository, "ruleset_source_type": "Repository"}
    rules: list[dict[str, Any]] = [{"type": kind, **source} for kind in call.state.rules.get(call.path["branch"], ())]
    if names := call.state.required_checks.get(call.path["branch"]):
        checks = {"required_status_checks": [{"context": name} for name in names]}
        parameters = {**checks, "strict_required_status_checks_policy": False}
        rules.append({"type": "required_status_checks", **source, "parameters": parameters})
    return Answer(200, Listing(rules))


def get_branch(call: Call) -> Answer:
    name = call.path["branch"]
    sha = call.git("rev-parse", "--verify", f"refs/heads/{name}").strip()
    names = call.state.protected_checks.get(name, [])
    checks = {"contexts": names, "checks": [{"context": one, "app_id": None} for one in names]}
    url = f"{call.shapes.repository_url}/branches/{name}"
    values = {
        "name": name,
        "commit": call.shapes.fill("commit", {"sha": sha}),
        "_links": {"html": url, "self": url},
        "protected": bool(names),
        "protection": {"enabled": bool(names), "required_status_checks": checks},
        "protection_url": f"{url}/protection",
    }
    return Answer(200, call.shapes.fill("branch-with-protection", values))


def get_content(call: Call) -> Answer:
    path = call.path["path"]
    named = call.git("cat-file", "--batch", stdin=f"{call.query.get('ref', 'HEAD')}:{path}\n")
    head, _, text = named.removesuffix("\n").partition("\n")
    if " blob " not in head:
        raise ApiError(404, "Not Found")
    sha = head.split()[0]
    url = f"{call.shapes.repository_url}/contents/{path}"
    content = base64.encodebytes(text.encode()).decode()
    described = {"name": path.rsplit("/", 1)[-1], "path": path, "sha": sha, "size": len(text), "url": url}
    links = {"git": None, "html": None, "self": url}
    nothing = dict.fromkeys(("git_url", "html_url", "download_url"))
    return Answer(
        200, {**described, **nothing, "type": "file", "encoding": "base64", "content": content, "_links": links}
    )


def compare(call: Call) -> Answer:
    base, _, head = call.path["basehead"].partition("...")
    merge_base = call.git("merge-base", base, head).strip()
    behind, ahead = map(int, call.git("rev-list", "--left-right", "--count", f"{base}...{head}").split())
    status = {(False, False): "identical", (True, False): "ahead", (False, True): "behind"}.get(
        (ahead > 0, behind > 0), "diverged"
    )
    commit = {"sha": merge_base, "url": f"{call.shapes.repository_url}/commits/{merge_base}"}
    values = {
        "status": status,
        "ahead_by": ahead,
        "behind_by": behind,
        "total_commits": ahead,
        "merge_base_commit": call.shapes.fill("commit", commit),
        "files": [
            _changed_file(call, line) for line in call.git("diff", "--name-status", merge_base, head).splitlines()
        ],
    }
    return Answer(200, call.shapes.fill("commit-comparison", values))


def _changed_file(call: Call, line: str) -> Any:
    status, *_, name = line.split("\t")
    told = {"A": "added", "D": "removed", "R": "renamed"}.get(status[0], "modified")
    return call.shapes.fill("diff-entry", {"filename": name, "status": told, "sha": "0" * 40})


def create_status(call: Call) -> Answer:
    call.state.statuses.append({"sha": call.path["sha"], **call.body})
    values = {"state": call.body["state"], "context": call.body.get("context", "default")}
    return Answer(201, call.shapes.fill("status", values))


def list_pulls(call: Call) -> Answer:
    state, head = call.query.get("state", "open"), None if call.state.ignores_head else call.query.get("head")
    pulls = [
        pull
        for pull in call.state.pulls.values()
        if state in ("all", pull.state) and head in (None, f"{pull.head_owner}:{pull.head_branch}")
    ]
    return Answer(200, Listing([call.shapes.pull(pull) for pull in pulls]))


def get_pull(call: Call) -> Answer:
    pull = item_of(call.state.pulls, call.number("pull_number"))
    return Answer(200, call.shapes.pull(pull, "pull-request"))


def get_commit(call: Call) -> Answer:
    sha = call.path["ref"]
    name, email, date = call.git("show", "-s", "--format=%an%n%ae%n%aI", sha).splitlines()
    numbers = call.git("show", "--format=", "--numstat", "-m", "--first-parent", sha).splitlines()
    lines = [line.split("\t") for line in numbers]
    added, deleted = (sum(int(line[column]) for line in lines) for column in (0, 1))
    url = f"{call.shapes.repository_url}/commits/{sha}"
    tree = {"tree": {"sha": sha, "url": url}}
    person = {"name": name, "email": email, "date": date}
    values = {
        "sha": sha,
        "url": url,
        "commit": {"author": person, "committer": person, "message": "", "url": url, "comment_count": 0, **tree},
        "stats": {"additions": added, "deletions": deleted, "total": added + deleted},
        "files": [call.shapes.fill("diff-entry", {"filename": path}) for _, _, path in lines],
    }
    return Answer(200, call.shapes.fill("commit", values))


def list_pulls_of_commit(call: Call) -> Answer:
    sha = call.path["commit_sha"]
    pulls = [pull for pull in call.state.pulls.values() if sha in (pull.head_sha, pull.merge_commit_sha)]
    return Answer(200, Listing([call.shapes.pull(pull) for pull in pulls]))
