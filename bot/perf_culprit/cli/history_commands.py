"""The commands that read or change stored runs: accept, history, audit, changes, dashboard."""

import os
import sys
import webbrowser
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from perf_culprit.cli.options import chosen_config
from perf_culprit.cli.output import colour, say, show, shown, table_width, text_stream, write, write_page
from perf_culprit.commands.history_requests import (
    Accept,
    AuditRuns,
    BuildDashboard,
    FindChanges,
    HistoryAccepted,
    HistoryCompact,
    HistoryCopy,
    HistoryMigrate,
    HistoryStats,
)
from perf_culprit.errors import EXIT_FINE, UsageError

if TYPE_CHECKING:
    from perf_culprit.flows.look_back import Changes


# Names by the folder on the branch.
_FOLDER_TITLES: Final[Mapping[str, str]] = {"runs": "runs", "accepted": "accepted changes", "bisections": "bisections"}


def stats(options: HistoryStats) -> int:
    from perf_culprit.flows.record import history_size
    from perf_culprit.say.maintenance_text import history_size_text

    with shown(options):
        size = history_size(options, config=chosen_config(options))
    say(history_size_text(size))
    return EXIT_FINE


def run_compaction(options: HistoryCompact) -> int:
    from perf_culprit.flows.record import compact_history
    from perf_culprit.say.maintenance_text import compacted_text

    with shown(options):
        compacted = compact_history(options, config=chosen_config(options))
    say(compacted_text(compacted))
    return EXIT_FINE


def copy(options: HistoryCopy) -> int:
    from perf_culprit.flows.record import copy_between

    with shown(options):
        copied, before = copy_between(options, config=chosen_config(options), environ=os.environ)
    counts = ", ".join(f"{kind}: {copied.get(folder, 0):,}" for folder, kind in _FOLDER_TITLES.items())
    say(f"copied {counts}; already there: {before:,}")
    return EXIT_FINE


def migrate_history(options: HistoryMigrate) -> int:
    from perf_culprit.flows.record import migrate_database

    place, is_done = migrate_database(chosen_config(options))
    say(f"{place}: {'its tables are ready' if is_done else 'nothing to do, its tables are up to date'}")
    return EXIT_FINE


def accepted(options: HistoryAccepted) -> int:
    from perf_culprit.flows.record import list_acceptances
    from perf_culprit.say.finding_tables import accepted_document
    from perf_culprit.say.render_markdown import markdown_text
    from perf_culprit.say.render_terminal import render_terminal

    with shown(options):
        entries = list_acceptances(options, config=chosen_config(options))
    document = accepted_document(entries)
    if options.markdown:
        write(options.markdown, markdown_text(*document.nodes).encode())
    if options.markdown != Path("-"):
        show(render_terminal(document, width=table_width(sys.stdout), colour=colour(sys.stdout)), sys.stdout)
    return EXIT_FINE


def accept_level(options: Accept) -> int:
    from perf_culprit.flows.record import accept_here
    from perf_culprit.say.inert import plain

    accepted = accept_here(options, config=chosen_config(options))
    names = ", ".join(plain(name) for name in accepted.benchmarks) or "every benchmark that got worse"
    word = "accepted" if accepted.stored else "was accepted before"
    author, reason = plain(accepted.acceptance.author), plain(accepted.acceptance.reason, limit=300)
    say(f"{word}: {names} at {accepted.acceptance.commit[:12]}, by {author}: {reason}")
    return EXIT_FINE


def dashboard(options: BuildDashboard) -> int:
    from perf_culprit.flows.site import build_dashboard

    with shown(options):
        built = build_dashboard(
            options,
            config=chosen_config(options),
            token=os.environ.get("GITHUB_TOKEN"),
            host=os.environ.get("GITHUB_SERVER_URL", "https://github.com"),
        )
    page = options.folder / "index.html"
    say(
        f"{page}: {built.series:,} series of {built.runs:,} runs, {built.read:,} of them read now;"
        f" {built.written:,} files written, {built.unchanged:,} unchanged"
    )
    if options.open:
        webbrowser.open(page.absolute().as_uri())
    return EXIT_FINE


def changes(options: FindChanges) -> int:
    from perf_culprit.say.series_text import changes_json, changes_text

    if options.releases is not None:
        return _releases(options)
    if options.html:
        raise UsageError("--html belongs to --releases", next_step="leave it out, or give versions with --releases")
    _check_source(options)
    with shown(options):
        result = _changes_of(options)
    if options.json:
        labels = result.table.labels
        write(options.json, changes_json(result.series, labels=labels, newest=options.rows))
    stream = text_stream(options.json)
    show(changes_text(result.table, result.series), stream)
    return EXIT_FINE


def _changes_of(options: FindChanges) -> "Changes":
    from perf_culprit.flows.look_back import changes_in_file, changes_in_history

    if options.repository is not None:
        return changes_in_history(options.repository, options, config=chosen_config(options))
    return changes_in_file(options.file or "", options, config=chosen_config(options), stdin=sys.stdin.buffer)


def _releases(options: FindChanges) -> int:
    from perf_culprit.flows.look_back import releases_in_files, releases_in_history
    from perf_culprit.model.series import encode_releases
    from perf_culprit.say.series_text import releases_page, releases_text

    if bool(options.releases) == (options.repository is not None):
        raise UsageError(
            "--releases takes NAME=FILE for each version, or --repo for the tags with stored runs",
            next_step="such as: perf-culprit changes --releases v1.0=old.json v1.1=new.json",
        )
    config = chosen_config(options)
    if options.repository is None:
        matrix = releases_in_files(options.releases or (), config=config)
    else:
        matrix = releases_in_history(options.repository, config=config, history_url=options.history_url)
    if options.html:
        write_page(options.html, releases_page(matrix), is_shown=options.open)
    if options.json:
        write(options.json, encode_releases(matrix))
    show(releases_text(matrix), text_stream(options.json))
    return EXIT_FINE


def _check_source(options: FindChanges) -> None:
    if (options.file is None) == (options.repository is None):
        raise UsageError("give either a file or --repo", next_step="such as: perf-culprit changes builds.csv")
    of_files = {"--column": options.column, "--index": options.index}
    of_history = {"--history": options.history_url, "--benchmark": options.benchmark, "--suite": options.suite}
    foreign, kind = (of_files, "a file") if options.file is None else (of_history, "--repo")
    misplaced = [option for option, value in foreign.items() if value]
    if misplaced:
        raise UsageError(f"{', '.join(misplaced)} belongs to {kind}", next_step="leave it out")


def print_audit(options: AuditRuns) -> int:
    from perf_culprit.flows.look_back import audit_files, audit_history
    from perf_culprit.say.audit_text import audit_json, render_audit
    from perf_culprit.say.charts import render_audit_svg, render_labels_svg, render_sweep_svg

    config = chosen_config(options)
    with shown(options):
        if options.files:
            result = audit_files(options, config=config, stdin=sys.stdin.buffer)
        else:
            result = audit_history(options, config=config)
    if options.json:
        write(options.json, audit_json(result))
    if options.svg:
        draw = render_labels_svg if options.labels else render_sweep_svg if options.sweep else render_audit_svg
        write(options.svg, draw(result).encode())
    say(render_audit(result), text_stream(options.json))
    return EXIT_FINE
