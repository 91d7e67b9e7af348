"""For `git bisect`: an answer as its log, for `git bisect replay FILE`, and a script for `git bisect run`."""

import shlex
from collections.abc import Iterator, Sequence

from bot.model.bisection_report import BisectionReport
from bot.report.inert import clean

SUBJECT_LIMIT = 120


def bisection_log(report: BisectionReport) -> str:
    """The ends, and every measured commit with the side that the named culprit puts it on, newest first.

    In that order, because git keeps the last `bad` only. Without one culprit only the ends are certain. A commit that
    gave no number is skipped.
    """
    commit_range, outcome = report.commit_range, report.outcome
    bad = _with_descendants(report, outcome.culprits[0].commit) if len(outcome.culprits) == 1 else set()
    verdicts = {commit_range.bad: "bad", commit_range.good: "good"}
    for entry in reversed(report.measured):
        if entry.commit in outcome.skipped:
            verdicts.setdefault(entry.commit, "skip")
        elif bad and entry.commit in commit_range.commits:
            verdicts.setdefault(entry.commit, "bad" if entry.commit in bad else "good")
    return "\n".join(["git bisect start", *_lines(report, verdicts), *_found(report)]) + "\n"


def _with_descendants(report: BisectionReport, culprit: str) -> set[str]:
    commits, reached = report.commit_range.commits, set[str]()
    for commit, parents in zip(commits, report.commit_range.parents, strict=True):
        if commit == culprit or any(commits[parent] in reached for parent in parents):
            reached.add(commit)
    return reached


def _lines(report: BisectionReport, verdicts: dict[str, str]) -> Iterator[str]:
    for commit, verdict in verdicts.items():
        yield f"# {verdict}: [{commit}] {_subject(report, commit)}"
        yield f"git bisect {verdict} {commit}"


def _found(report: BisectionReport) -> Iterator[str]:
    for culprit in report.outcome.culprits:
        yield f"# first bad commit: [{culprit.commit}] {_subject(report, culprit.commit)}"


def _subject(report: BisectionReport, commit: str) -> str:
    return clean(report.subjects.get(commit, ""), limit=SUBJECT_LIMIT)


SCRIPT = """\
#!/bin/sh
# git bisect run {name}: 0 is good, 1 is bad, 125 cannot be measured or is too noisy to tell. It asks about
# the checked-out commit, in a worktree. Slower by less than the minimum effect is good. 255 ends git's search.
command -v perf-culprit > /dev/null || {{ echo "perf-culprit is not on PATH" >&2; exit 255; }}
folder=$(mktemp -d) || exit 255
trap 'rm -rf "$folder"' EXIT
{measure} --output "$folder" >&2 || exit 125
perf-culprit compare --paired --baseline "$folder/baseline.json" --target "$folder/target.json" \\
  --json "$folder/report.json" >&2
# By its exit code what cannot be told, and a regression below the fail threshold, would be good.
case $(grep -o '"conclusion": *"[a-z_]*"' "$folder/report.json" | head -n 1) in
  *regression*) exit 1 ;;
  *improvement* | *no_change*) exit 0 ;;
  *) exit 125 ;;
esac
"""


def git_run_script(good: str, *, name: str, options: Sequence[str]) -> str:
    """`good`: full hash; `options` are those of `measure` that say what to run."""
    words = ["perf-culprit", "measure", "--commits", good, "HEAD", *options]
    return SCRIPT.format(name=shlex.quote(name), measure=shlex.join(words))
