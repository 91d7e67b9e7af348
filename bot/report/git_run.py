"""A script for `git bisect run`, for people who want git to search: each commit beside the good one, in rounds."""

import shlex
from collections.abc import Sequence

SCRIPT = """\
#!/bin/sh
# git bisect run {name}: 0 is good, 1 is bad, 125 cannot be measured. It asks about the commit that is checked out;
# a worktree is measured, not the checkout. Slower by less than the minimum effect is good.
folder=$(mktemp -d) || exit 255
trap 'rm -rf "$folder"' EXIT
{measure} --output "$folder" >&2 || exit 125
perf-culprit compare --paired --baseline "$folder/baseline.json" --target "$folder/target.json" >&2
case $? in
  0) exit 0 ;;
  1) exit 1 ;;
  *) exit 125 ;;
esac
"""


def git_run_script(good: str, *, name: str, options: Sequence[str]) -> str:
    """`good`: full hash; `options` are those of `measure` that say what to run."""
    words = ["perf-culprit", "measure", "--commits", good, "HEAD", *options]
    return SCRIPT.format(name=shlex.quote(name), measure=shlex.join(words))
