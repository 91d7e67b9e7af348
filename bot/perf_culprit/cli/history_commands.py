"""The commands that read or change stored runs: accept, history, audit, changes, dashboard."""

import argparse
import os
import sys
import webbrowser
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from perf_culprit.cli.options import (
    Verbs,
    add_options,
    add_page_options,
    chosen_config,
    count,
    new_verb,
    option,
    request,
)
from perf_culprit.cli.output import show, shown, text_stream, write, write_page
from perf_culprit.errors import EXIT_FINE, UsageError

if TYPE_CHECKING:
    from perf_culprit.flows.look_back import Changes


# The commands that change what is stored: accept, and history stats, compact, copy and migrate.

# By the folder that the branch has for them.
KINDS: Final[Mapping[str, str]] = {"runs": "runs", "accepted": "accepted changes", "bisections": "bisections"}


def add_storage_verbs(verbs: Verbs) -> None:
    _add_accept(verbs)
    group = verbs.add_parser(
        "history", help="show the size of the stored history, compact it, copy it, or prepare a database for it"
    )
    parts = group.add_subparsers(title="commands", metavar="COMMAND", required=True)
    stats = new_verb(parts, "stats", _stats, "show its size, its growth, and what compact would save", group="history")
    compact = new_verb(
        parts, "compact", _compact, "replace the branch's past by one commit, and reduce old runs", group="history"
    )
    copy = new_verb(parts, "copy", _copy, "copy everything to another place", group="history")
    migrate = new_verb(parts, "migrate", _migrate, "create or update the tables of a database", group="history")
    where = "origin, the URL or path of a repository, or the URL of a database (postgresql://…, sqlite:///…)"
    copy.add_argument("source", metavar="FROM", help=where)
    copy.add_argument("target", metavar="TO", help="like FROM; what is already there stays")
    option(migrate, "--history URL", "the database (default: configuration)")
    for verb in (stats, compact):
        add_options(verb, "repo", "history", "config")
    add_options(copy, "repo", "config")
    add_options(migrate, "config")


def _stats(arguments: argparse.Namespace) -> int:
    from perf_culprit.flows.record import history_size
    from perf_culprit.say.maintenance_text import history_size_text

    with shown(arguments):
        size = history_size(arguments.repo, config=chosen_config(arguments), history_url=arguments.history)
    print(history_size_text(size), end="")
    return EXIT_FINE


def _compact(arguments: argparse.Namespace) -> int:
    from perf_culprit.flows.record import compact_history
    from perf_culprit.say.maintenance_text import compacted_text

    with shown(arguments):
        compacted = compact_history(arguments.repo, config=chosen_config(arguments), history_url=arguments.history)
    print(compacted_text(compacted), end="")
    return EXIT_FINE


def _copy(arguments: argparse.Namespace) -> int:
    from perf_culprit.flows.record import copy_between

    with shown(arguments):
        copied, before = copy_between(
            arguments.source,
            arguments.target,
            repository=arguments.repo,
            config=chosen_config(arguments),
            environ=os.environ,
        )
    counts = ", ".join(f"{kind}: {copied.get(folder, 0):,}" for folder, kind in KINDS.items())
    print(f"copied {counts}; already there: {before:,}")
    return EXIT_FINE


def _migrate(arguments: argparse.Namespace) -> int:
    from perf_culprit.flows.record import migrate_database

    place, is_done = migrate_database(chosen_config(arguments))
    print(f"{place}: {'its tables are ready' if is_done else 'nothing to do, its tables are up to date'}")
    return EXIT_FINE


def _add_accept(verbs: Verbs) -> None:
    verb = new_verb(
        verbs, "accept", _accept, "accept a regression as the new baseline: later runs are compared with it"
    )
    verb.add_argument("benchmark", metavar="BENCHMARK", nargs="?", help="name of the benchmark, or --all")
    option(verb, "--all", "every benchmark that got worse at that commit")
    option(verb, "--reason TEXT", "why it is accepted; shown in later reports", required=True)
    option(verb, "--author NAME", "who accepts it (default: git's user.name)")
    option(verb, "--commit REV", "first commit with the new level (default: HEAD)", default="HEAD")
    add_options(verb, "repo", "history", "suite", "config")


def _accept(arguments: argparse.Namespace) -> int:
    from perf_culprit.flows.record import accept_here
    from perf_culprit.say.inert import plain

    accepted = accept_here(
        arguments.repo,
        benchmark=arguments.benchmark,
        everything=arguments.all,
        reason=arguments.reason,
        author=arguments.author,
        revision=arguments.commit,
        config=chosen_config(arguments),
        history_url=arguments.history,
    )
    names = ", ".join(plain(name) for name in accepted.benchmarks) or "every benchmark that got worse"
    word = "accepted" if accepted.stored else "was accepted before"
    author, reason = plain(accepted.acceptance.author), plain(accepted.acceptance.reason, limit=300)
    print(f"{word}: {names} at {accepted.acceptance.commit[:12]}, by {author}: {reason}")
    return EXIT_FINE


# The commands that look back at stored runs, or at another series: audit, changes, dashboard.


def add_series_verbs(verbs: Verbs) -> None:
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
    from perf_culprit.flows.site import DashboardPlan, build_dashboard

    plan = request(
        DashboardPlan,
        arguments,
        repository=arguments.repo,
        history_url=arguments.history,
        token=os.environ.get("GITHUB_TOKEN"),
        host=os.environ.get("GITHUB_SERVER_URL", "https://github.com"),
    )
    with shown(arguments):
        built = build_dashboard(plan, config=chosen_config(arguments))
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
    from perf_culprit.say.series_text import changes_json, changes_text

    if arguments.releases is not None:
        return _releases(arguments)
    if arguments.html:
        raise UsageError("--html belongs to --releases", next_step="leave it out, or give versions with --releases")
    _check_source(arguments)
    with shown(arguments):
        changes = _changes_of(arguments)
    if arguments.json:
        labels = changes.table.labels
        write(arguments.json, changes_json(changes.series, labels=labels, newest=arguments.rows))
    stream = text_stream(arguments.json)
    show(changes_text(changes.table, changes.series), stream)
    return EXIT_FINE


def _changes_of(arguments: argparse.Namespace) -> "Changes":
    from perf_culprit.flows.look_back import changes_in_file, changes_in_history

    if arguments.repo is not None:
        return changes_in_history(
            arguments.repo,
            config=chosen_config(arguments),
            history_url=arguments.history,
            pattern=arguments.benchmark or "*",
            online=arguments.online,
            seed=arguments.seed,
        )
    return changes_in_file(
        arguments.file,
        config=chosen_config(arguments),
        columns=arguments.column,
        label=arguments.index,
        online=arguments.online,
        seed=arguments.seed,
        stdin=sys.stdin.buffer,
    )


def _releases(arguments: argparse.Namespace) -> int:
    from perf_culprit.flows.look_back import releases_in_files, releases_in_history
    from perf_culprit.model.series import encode_releases
    from perf_culprit.say.html_pages import releases_page
    from perf_culprit.say.series_text import releases_text

    if bool(arguments.releases) == (arguments.repo is not None):
        raise UsageError(
            "--releases takes NAME=FILE for each version, or --repo for the tags with stored runs",
            next_step="such as: perf-culprit changes --releases v1.0=old.json v1.1=new.json",
        )
    config = chosen_config(arguments)
    if arguments.repo is None:
        matrix = releases_in_files(arguments.releases, config=config)
    else:
        matrix = releases_in_history(arguments.repo, config=config, history_url=arguments.history)
    if arguments.html:
        write_page(arguments, releases_page(matrix))
    if arguments.json:
        write(arguments.json, encode_releases(matrix))
    show(releases_text(matrix), text_stream(arguments.json))
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
    from perf_culprit.flows.look_back import audit_files, audit_history
    from perf_culprit.say.audit_text import audit_json, render_audit
    from perf_culprit.say.charts import render_audit_svg

    config = chosen_config(arguments)
    with shown(arguments):
        if arguments.files:
            audit = audit_files(
                arguments.files, config=config, tool=arguments.tool, stdin=sys.stdin.buffer, seed=arguments.seed
            )
        else:
            audit = audit_history(
                repository=arguments.repo or Path(), config=config, history_url=arguments.history, seed=arguments.seed
            )
    if arguments.json:
        write(arguments.json, audit_json(audit))
    if arguments.svg:
        write(arguments.svg, render_audit_svg(audit).encode())
    print(render_audit(audit), end="", file=text_stream(arguments.json))
    return EXIT_FINE
