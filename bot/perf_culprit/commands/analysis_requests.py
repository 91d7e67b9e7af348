"""The commands diagnose and simulate."""

from pathlib import Path
from typing import Annotated, Final

from perf_culprit.commands.declared import (
    Command,
    Configured,
    Group,
    Option,
    as_seconds,
    number_from_zero,
    whole_number,
)

REVISIONS: Final = Group("two revisions", "logs (with --pattern) or profiles of both: what got slower, and why")
MODE: Final = Group(is_exclusive=True)


class Diagnose(
    Command,
    name="diagnose",
    examples=(
        "perf-culprit diagnose --log calls.log --pattern labelled",
        "perf-culprit diagnose --baseline before.speedscope.json --target after.speedscope.json --flame calls.html",
    ),
):
    """Find the methods that cost most or got slower, and the services to test again."""

    log: Annotated[tuple[str, ...], Option("--log FILE ...", "execution logs: plain, .gz or .zst; - for stdin")] = ()
    pattern: Annotated[
        str | None,
        Option(
            "--pattern PRESET|FILE|csv:COLUMNS",
            "labelled, spring, json, a file with one regular expression, or the columns of a table of spans "
            "(docs/diagnosis.md)",
        ),
    ] = None
    profile: Annotated[
        tuple[str, ...], Option("--profile FILE ...", "read profiles or traces instead; several files are repetitions")
    ] = ()
    format: Annotated[str, Option("--format ID", "format of the profiles (docs/profiles.md; default: auto)")] = "auto"
    trusted: Annotated[
        bool,
        Option("--trusted-profile", "the profiles come from you: read cProfile's as well (loading one can run code)"),
    ] = False
    baseline: Annotated[
        tuple[str, ...], Option("--baseline FILE ...", "logs or profiles of the revision before", group=REVISIONS)
    ] = ()
    target: Annotated[
        tuple[str, ...], Option("--target FILE ...", "logs or profiles of the revision after", group=REVISIONS)
    ] = ()
    repository: Annotated[
        Path, Option("--repo DIR", "repository of both revisions (default: this directory)", group=REVISIONS)
    ] = Path()
    commit: Annotated[
        str | None,
        Option(
            "--commit REV", "commit that introduced the change: mark the functions that it changed", group=REVISIONS
        ),
    ] = None
    base: Annotated[
        str | None,
        Option(
            "--base REV", "before a range of commits, where the one commit is not known; needs --head", group=REVISIONS
        ),
    ] = None
    head: Annotated[str | None, Option("--head REV", "last commit of that range", group=REVISIONS)] = None
    same_work: Annotated[
        bool,
        Option("--same-work", "both did the same work: compare counts of samples instead of shares", group=REVISIONS),
    ] = False
    minimum_effect: Annotated[
        str | None,
        Option(
            "--minimum-effect PERCENT",
            "ignore methods that got slower by less than this (default: 1%)",
            group=REVISIONS,
        ),
    ] = None
    flame: Annotated[
        Path | None,
        Option(
            "--flame OUT",
            "write the difference as a flame graph: a page if it ends in .html, else two columns for flamegraph.pl",
            group=REVISIONS,
        ),
    ] = None
    json: Annotated[Path | None, Option("--json OUT", "write everything as JSON here (- for standard output)")] = None
    top: Annotated[int, Option("--top N", "suspects, slowest calls and paths of a tree to print (default: 20)")] = 20
    fluctuation_weight: Annotated[
        float,
        Option(
            "--lambda WEIGHT",
            "how much differences between services lower a score (default: 1)",
            convert=number_from_zero,
        ),
    ] = 1.0
    minimum_self_ms: Annotated[
        float | None,
        Option(
            "--minimum-self-time MS",
            "methods that take less per call of every service come last (default: 1% of the mean response time)",
            convert=number_from_zero,
        ),
    ] = None
    window_s: Annotated[
        float, Option("--window SECONDS", "window of response time and throughput (default: 60)", convert=as_seconds)
    ] = 60.0
    method: Annotated[
        str | None,
        Option("--method NAME", "also show this method's executions over the windows, and its services as bars"),
    ] = None
    html: Annotated[
        Path | None, Option("--html OUT", "write a page of one revision here: tables, series, call trees to walk")
    ] = None
    workers: Annotated[int, Option("--workers N", "processes that read in parallel (default: 2)")] = 2
    cluster: Annotated[
        str | None,
        Option("--cluster ADDRESS", "tcp://HOST:PORT of a Dask scheduler: its workers read (extra `cluster`)"),
    ] = None


class Simulate(
    Configured,
    name="simulate",
    examples=(
        "perf-culprit simulate model.yml --saturation",
        "perf-culprit simulate new.yml --against old.yml --html report.html",
    ),
):
    """Simulate a layered model of a design: how it performs, and what a change makes worse."""

    model: Annotated[Path, Option("MODEL", "model file (docs/simulation.md)")]
    scenario: Annotated[str | None, Option("--scenario NAME", "scenario to run (default: the model's first)")] = None
    set: Annotated[tuple[str, ...], Option("--set NAME=VALUE", "use another value for a parameter")] = ()
    seed: Annotated[int, Option("--seed N", "seed of the random numbers (default: 0)", convert=whole_number)] = 0
    replications: Annotated[
        int | None, Option("--replications N", "number of replications (default: as many as the precision needs)")
    ] = None
    against: Annotated[Path | None, Option("--against OLD", "compare it with this older model", group=MODE)] = None
    sweep: Annotated[
        bool, Option("--sweep", "run every combination of the model's sweep, and rank them by score", group=MODE)
    ] = False
    saturation: Annotated[
        bool, Option("--saturation", "find the arrival rate at which the system saturates", group=MODE)
    ] = False
    calibrate: Annotated[
        tuple[str, ...], Option("--calibrate FILE ...", "fit demands to the counters of a measured run", group=MODE)
    ] = ()
    detector: Annotated[
        str | None,
        Option("--detector NAME", "detector of --against (default: the configuration's, else anova)", key="detector"),
    ] = None
    minimum_effect: Annotated[
        str | None, Option("--minimum-effect PERCENT", "ignore changes smaller than this", key="minimum_effect")
    ] = None
    json: Annotated[Path | None, Option("--json OUT", "write all numbers here; with --against report.json")] = None
    html: Annotated[Path | None, Option("--html OUT", "write a page with plots; with --against the comment")] = None
    run: Annotated[Path | None, Option("--run OUT", "write a run for compare: a sample per replication")] = None
    counters: Annotated[Path | None, Option("--counters OUT", "write a run of counter tables, also for compare")] = None
