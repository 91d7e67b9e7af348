"""The commands that look back at stored runs, or at another series: audit, changes, dashboard."""

import argparse
import os
import sys
import webbrowser
from pathlib import Path

from bot import pipeline
from bot.cli import progress
from bot.cli.options import Verbs, add_options, add_page_options, chosen_config, count, new_verb, request
from bot.cli.output import show, text_stream, write, write_page
from bot.errors import EXIT_FINE, UsageError


def add_verbs(verbs: Verbs) -> None:
    _add_audit(verbs)
    _add_changes(verbs)
    _add_dashboard(verbs)


def _add_dashboard(verbs: Verbs) -> None:
    verb = new_verb(verbs, "dashboard", _dashboard, "a static site of the stored history, for GitHub Pages or a disk")
    verb.add_argument("folder", type=Path, metavar="DIR", help="written here; an earlier dashboard there is updated")
    verb.add_argument("--repo", type=Path, default=Path(), metavar="DIR", help="default: this directory; not touched")
    verb.add_argument("--rebuild", action="store_true", help="read every stored run again")
    verb.add_argument("--open", action="store_true", help="show it in a browser")
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
        verbs, "changes", _changes, "when did it really change: a table or the stored history, one row per commit"
    )
    verb.add_argument("file", nargs="?", metavar="FILE", help="CSV or TSV with a header, oldest row first; - for stdin")
    verb.add_argument(
        "--column", action="append", default=[], metavar="NAME", help="column to judge, repeatable (default: numbers)"
    )
    verb.add_argument("--index", metavar="NAME", help="column that names the rows: commit, build or time")
    verb.add_argument("--repo", type=Path, metavar="DIR", help="instead of a file: this repository's stored history")
    verb.add_argument(
        "--releases",
        nargs="*",
        metavar="NAME=FILE",
        help="compare released versions, the oldest first: results by name, or with --repo the stored tags",
    )
    verb.add_argument("--benchmark", metavar="PATTERN", help="only stored benchmarks of this name or shell pattern")
    verb.add_argument("--suite", metavar="NAME", help="stored suite (default: configuration)")
    verb.add_argument("--ignore-environment", action="store_true", help="take stored runs of any hardware")
    verb.add_argument(
        "--online",
        action="store_true",
        help="say for each row whether a bot that sees no later row alarms",
    )
    verb.add_argument(
        "--minimum-effect",
        metavar="PERCENT",
        help="ignore changes smaller than this (default: the configuration's, or 1%%)",
    )
    verb.add_argument("--seed", type=count, default=0, metavar="N", help="of the p-values' reorderings (default: 0)")
    verb.add_argument("--json", type=Path, metavar="OUT", help="write the changes here (- for standard output)")
    verb.add_argument(
        "--rows", type=count, default=0, metavar="N", help="the newest N rows as well, in the JSON (default: 0)"
    )
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
        verbs, "audit", _audit, "false alarms and detectable effect of every detector on your own stored runs"
    )
    verb.add_argument("--repo", type=Path, metavar="DIR", help="repository whose history is audited (default: here)")
    verb.add_argument("--files", nargs="+", action="extend", metavar="FILE", help="result files instead, oldest first")
    verb.add_argument("--minimum-effect", metavar="PERCENT", help="effect that the number of samples is planned for")
    verb.add_argument("--seed", type=count, default=0, metavar="N", help="of the random trials (default: 0)")
    verb.add_argument("--json", type=Path, metavar="OUT", help="write all numbers here (- for standard output)")
    verb.add_argument("--svg", type=Path, metavar="OUT", help="write the plot here")
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
