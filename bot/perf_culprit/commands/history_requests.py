"""The commands that read or change stored runs: accept, history, audit, changes, dashboard."""

from pathlib import Path
from typing import Annotated, Final

from perf_culprit.commands.declared import Configured, HistoryUrl, Option, RepositoryOption, Suite, Tool, whole_number

_HISTORY_PLACES: Final = (
    "origin, the URL or path of a repository, or the URL of a database (postgresql://…, sqlite:///…)"
)


class Accept(Configured, name="accept", examples=("perf-culprit accept parse --reason 'the new parser checks more'",)):
    """Accept a regression as the new baseline: later runs are compared with it."""

    benchmark: Annotated[str | None, Option("[BENCHMARK]", "name of the benchmark, or --all")] = None
    all: Annotated[bool, Option("--all", "every benchmark that got worse at that commit")] = False
    reason: Annotated[
        str, Option("--reason TEXT", "why it is accepted, and after the word because what is gained; shown in reports")
    ]
    author: Annotated[str | None, Option("--author NAME", "who accepts it (default: git's user.name)")] = None
    revision: Annotated[str, Option("--commit REV", "first commit with the new level (default: HEAD)")] = "HEAD"
    repository: RepositoryOption = Path()
    history_url: HistoryUrl = None
    suite: Suite = None


class HistoryAccepted(
    Configured,
    name="history accepted",
    examples=("perf-culprit history accepted", "perf-culprit history accepted --since v1.0 --markdown notes.md"),
):
    """List accepted changes, newest first: what each cost and gained, why, and who accepted it."""

    since: Annotated[str | None, Option("--since REV", "only those of the commits between this and HEAD")] = None
    markdown: Annotated[
        Path | None, Option("--markdown OUT", "write them as Markdown here, for release notes (- for standard output)")
    ] = None
    repository: RepositoryOption = Path()
    history_url: HistoryUrl = None
    suite: Suite = None


class HistoryStats(Configured, name="history stats", examples=("perf-culprit history stats",)):
    """Show its size, its growth, and what compact would save."""

    repository: RepositoryOption = Path()
    history_url: HistoryUrl = None


class HistoryCompact(Configured, name="history compact", examples=("perf-culprit history compact",)):
    """Replace the branch's past by one commit, and reduce old runs."""

    repository: RepositoryOption = Path()
    history_url: HistoryUrl = None


class HistoryCopy(Configured, name="history copy", examples=("perf-culprit history copy origin sqlite:///history.db",)):
    """Copy everything to another place."""

    source: Annotated[str, Option("FROM", _HISTORY_PLACES)]
    target: Annotated[str, Option("TO", "like FROM; what is already there stays")]
    repository: RepositoryOption = Path()


class HistoryMigrate(Configured, name="history migrate", examples=("perf-culprit history migrate",)):
    """Create or update the tables of a database."""

    history_url: Annotated[str | None, Option("--history URL", "the database (default: configuration)")] = None


class AuditRuns(
    Configured,
    name="audit",
    examples=("perf-culprit audit --repo .", "perf-culprit audit --files runs/*.json --svg curves.svg"),
):
    """Measure false alarms and detectable effect of every detector on your own stored runs."""

    repository: Annotated[Path, Option("--repo DIR", "repository whose history is audited (default: here)")] = Path()
    files: Annotated[tuple[str, ...], Option("--files FILE ...", "audit these result files instead, oldest first")] = ()
    minimum_effect: Annotated[
        str | None, Option("--minimum-effect PERCENT", "effect to plan the number of samples for", key="minimum_effect")
    ] = None
    seed: Annotated[int, Option("--seed N", "seed of the random trials (default: 0)", convert=whole_number)] = 0
    json: Annotated[Path | None, Option("--json OUT", "write all numbers here (- for standard output)")] = None
    svg: Annotated[Path | None, Option("--svg OUT", "write the plot here")] = None
    sweep: Annotated[
        bool, Option("--sweep", "also precision and recall of control charts by violation-threshold, and plot those")
    ] = False
    labels: Annotated[
        Path | None,
        Option(
            "--labels FILE",
            "with --sweep --files: your good and bad runs, a line each, such as `bad run-7.csv`; adds precision, "
            "recall and F by threshold",
        ),
    ] = None
    history_url: HistoryUrl = None
    tool: Tool = "auto"
    suite: Suite = None


class FindChanges(
    Configured,
    name="changes",
    examples=(
        "perf-culprit changes builds.csv --column time --index commit",
        "perf-culprit changes --repo . --benchmark 'parse*'",
        "perf-culprit changes --releases v1.0=old.json v1.1=new.json --html matrix.html",
    ),
):
    """Find when a series changed, in a table or in the stored history (one row per commit)."""

    file: Annotated[str | None, Option("[FILE]", "CSV or TSV with a header, oldest row first; - for stdin")] = None
    column: Annotated[
        tuple[str, ...], Option("--column NAME", "column to judge, repeatable (default: all columns of numbers)")
    ] = ()
    index: Annotated[str | None, Option("--index NAME", "column that names the rows: commit, build or time")] = None
    repository: Annotated[
        Path | None, Option("--repo DIR", "judge this repository's stored history instead of a file")
    ] = None
    releases: Annotated[
        tuple[str, ...] | None,
        Option(
            "--releases [NAME=FILE ...]",
            "compare released versions, the oldest first: results or traces by name, or with --repo the stored tags",
        ),
    ] = None
    benchmark: Annotated[
        str | None, Option("--benchmark PATTERN", "only stored benchmarks of this name or shell pattern")
    ] = None
    suite: Annotated[str | None, Option("--suite NAME", "stored suite (default: configuration)", key="suite")] = None
    ignore_environment: Annotated[
        bool, Option("--ignore-environment", "use stored runs of any hardware", key="ignore_environment")
    ] = False
    online: Annotated[
        bool, Option("--online", "say for each row whether a bot would raise an alarm there, without seeing later rows")
    ] = False
    minimum_effect: Annotated[
        str | None,
        Option(
            "--minimum-effect PERCENT",
            "ignore changes smaller than this (default: the configuration's, or 1%)",
            key="minimum_effect",
        ),
    ] = None
    json: Annotated[Path | None, Option("--json OUT", "write the changes here (- for standard output)")] = None
    rows: Annotated[
        int, Option("--rows N", "also write the newest N rows to the JSON (default: 0)", convert=whole_number)
    ] = 0
    html: Annotated[
        Path | None,
        Option("--html OUT", "write --releases here: the deviation matrix and curves (one file, no outside resources)"),
    ] = None
    open: Annotated[bool, Option("--open", "show what --html writes in a browser")] = False
    history_url: HistoryUrl = None


class BuildDashboard(Configured, name="dashboard", examples=("perf-culprit dashboard site --open",)):
    """Write a static site of the stored history, for GitHub Pages or a disk."""

    folder: Annotated[Path, Option("DIR", "folder of the site; an earlier dashboard there is updated")]
    repository: RepositoryOption = Path()
    rebuild: Annotated[bool, Option("--rebuild", "read every stored run again")] = False
    open: Annotated[bool, Option("--open", "show it in a browser")] = False
    history_url: HistoryUrl = None
