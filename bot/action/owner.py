"""From root to the workspace's owner, before anything is read or written.

GitHub demands that a docker action starts as root. Staying root would leave files in the workspace that the runner
cannot delete, and git would refuse a workspace of another user.
"""

import os
from pathlib import Path


def become_owner(workspace: Path) -> None:
    """Give up root for the workspace's owner. Nothing happens where we are not root, or root owns the workspace."""
    if os.geteuid() != 0 or not workspace.is_dir():
        return
    owner = workspace.stat()
    if owner.st_uid == 0:
        return
    os.setgroups([])
    os.setgid(owner.st_gid)
    os.setuid(owner.st_uid)
