"""The commands that run the user's commands on commits: measure, backfill, bisect, bisect-job."""

from pathlib import Path
from typing import Annotated, Final, Literal, get_args

from perf_culprit.commands.declared import (
    QUANTITIES,
    Also,
    Cache,
    Configured,
    EnvironmentOption,
    HistoryUrl,
    MeasuringCommand,
    Option,
    RepositoryOption,
    Suite,
    as_minutes,
    as_part,
    as_seconds,
    as_variant,
    positive,
    whole_number,
)
from perf_culprit.model.count import as_quantity

# The fewest that can prove one change among 1,000 benchmarks at 1%: 2 / 6 ** 7 is below 0.01 / 1,000.
DEFAULT_ROUNDS: Final = 7
ROUNDS_UNTIL_DECIDED: Final = 20
Affected = Literal["off", "documents", "suites", "benchmarks"]
SoughtDirection = Literal["any", "worse", "better"]
_TraceChoice = Literal["always", "auto", "off"]
ALWAYS: Final = "always"
TRACE_AUTO: Final = "auto"


def as_trace(text: str) -> str:
    """When to trace; an option without a value means always."""
    if text not in ("", *get_args(_TraceChoice)):
        raise ValueError(f"{text!r} is not one of {', '.join(get_args(_TraceChoice))}")
    return text or ALWAYS


Only = Annotated[
    tuple[str, ...], Option("--only NAME ...", "measure these benchmarks alone ($PERF_CULPRIT_BENCHMARKS names them)")
]
_OutputOption = Annotated[
    Path,
    Option(
        "--output DIR", "folder for a run file per commit, written after every round, and log.txt (default: measured)"
    ),
]
_DEFAULT_OUTPUT: Final = Path("measured")


class Measure(
    MeasuringCommand,
    name="measure",
    examples=("perf-culprit measure --commits main HEAD --run 'python bench.py' --output measured",),
):
    """Measure commits side by side on this machine, interleaved A B B A."""

    commits: Annotated[
        tuple[str, ...],
        Option(
            "--commits REV ...",
            "the baseline, then the targets (default in a GitHub job: what its event added to, its checkout). One "
            "alone is for the stored history. . is the working tree",
        ),
    ] = ()
    variant: Annotated[
        tuple[str, ...],
        Option(
            "--variant NAME=TEXT ...",
            "measure variants of one commit, the baseline first: TEXT is the command, or $PERF_CULPRIT_VARIANT for "
            "--run and --build",
            convert=as_variant,
        ),
    ] = ()
    reference: Annotated[
        str | None,
        Option(
            "--reference REV",
            "the baseline: a tag or commit, latest-release (docs/tracking-issues.md), or registry: what PyPI, npm or "
            "crates.io has",
        ),
    ] = None
    rounds: Annotated[
        int | None,
        Option(
            "--rounds N",
            f"rounds of A B B A (default: {DEFAULT_ROUNDS}, or {ROUNDS_UNTIL_DECIDED} with --until-decided)",
        ),
    ] = None
    metric: Annotated[
        str | None,
        Option(
            "--metric NAME",
            f"measure this of the whole command: {QUANTITIES} (docs/measure.md)",
            convert=as_quantity,
        ),
    ] = None
    also: Also = ()
    warmup: Annotated[
        int, Option("--warmup N", "uncounted runs per commit first (default: 1)", convert=whole_number)
    ] = 1
    until_decided: Annotated[bool, Option("--until-decided", "stop as soon as every change is proven or excluded")] = (
        False
    )
    trace: Annotated[
        str,
        Option(
            "--trace [WHEN]",
            "trace afterwards, to see which methods got slower: always (no WHEN), auto (what got or looks worse, in "
            "--minutes) or off",
            convert=as_trace,
        ),
    ] = "off"
    trace_repetitions: Annotated[int, Option("--trace-repetitions N", "repetitions per level (default: 10)")] = 10
    trace_budget: Annotated[
        float, Option("--trace-budget SECONDS", "time for executions per commit (default: 60)", convert=as_seconds)
    ] = 60.0
    trace_full: Annotated[bool, Option("--trace-full", "follow every path, not only where time goes")] = False
    trace_include: Annotated[
        tuple[str, ...], Option("--trace-include MODULE ...", "follow these modules or packages as well")
    ] = ()
    at: Annotated[
        str | None, Option("--at PKG.MODULE:FUNCTION", "trace only this function, without imports and set-up")
    ] = None
    confirm: Annotated[
        bool, Option("--confirm", "measure whatever looks like a regression a second time (docs/confirm.md)")
    ] = False
    flagged: Annotated[
        Path | None,
        Option("--flagged REPORT", "measure only what this report.json suspects or calls a regression; else nothing"),
    ] = None
    only: Only = ()
    affected: Annotated[
        str | None,
        Option(
            "--affected",
            "measure only what the changes can reach (docs/how-to/only-what-changed.md)",
            key="affected",
            choices=get_args(Affected),
        ),
    ] = None
    harness: Annotated[
        str | None,
        Option("--harness", "whose benchmarks all commits are measured by (default: each its own)", choices=("head",)),
    ] = None
    part: Annotated[
        str | None,
        Option("--part I/N", "the Ith of N parts of the suite (docs/how-to/spread-a-suite.md)", convert=as_part),
    ] = None
    list_command: Annotated[
        str | None,
        Option("--list CMD", "shell command: prints what --part divides; --run gets its lines in $PERF_CULPRIT_PART"),
    ] = None
    minutes: Annotated[
        float | None,
        Option(
            "--minutes N",
            "start no round that would end after this time (default: none, with --flagged confirm.budget)",
            convert=as_minutes,
        ),
    ] = None
    resume: Annotated[
        bool, Option("--resume", "add rounds to the measurement in DIR, of the same commits and commands")
    ] = False
    dry_run: Annotated[
        bool,
        Option(
            "--dry-run",
            "execute each commit once, print the cost and, from an earlier measurement in DIR, what it would show",
        ),
    ] = False
    output: _OutputOption = _DEFAULT_OUTPUT
    suite: Suite = None


class Qualify(MeasuringCommand, name="qualify", examples=("perf-culprit qualify --run 'python bench.py'",)):
    """Say what a pull request would cost here, and which slowdown it would show: HEAD measured against itself."""

    minutes: Annotated[
        float, Option("--minutes N", "time that a pull request may take (default: 10)", convert=as_minutes)
    ] = 10.0
    output: Annotated[
        Path | None, Option("--output OUT", "write what was measured here, for --join with that of other machines")
    ] = None
    join: Annotated[
        tuple[str, ...], Option("--join FILE ...", "measure nothing; say how much the machines of these files differ")
    ] = ()
    suite: Suite = None


class Verify(
    MeasuringCommand,
    name="verify",
    examples=("perf-culprit verify --culprit abc1234 --fix HEAD --run 'python bench.py' --output measured",),
):
    """Measure before a culprit, the culprit and a fix side by side: fixed, partly, or not."""

    culprit: Annotated[str, Option("--culprit REV", "commit that made it worse; its parent is what it was before")]
    fix: Annotated[str, Option("--fix REV", "commit that is to take it back (default: HEAD)")] = "HEAD"
    rounds: Annotated[int, Option("--rounds N", "rounds of A B C C B A (default: 10)", convert=positive)] = 10
    only: Only = ()
    output: _OutputOption = _DEFAULT_OUTPUT
    suite: Suite = None


class Backfill(
    MeasuringCommand,
    name="backfill",
    examples=("perf-culprit backfill --since v1.0 --minutes 30 --run 'python bench.py'",),
):
    """Measure old commits on this machine and store them in the history, resumable."""

    since: Annotated[str, Option("--since REV", "oldest commit to measure, on HEAD's own line")]
    every: Annotated[str, Option("--every CHOICE", "which commits: merge, release (tags), or N for every Nth")] = "1"
    limit: Annotated[
        float | None, Option("--minutes N", "stop after this time; the next call resumes", convert=as_minutes)
    ] = None
    executions: Annotated[int, Option("--executions N", "executions per commit (default: 5)")] = 5
    dry_run: Annotated[bool, Option("--dry-run", "execute one commit only, and say how long all would take")] = False
    output: Annotated[Path | None, Option("--output DIR", "write the runs here and store nothing (for `import`)")] = (
        None
    )
    log: Annotated[Path, Option("--log OUT", "log of the commands (default: backfill.log)")] = Path("backfill.log")
    also: Also = ()
    history_url: HistoryUrl = None
    suite: Suite = None


class Bisect(
    MeasuringCommand,
    name="bisect",
    examples=("perf-culprit bisect --good v1.4 --bad HEAD --run 'python bench.py' --benchmark parse",),
):
    """Find the commits that introduced a change, by measuring on this machine."""

    good: Annotated[str, Option("--good REV", "commit before the change")]
    bad: Annotated[str, Option("--bad REV", "commit with the change")]
    outcome: Annotated[
        str | None,
        Option("--outcome CMD", "find the commit since which this command fails more often (125: cannot be tested)"),
    ] = None
    benchmark: Annotated[
        str | None, Option("--benchmark NAME", "benchmark to follow, where the command measures several")
    ] = None
    metric: Annotated[
        str | None,
        Option(
            "--metric NAME",
            f"metric to follow, of several; of the whole command (docs/measure.md): {QUANTITIES}. "
            "auto: by time, and by instructions if a few executions do not decide",
        ),
    ] = None
    direction: Annotated[
        SoughtDirection, Option("--direction", "change to look for (default: any)", choices=get_args(SoughtDirection))
    ] = "any"
    engine: Annotated[
        str | None,
        Option(
            "--engine",
            "search engine (default: bisect.engine, else bayes)",
            key="bisect.engine",
            choices=("bayes", "weighted"),
        ),
    ] = None
    repeat: Annotated[
        int | None,
        Option(
            "--repeat N", "weighted: executions of each commit (default: bisect.repeat, else 10)", key="bisect.repeat"
        ),
    ] = None
    threshold: Annotated[
        str | None,
        Option(
            "--threshold PERCENT",
            "weighted: chance that noise passes for a change (default: bisect.threshold, else 1%)",
            key="bisect.threshold",
        ),
    ] = None
    prior: Annotated[
        str,
        Option(
            "--prior",
            "bayes: chances to start from: what commits change, and whether that is executed (default), or all equal",
            choices=("changes", "uniform"),
        ),
    ] = "changes"
    seed: Annotated[int, Option("--seed N", "seed of the order within a round (default: 0)", convert=whole_number)] = 0
    executions: Annotated[int | None, Option("--executions N", "budget: executions at most (default: 400)")] = None
    jobs: Annotated[int, Option("--jobs N", "rounds to count at once; times are always measured one by one")] = 1
    minutes: Annotated[
        float | None, Option("--minutes N", "budget: after this time the answer so far is given", convert=as_minutes)
    ] = None
    first_parent: Annotated[bool, Option("--first-parent", "consider only the commits of the main line")] = False
    paths: Annotated[
        tuple[str, ...], Option("--paths PATH ...", "only commits that change these paths are candidates")
    ] = ()
    profile: Annotated[
        str | None,
        Option(
            "--profile CMD",
            "shell command that writes a profile to $PERF_CULPRIT_OUTPUT, for the culprit's methods (default: "
            "bisect.profile, else the profiler of its language)",
        ),
    ] = None
    profile_seconds: Annotated[
        int | None,
        Option(
            "--profile-seconds N",
            "time for profiling the culprit, and as much for its parent (default: 30; 0: none)",
            convert=whole_number,
        ),
    ] = None
    state: Annotated[
        Path | None, Option("--state FILE", "state of the search, written after each round (default: inside .git)")
    ] = None
    resume: Annotated[Path | None, Option("--resume FILE", "resume the same search from this state file")] = None
    history_url: Annotated[
        str | None, Option("--history [URL]", "use executions that are stored there as well (no URL: remote origin)")
    ] = None
    record: Annotated[
        bool, Option("--record", "append what is measured to the history (--history, else remote origin)")
    ] = False
    suite: Annotated[
        str | None, Option("--suite NAME", "suite of the history (default: configuration)", key="suite")
    ] = None
    dry_run: Annotated[bool, Option("--dry-run", "say what would be measured and what it would cost")] = False
    git_run: Annotated[
        Path | None, Option("--git-run OUT", "only write a script for `git bisect run`; search nothing")
    ] = None
    json: Annotated[Path | None, Option("--json OUT", "write the answer here (- for standard output)")] = None
    markdown: Annotated[Path | None, Option("--markdown OUT", "write the answer as Markdown here")] = None
    svg: Annotated[Path | None, Option("--svg OUT", "write a plot of the measurements by commit here")] = None
    open: Annotated[bool, Option("--open", "show what --svg writes in a browser")] = False
    log: Annotated[Path | None, Option("--log OUT", "write the answer for `git bisect replay` here")] = None


class MeasureBisectJob(Configured, name="bisect-job"):
    """Measure one job of a bisection that is shared with other machines (docs/bisection.md)."""

    repository: RepositoryOption = Path()
    request: Annotated[Path, Option("--request FILE", "the dispatch's request (- for standard input)")]
    job: Annotated[str, Option("--job ID", "which of the request's jobs this machine is")]
    output: Annotated[Path, Option("--output DIR", "folder for bisect-job.json and log.txt")]
    run: Annotated[str | None, Option("--run CMD", "shell command that measures (default: the request's)")] = None
    build: Annotated[
        str | None, Option("--build CMD", "shell command that builds a commit (default: the request's)")
    ] = None
    tool: Annotated[str | None, Option("--tool NAME", "format of the results (default: the request's)")] = None
    minutes: Annotated[
        float | None, Option("--minutes N", "start no round that would end after this time", convert=as_minutes)
    ] = None
    cache: Cache = None
    environment: EnvironmentOption = ()
