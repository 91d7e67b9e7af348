"""The function of each operation id of GitHub's description. Requests are checked before the call."""

from collections.abc import Callable

from tests.support.fake_github import action_operations, issue_operations, repository_operations
from tests.support.fake_github.call import Answer, Call

OPERATIONS: dict[str, Callable[[Call], Answer]] = {
    "repos/get": repository_operations.get_repository,
    "repos/get-collaborator-permission-level": repository_operations.get_permission,
    "repos/get-content": repository_operations.get_content,
    "repos/compare-commits-with-basehead": repository_operations.compare,
    "repos/create-commit-status": repository_operations.create_status,
    "repos/get-commit": repository_operations.get_commit,
    "repos/list-pull-requests-associated-with-commit": repository_operations.list_pulls_of_commit,
    "repos/get-branch": repository_operations.get_branch,
    "repos/get-branch-rules": repository_operations.list_rules,
    "git/get-ref": repository_operations.get_reference,
    "git/create-ref": repository_operations.create_reference,
    "issues/list-for-repo": issue_operations.list_issues,
    "issues/create": issue_operations.create_issue,
    "issues/get": issue_operations.get_issue,
    "issues/update": issue_operations.update_issue,
    "issues/list-comments": issue_operations.list_comments,
    "issues/create-comment": issue_operations.create_comment,
    "issues/get-comment": issue_operations.get_comment,
    "issues/update-comment": issue_operations.update_comment,
    "issues/delete-comment": issue_operations.delete_comment,
    "reactions/create-for-issue-comment": issue_operations.create_reaction,
    "reactions/list-for-issue-comment": issue_operations.list_reactions,
    "reactions/delete-for-issue-comment": issue_operations.delete_reaction,
    "pulls/list": repository_operations.list_pulls,
    "pulls/get": repository_operations.get_pull,
    "checks/create": action_operations.create_check_run,
    "checks/update": action_operations.update_check_run,
    "checks/get": action_operations.get_check_run,
    "checks/list-for-ref": action_operations.list_check_runs,
    "actions/list-workflow-runs-for-repo": action_operations.list_runs,
    "actions/get-workflow-run": action_operations.get_run,
    "actions/list-workflow-runs": action_operations.list_runs_of_workflow,
    "actions/cancel-workflow-run": action_operations.cancel_run,
    "actions/re-run-workflow": action_operations.rerun,
    "actions/re-run-workflow-failed-jobs": action_operations.rerun_failed_jobs,
    "actions/list-workflow-run-artifacts": action_operations.list_run_artifacts,
    "actions/list-artifacts-for-repo": action_operations.list_artifacts,
    "actions/get-artifact": action_operations.get_artifact,
    "actions/download-artifact": action_operations.download_artifact,
    "actions/create-workflow-dispatch": action_operations.dispatch_workflow,
}
