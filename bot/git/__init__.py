"""Every git call of the project: functions over GitPython's command layer, hardened, without a shell.

`command` runs git and knows about secrets and errors, `revisions` asks a repository about its commits,
`ranges` about many at once, `diffs` what differs between them, `objects` moves and makes them, `private` keeps where,
`sizes` says what they weigh,
`worktrees` lays them out as files. Callers write `from bot import git` and `git.merge_bases(...)`.
"""

# mypy: implicit-reexport

from bot.git.command import GitError, Remote, run_git
from bot.git.diffs import (
    LINK_MODE,
    SUBMODULE_MODE,
    CountedChange,
    FileChange,
    blob_sizes,
    changed_lines,
    commit_changes,
    file_changes,
    files_with_words,
    merge_resolutions,
)
from bot.git.objects import (
    Commit,
    Identity,
    PushRejectedError,
    TreeChange,
    TreeEntry,
    blob_name,
    fetch,
    init_private,
    list_tree,
    push,
    read_blobs,
    read_commit,
    remote_branch,
    write_commit,
)
from bot.git.private import kept_folder
from bot.git.revisions import (
    ancestors,
    commit_time,
    default_remote_url,
    find_commit,
    head_commit,
    is_ancestor,
    is_on_own_branch,
    is_shallow,
    merge_bases,
    missing_commits,
    parents,
    recorded_parents,
    resolve_commit,
    shallow_commits,
    tags,
    web_address,
)
from bot.git.sizes import authorship, headlines, messages, packed_objects, packed_size, parents_text
from bot.git.worktrees import add_worktree, common_folder, prune_worktrees, remove_worktree, tree_names, worktrees
from bot.model.commit import FULL_HASH
