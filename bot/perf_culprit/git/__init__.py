"""Every git call of the project: functions over GitPython's command layer, hardened, without a shell.

`command` runs git and handles secrets and errors. `credentials` passes tokens. `revisions` has questions about commits,
and worktrees. `diffs` has differences between commits, and sizes of objects. `objects` fetches, pushes and creates
objects. `uncommitted` compares a checkout with its commit. Callers write `from perf_culprit import git` and
`git.merge_bases(...)`.
"""

from perf_culprit.git.command import IN_A_DATABASE, OTHER_HASHES, GitError, Remote, run_git
from perf_culprit.git.diffs import (
    LINK_MODE,
    SUBMODULE_MODE,
    CountedChange,
    FileChange,
    authorship,
    blob_sizes,
    changed_lines,
    commit_changes,
    file_changes,
    files_with_words,
    headlines,
    merge_resolutions,
    messages,
    packed_objects,
    packed_size,
    parents_text,
)
from perf_culprit.git.objects import (
    Commit,
    Identity,
    PushRejectedError,
    TreeChange,
    TreeEntry,
    blob_name,
    edited,
    fetch,
    grafted,
    init_private,
    list_tree,
    open_kept_folder,
    push,
    read_blobs,
    read_commit,
    remote_branch,
    remote_tags,
    unnamed_commit,
    write_commit,
)
from perf_culprit.git.revisions import (
    FETCH_ALL,
    add_worktree,
    ancestors,
    commit_time,
    common_folder,
    default_remote_url,
    find_commit,
    half_made_worktrees,
    has_sha1_names,
    head_commit,
    is_ancestor,
    is_on_own_branch,
    is_shallow,
    merge_bases,
    missing_commits,
    parents,
    prune_worktrees,
    recorded_parents,
    remove_worktree,
    resolve_commit,
    shallow_commits,
    tags,
    tree_names,
    web_address,
    working_tree,
    worktrees,
)
from perf_culprit.git.uncommitted import uncommitted_files
from perf_culprit.model.run import FULL_HASH


# mypy: implicit-reexport
