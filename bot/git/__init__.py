"""Every git call of the project: functions over `subprocess`, no git library and no shell.

`command` runs git and knows about secrets and errors, `revisions` asks a repository about its commits,
`ranges` about many at once, `objects` moves
and makes them, `worktrees` lays them out as files. Callers write `from bot import git` and `git.merge_bases(...)`.
"""

from bot.git.command import GitError, Remote, run_git
from bot.git.objects import (
    Identity,
    PushRejectedError,
    TreeChange,
    TreeEntry,
    commit_tree,
    fetch,
    init_private,
    list_tree,
    push,
    read_blobs,
    write_blob,
    write_tree,
)
from bot.git.ranges import messages, parents_text
from bot.git.revisions import (
    FULL_HASH,
    ancestors,
    changed_files,
    commit_time,
    default_remote_url,
    find_commit,
    head_commit,
    is_ancestor,
    is_shallow,
    merge_bases,
    parents,
    resolve_commit,
    shallow_commits,
)
from bot.git.worktrees import add_worktree, common_folder, prune_worktrees, remove_worktree, tree_names, worktrees

__all__ = [
    "FULL_HASH",
    "GitError",
    "Identity",
    "PushRejectedError",
    "Remote",
    "TreeChange",
    "TreeEntry",
    "add_worktree",
    "ancestors",
    "changed_files",
    "commit_time",
    "commit_tree",
    "common_folder",
    "default_remote_url",
    "fetch",
    "find_commit",
    "head_commit",
    "init_private",
    "is_ancestor",
    "is_shallow",
    "list_tree",
    "merge_bases",
    "messages",
    "parents",
    "parents_text",
    "prune_worktrees",
    "push",
    "read_blobs",
    "remove_worktree",
    "resolve_commit",
    "run_git",
    "shallow_commits",
    "tree_names",
    "worktrees",
    "write_blob",
    "write_tree",
]
