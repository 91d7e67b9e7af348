"""A bisection's measurements as SVG, and its answer for `git bisect`."""

import shlex
from collections.abc import Iterator
from html import escape

from perf_culprit.model.bisection import BisectionReport, MeasuredCommit
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.say.bisection_answer import answer_headline, counts_of
from perf_culprit.say.charts import COLOURS, HEIGHT, LEFT, Points, frame
from perf_culprit.say.inert import SHORT_HASH, clean
from perf_culprit.say.numbers import percent

WIDEST_DRAWN = 1.0  # widest interval that is drawn whole: wider ones would squeeze all others
_USUAL, NAMED = COLOURS[0], COLOURS[1]


def bisection_svg(report: BisectionReport) -> str:
    """Draw a point per commit with a number, in the order of the history. Each links to its commit's page."""
    commit_range = report.commit_range
    order = dict.fromkeys((commit_range.good, *commit_range.merge_bases, *commit_range.commits))
    places = {commit: float(place) for place, commit in enumerate(order)}
    marks = {places[commit.commit]: commit for commit in report.measured if commit.shown is not None}
    points = [point for x, entry in marks.items() for point in _heights(x, entry)]
    axis = f"commits after {_short(commit_range.good)}, up to {_short(commit_range.bad)}"
    parts, place = frame(answer_headline(report), axis, points or [(0.0, 0.0), (len(places) - 1.0, 0.0)])
    name = escape(clean(f"{report.key.benchmark} ({report.key.metric})", limit=TEXT_LIMITS.plot_label_characters))
    what = "failures" if report.settings.of_failures else "change"
    parts.append(f'<text x="{LEFT}" y="{HEIGHT - 10}">{what} in %, {name}</text>')
    named = {culprit.commit for culprit in report.outcome.culprits}
    for x, entry in marks.items():
        shapes = _mark([place(point) for point in _heights(x, entry)], entry, is_named=entry.commit in named)
        change, subject = percent(entry.shown or 0.0, signed=entry.failed is None), report.subjects.get(entry.commit)
        words = f"{_short(entry.commit)}: {change}, {counts_of(entry)}"
        title = words if subject is None else f"{words}: {clean(subject)}"
        parts += _with_link([f"<title>{escape(title)}</title>", *shapes], entry.commit, report.repository_url)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _heights(x: float, commit: MeasuredCommit) -> Points:
    """Return the mean in percent and, unless the interval is too wide, both of its ends."""
    interval, mean = commit.confidence_interval, commit.shown or 0.0
    ends = [] if interval is None or interval.high - interval.low > WIDEST_DRAWN else [interval.low, interval.high]
    return [(x, 100 * value) for value in (mean, *ends)]


def _mark(points: Points, commit: MeasuredCommit, *, is_named: bool) -> Iterator[str]:
    (x, y), *ends = points
    colour = NAMED if is_named else _USUAL
    if ends:
        (_, low), (_, high) = ends
        yield f'<line x1="{x:.1f}" y1="{low:.1f}" x2="{x:.1f}" y2="{high:.1f}" stroke="{colour}" stroke-width="1.5"/>'
    yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{5 if is_named else 3}" fill="{colour}"/>'
    if is_named:
        yield f'<text x="{x - 8:.1f}" y="{y + 4:.1f}" text-anchor="end" fill="{colour}">{_short(commit.commit)}</text>'


def _with_link(parts: list[str], commit: str, repository_url: str | None) -> list[str]:
    if repository_url is None:
        return ["<g>", *parts, "</g>"]
    return [f'<a href="{escape(repository_url)}/commit/{escape(commit)}" target="_blank">', *parts, "</a>"]


def _short(commit: str) -> str:
    return escape(clean(commit)[:SHORT_HASH])


def bisection_log(report: BisectionReport) -> str:
    """Log the ends, and all measured commits as good or bad relative to the culprit, newest first.

    Newest first, because git keeps only the last `bad`. Without a single culprit only the ends are certain. A commit
    without a number is skipped.
    """
    commit_range, outcome = report.commit_range, report.outcome
    bad = _with_descendants(report, outcome.culprits[0].commit) if len(outcome.culprits) == 1 else set()
    verdicts = {commit_range.bad: "bad", commit_range.good: "good"}
    for commit in reversed(report.measured):
        if commit.commit in outcome.skipped:
            verdicts.setdefault(commit.commit, "skip")
        elif bad and commit.commit in commit_range.commits:
            verdicts.setdefault(commit.commit, "bad" if commit.commit in bad else "good")
    return "\n".join(_log_lines(report, verdicts)) + "\n"


def _with_descendants(report: BisectionReport, culprit: str) -> set[str]:
    commits, reached = report.commit_range.commits, set[str]()
    for commit, parents in zip(commits, report.commit_range.parents, strict=True):
        if commit == culprit or any(commits[parent] in reached for parent in parents):
            reached.add(commit)
    return reached


def _log_lines(report: BisectionReport, verdicts: dict[str, str]) -> Iterator[str]:
    yield "git bisect start"
    for commit, verdict in verdicts.items():
        yield f"# {verdict}: [{commit}] {_subject(report, commit)}"
        yield f"git bisect {verdict} {commit}"
    for culprit in report.outcome.culprits:
        yield f"# first bad commit: [{culprit.commit}] {_subject(report, culprit.commit)}"


def _subject(report: BisectionReport, commit: str) -> str:
    return clean(report.subjects.get(commit, ""), limit=TEXT_LIMITS.subject_characters)


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


def git_run_script(measure: str, *, name: str) -> str:
    """Return the script that runs this command to measure the good commit and HEAD."""
    return SCRIPT.format(name=shlex.quote(name), measure=measure)
