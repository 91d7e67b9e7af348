"""The GITHUB_TOKEN permission of each operation, from GitHub's documentation: its API description lacks them."""

LEVELS = {"none": 0, "read": 1, "write": 2}
SCOPE_NAMES = ("actions", "checks", "contents", "issues", "pull-requests", "statuses", "metadata")
ALL_PERMISSIONS = dict.fromkeys(SCOPE_NAMES, "write")

# Keyed by the first part of the path after the repository. Comments on pull requests accept either permission.
SCOPES: dict[str, tuple[str, ...]] = {
    "issues": ("issues", "pull-requests"),
    "pulls": ("pull-requests",),
    "check-runs": ("checks",),
    "statuses": ("statuses",),
    "actions": ("actions",),
    "collaborators": ("metadata",),
    "rules": ("metadata",),
    "": ("metadata",),
}


def accepted_permissions(method: str, template: str) -> dict[str, str]:
    """Return the accepted permissions; any single one is enough: {"issues": "write", "pull-requests": "write"}."""
    level = "read" if method == "GET" else "write"
    section = template.removeprefix("/repos/{owner}/{repo}").lstrip("/").split("/")
    if section in (["issues"], ["issues", "{issue_number}"]):
        # An issue itself, unlike its comments.
        return {"issues": level}
    scopes = SCOPES.get("check-runs" if section[-1] == "check-runs" else section[0], ("contents",))
    return dict.fromkeys(scopes, level)


def allowed(held: dict[str, str], accepted: dict[str, str]) -> bool:
    # Every token may read metadata.
    held = {"metadata": "read"} | held
    return any(LEVELS[held.get(scope, "none")] >= LEVELS[level] for scope, level in accepted.items())


def header(accepted: dict[str, str]) -> str:
    """GitHub spells permissions with underscores here: `issues=write; pull_requests=write`."""
    return "; ".join(f"{scope.replace('-', '_')}={level}" for scope, level in accepted.items())
