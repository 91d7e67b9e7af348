"""measure -> trace -> diagnose: where the time of each measured commit goes, and what its target does otherwise."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from bot import git
from bot.codec.tree_comparison import encode_tree_comparison
from bot.dispatch.tracing import TracePlan, trace_commits
from bot.files import replace_file
from bot.measure import Workplace
from bot.pipeline.revisions import RevisionsPlan, diagnose_revisions
from bot.trace.profile import encode_trace

TRACE_SUFFIX: Final = "-trace.json"
DIAGNOSIS_NAME: Final = "diagnosis"


def write_traces(
    workplace: Workplace, commits: Mapping[str, str], *, plan: TracePlan, output: Path, say: Callable[[str], None]
) -> tuple[Path, ...]:
    """Trace each commit, by the name of its file."""
    files = []
    for name, trace in trace_commits(workplace, commits, plan=plan, say=say).items():
        files.append(output / f"{name}{TRACE_SUFFIX}")
        replace_file(files[-1], encode_trace(trace))
    return tuple(files)


def diagnose_traces(
    repository: Path, commits: Mapping[str, str], *, traces: Sequence[Path], output: Path
) -> tuple[Path, ...]:
    """Each target's trace beside the baseline's, with what was changed in between: a file per target.

    Where the target is the baseline's child, it is the commit that introduced the change.
    """
    (_, base), *targets = commits.items()
    before, *after = traces
    files = []
    for (name, head), trace in zip(targets, after, strict=True):
        is_child = git.parents(repository, head) == (base,)
        comparison = diagnose_revisions(
            RevisionsPlan(
                baseline=[str(before)],
                target=[str(trace)],
                format="perf_culprit_trace",
                repository=repository,
                commit=head if is_child else None,
                base=None if is_child else base,
                head=None if is_child else head,
            )
        )
        files.append(output / f"{name.replace('target', DIAGNOSIS_NAME)}.json")
        replace_file(files[-1], encode_tree_comparison(comparison))
    return tuple(files)
