"""The commands that look back at stored runs, or at another series: audit, changes, dashboard."""

import argparse
import os
import sys
import webbrowser
from pathlib import Path

from bot import pipeline
from bot.cli import progress
from bot.cli.options import Verbs, add_options, add_page_options, chosen_config, count, new_verb, option, request
from bot.cli.output import show, text_stream, write, write_page
from bot.errors import EXIT_FINE, UsageError


def add_verbs(verbs: Verbs) -> None:
    _add_audit(verbs)
    _add_changes(verbs)
    _add_dashboard(verbs)


def _add_dashboard(verbs: Verbs) -> None:
    verb = new_verb(
        verbs, "dashboard", _dashboard, "write a static site of the stored history, for GitHub Pages or a disk"
    )
    verb.add_argument(
        "folder", type=Path, metavar="DIR", help="folder of the site; an earlier dashboard there is updated"
    )
    option(verb, "--repo DIR", "repository (default: this directory); its checkout stays as it is", default=Path())
    option(verb, "--rebuild", "read every stored run again")
    option(verb, "--open", "show it in a browser")
    add_options(verb, "history", "config")


def _dashboard(arguments: argparse.Namespace) -> int:
    plan = request(
        pipeline.DashboardPlan,
        arguments,
        repository=arguments.repo,
        history_url=arguments.history,
        token=os.environ.get("GITHUB_TOKEN"),
        host=os.environ.get("GITHUB_SERVER_URL", "https://github.com"),
    )
    with progress.shown(arguments):
        built = pipeline.build_dashboard(plan, config=chosen_config(arguments))
    page = arguments.folder / "index.html"
    print(
        f"{page}: {built.series:,} series of {built.runs:,} runs, {built.read:,} of them read now;"
        f" {built.written:,} files written, {built.unchanged:,} unchanged"
    )
    if arguments.open:
        webbrowser.open(page.absolute().as_uri())
    return EXIT_FINE


def _add_changes(verbs: Verbs) -> None:
    verb = new_verb(
        verbs,
        "changes",
        _changes,
        "find when a series changed, in a table or in the stored history (one row per commit)",
    )
    verb.add_argument("file", nargs="?", metavar="FILE", help="CSV or TSV with a header, oldest row first; - for stdin")
    option(
        verb,
        "--column NAME",
        "column to judge, repeatable (default: all columns of numbers)",
        action="append",
        default=[],
    )
    option(verb, "--index NAME", "column that names the rows: commit, build or time")
    option(verb, "--repo DIR", "judge this repository's stored history instead of a file")
    option(
        verb,
        "--releases NAME=FILE",
        "compare released versions, the oldest first: results by name, or with --repo the stored tags",
        nargs="*",
    )
    option(verb, "--benchmark PATTERN", "only stored benchmarks of this name or shell pattern")
    option(verb, "--suite NAME", "stored suite (default: configuration)")
    option(verb, "--ignore-environment", "use stored runs of any hardware")
    option(verb, "--online", "say for each row whether a bot would raise an alarm there, without seeing later rows")
    option(verb, "--minimum-effect PERCENT", "ignore changes smaller than this (default: the configuration's, or 1%%)")
    option(verb, "--seed N", "seed of the permutations behind p-values (default: 0)", type=count, default=0)
    option(verb, "--json OUT", "write the changes here (- for standard output)")
    option(verb, "--rows N", "also write the newest N rows to the JSON (default: 0)", type=count, default=0)
    add_page_options(verb, "the deviation matrix of --releases here")
    add_options(verb, "history", "config")


def _changes(arguments: argparse.Namespace) -> int:
    if arguments.releases is not None:
        return _releases(arguments)
    if arguments.html:
        raise UsageError("--html belongs to --releases", next_step="leave it out, or give versions with --releases")
    _check_source(arguments)
    with progress.shown(arguments):
        changes = _changes_of(arguments)
    if arguments.json:
        labels = changes.table.labels
        write(arguments.json, pipeline.changes_json(changes.series, labels=labels, newest=arguments.rows))
    stream = text_stream(arguments.json)
    show(pipeline.changes_text(changes.table, changes.series), stream)
    return EXIT_FINE


def _changes_of(arguments: argparse.Namespace) -> "pipeline.Changes":
    if arguments.repo is not None:
        return pipeline.changes_in_history(
            arguments.repo,
            config=chosen_config(arguments),
            history_url=arguments.history,
            pattern=arguments.benchmark or "*",
            online=arguments.online,
            seed=arguments.seed,
        )
    return pipeline.changes_in_file(
        arguments.file,
        config=chosen_config(arguments),
        columns=arguments.column,
        label=arguments.index,
        online=arguments.online,
        seed=arguments.seed,
        stdin=sys.stdin.buffer,
    )


def _releases(arguments: argparse.Namespace) -> int:
    if bool(arguments.releases) == (arguments.repo is not None):
        raise UsageError(
            "--releases takes NAME=FILE for each version, or --repo for the tags with stored runs",
            next_step="such as: perf-culprit changes --releases v1.0=old.json v1.1=new.json",
        )
    config = chosen_config(arguments)
    if arguments.repo is None:
        matrix = pipeline.releases_in_files(arguments.releases, config=config)
    else:
        matrix = pipeline.releases_in_history(arguments.repo, config=config, history_url=arguments.history)
    if arguments.html:
        write_page(arguments, pipeline.releases_page(matrix))
    if arguments.json:
        write(arguments.json, pipeline.encode_releases(matrix))
    show(pipeline.releases_text(matrix), text_stream(arguments.json))
    return EXIT_FINE


def _check_source(arguments: argparse.Namespace) -> None:
    if (arguments.file is None) == (arguments.repo is None):
        raise UsageError("give either a file or --repo", next_step="such as: perf-culprit changes builds.csv")
    of_files = {"--column": arguments.column, "--index": arguments.index}
    of_history = {"--history": arguments.history, "--benchmark": arguments.benchmark, "--suite": arguments.suite}
    foreign, kind = (of_files, "a file") if arguments.file is None else (of_history, "--repo")
    misplaced = [option for option, value in foreign.items() if value]
    if misplaced:
        raise UsageError(f"{', '.join(misplaced)} belongs to {kind}", next_step="leave it out")


def _add_audit(verbs: Verbs) -> None:
    verb = new_verb(
        verbs, "audit", _audit, "measure false alarms and detectable effect of every detector on your own stored runs"
    )
    option(verb, "--repo DIR", "repository whose history is audited (default: here)")
    option(verb, "--files FILE ...", "audit these result files instead, oldest first")
    option(verb, "--minimum-effect PERCENT", "effect to plan the number of samples for")
    option(verb, "--seed N", "seed of the random trials (default: 0)", type=count, default=0)
    option(verb, "--json OUT", "write all numbers here (- for standard output)")
    option(verb, "--svg OUT", "write the plot here")
    add_options(verb, "history", "tool", "suite", "config")


def _audit(arguments: argparse.Namespace) -> int:
    config = chosen_config(arguments)
    with progress.shown(arguments):
        if arguments.files:
            audit = pipeline.audit_files(
                arguments.files, config=config, tool=arguments.tool, stdin=sys.stdin.buffer, seed=arguments.seed
            )
        else:
            audit = pipeline.audit_history(
                repository=arguments.repo or Path(), config=config, history_url=arguments.history, seed=arguments.seed
            )
    if arguments.json:
        write(arguments.json, pipeline.audit_json(audit))
    if arguments.svg:
        write(arguments.svg, pipeline.audit_svg(audit).encode())
    print(pipeline.audit_text(audit), end="", file=text_stream(arguments.json))
    return EXIT_FINE
