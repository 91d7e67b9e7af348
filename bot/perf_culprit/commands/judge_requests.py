"""The commands that judge results: collect, compare, record, import, publish."""

from pathlib import Path
from typing import Annotated

from perf_culprit.commands.declared import Configured, HistoryUrl, Option, RepositoryOption, Suite, Tool, commit_hash


class Collect(
    Configured,
    name="collect",
    examples=("perf-culprit collect bench.json --json run.json", "go test -bench . -count 10 | perf-culprit collect -"),
):
    """Read benchmark results of any known format, and write them as one run in JSON."""

    files: Annotated[tuple[str, ...], Option("FILE ...", "file, directory, zip archive, glob, or - for stdin")]
    json: Annotated[Path | None, Option("--json OUT", "write the run here (default: standard output)")] = None
    commit: Annotated[str | None, Option("--commit HASH", "full hash of the measured commit", convert=commit_hash)] = (
        None
    )
    tool: Tool = "auto"
    suite: Suite = None
    ci_log: Annotated[bool, Option("--ci-log", "leave out what a CI service other than GitHub adds to its logs")] = (
        False
    )


class Compare(
    Configured,
    name="compare",
    examples=(
        "perf-culprit compare old.json new.json",
        "perf-culprit compare --baseline base/*.json --target head/*.json --html report.html --open",
        "perf-culprit compare --target bench.json --repo . --base main",
        "perf-culprit compare --target bench.json --repo . --reference latest-release",
    ),
):
    """Judge target results against baseline results or the stored history.

    Each file of the baseline is a run of its own, or a `paired` execution. `confirm` are results of a second
    measurement of what was flagged, `confirm_baseline` those of its baseline. Without `confirm_baseline` the second
    measurement is judged against the same baseline, which makes the two less independent.
    """

    old: Annotated[str | None, Option("[OLD]", "results to judge against: a file, or a folder of one run each")] = None
    new: Annotated[str | None, Option("[NEW]", "results to judge")] = None
    target: Annotated[tuple[str, ...], Option("--target FILE ...", "results to judge, instead of OLD and NEW")] = ()
    baseline: Annotated[tuple[str, ...], Option("--baseline FILE ...", "results to judge against")] = ()
    paired: Annotated[bool, Option("--paired", "both were measured in one job, interleaved")] = False
    confirm: Annotated[tuple[str, ...], Option("--confirm FILE ...", "second results of the flagged benchmarks")] = ()
    confirm_baseline: Annotated[
        tuple[str, ...], Option("--confirm-baseline FILE ...", "second results of the baseline")
    ] = ()
    repository: Annotated[
        Path | None, Option("--repo DIR", "judge against this repository's stored history instead")
    ] = None
    base: Annotated[
        str | None, Option("--base REV", "branch that the target goes into (default: the target's parents)")
    ] = None
    reference: Annotated[
        str | None,
        Option(
            "--reference REV",
            "judge against the runs of this tag or commit, or latest-release, the newest tag before the target; "
            "with --baseline, the commit that was measured there",
        ),
    ] = None
    revision: Annotated[
        str | None, Option("--commit REV", "commit of the target (default: the one that its files name, else HEAD)")
    ] = None
    detector: Annotated[
        str | None, Option("--detector NAME", "detector (default: the configuration's, else anova)", key="detector")
    ] = None
    unit: Annotated[
        str | None,
        Option(
            "--unit NAME",
            "run (default) or sample: the published test, which raises many false alarms",
            key="unit",
        ),
    ] = None
    minimum_effect: Annotated[
        str | None,
        Option("--minimum-effect PERCENT", "ignore changes smaller than this, for example 5%", key="minimum_effect"),
    ] = None
    ignore_environment: Annotated[
        bool, Option("--ignore-environment", "compare runs even if their hardware differs", key="ignore_environment")
    ] = False
    diagnosis: Annotated[
        tuple[str, ...],
        Option(
            "--diagnosis FILE",
            "diagnosis to show in the comment, as diagnose --json writes it: of two revisions, of one, or both",
        ),
    ] = ()
    json: Annotated[Path | None, Option("--json OUT", "write report.json here (- for standard output)")] = None
    markdown: Annotated[Path | None, Option("--markdown OUT", "write the comment's Markdown here")] = None
    html: Annotated[
        Path | None,
        Option(
            "--html OUT",
            "write the report here: the comment, and every benchmark with its samples and history (one file, no "
            "outside resources)",
        ),
    ] = None
    open: Annotated[bool, Option("--open", "show what --html writes in a browser")] = False
    history_url: HistoryUrl = None
    tool: Tool = "auto"
    suite: Suite = None


class Record(Configured, name="record", examples=("perf-culprit record bench.json",)):
    """Append results to the history branch, and push it to origin."""

    files: Annotated[tuple[str, ...], Option("FILE ...", "results in any format that collect reads")]
    revision: Annotated[
        str | None, Option("--commit REV", "measured commit (default: the one that FILE names, else HEAD)")
    ] = None
    repository: RepositoryOption = Path()
    history_url: HistoryUrl = None
    tool: Tool = "auto"
    suite: Suite = None


class Import(
    Configured, name="import", examples=("perf-culprit import data.js --dry-run", "perf-culprit import .asv/results")
):
    """Store the results that another tool kept (data.js, asv) as history."""

    files: Annotated[
        tuple[str, ...],
        Option("FILE ...", "data.js, .asv/results, a CSV of Otava, or any results that name their commit"),
    ]
    dry_run: Annotated[bool, Option("--dry-run", "read and count, but store nothing")] = False
    repository: RepositoryOption = Path()
    history_url: HistoryUrl = None
    tool: Tool = "auto"
    suite: Suite = None


class Publish(Configured, name="publish", examples=("perf-culprit publish report.json --pull-request 12",)):
    """Post report.json as pull-request comment and check run (needs GITHUB_TOKEN)."""

    report: Annotated[Path, Option("REPORT", "report.json, as compare writes it")]
    repository: Annotated[str | None, Option("--repository OWNER/NAME", "default: GITHUB_REPOSITORY")] = None
    pull_request: Annotated[int | None, Option("--pull-request N", "pull request that gets the comment")] = None
    sha: Annotated[str | None, Option("--sha HASH", "commit that gets the check run")] = None
