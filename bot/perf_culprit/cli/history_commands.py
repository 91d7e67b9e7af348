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


def stats(asked: HistoryStats) -> int:
    from perf_culprit.flows.record import history_size
    from perf_culprit.say.maintenance_text import history_size_text

    with shown(asked):
        size = history_size(asked, config=chosen_config(asked))
    say(history_size_text(size))
    return EXIT_FINE


def run_compaction(asked: HistoryCompact) -> int:
    from perf_culprit.flows.record import compact_history
    from perf_culprit.say.maintenance_text import compacted_text

    with shown(asked):
        compacted = compact_history(asked, config=chosen_config(asked))
    say(compacted_text(compacted))
    return EXIT_FINE


def copy(asked: HistoryCopy) -> int:
    from perf_culprit.flows.record import copy_between

    with shown(asked):
        copied, before = copy_between(asked, config=chosen_config(asked), environ=os.environ)
    counts = ", ".join(f"{kind}: {copied.get(folder, 0):,}" for folder, kind in _FOLDER_TITLES.items())
    say(f"copied {counts}; already there: {before:,}")
    return EXIT_FINE


def migrate_history(asked: HistoryMigrate) -> int:
    from perf_culprit.flows.record import migrate_database

    place, is_done = migrate_database(chosen_config(asked))
    say(f"{place}: {'its tables are ready' if is_done else 'nothing to do, its tables are up to date'}")
    return EXIT_FINE


def accepted(asked: HistoryAccepted) -> int:
    from perf_culprit.flows.record import list_acceptances
    from perf_culprit.say.finding_tables import accepted_document
    from perf_culprit.say.render_markdown import markdown_text
    from perf_culprit.say.render_terminal import render_terminal

    with shown(asked):
        entries = list_acceptances(asked, config=chosen_config(asked))
    document = accepted_document(entries)
    if asked.markdown:
        write(asked.markdown, markdown_text(*document.nodes).encode())
    if asked.markdown != Path("-"):
        show(render_terminal(document, width=table_width(sys.stdout), colour=colour(sys.stdout)), sys.stdout)
    return EXIT_FINE


def accept_level(asked: Accept) -> int:
    from perf_culprit.flows.record import accept_here
    from perf_culprit.say.inert import plain

    accepted = accept_here(asked, config=chosen_config(asked))
    names = ", ".join(plain(name) for name in accepted.benchmarks) or "every benchmark that got worse"
    word = "accepted" if accepted.stored else "was accepted before"
    author, reason = plain(accepted.acceptance.author), plain(accepted.acceptance.reason, limit=300)
    say(f"{word}: {names} at {accepted.acceptance.commit[:12]}, by {author}: {reason}")
    return EXIT_FINE


def dashboard(asked: BuildDashboard) -> int:
    from perf_culprit.flows.site import build_dashboard

    with shown(asked):
        built = build_dashboard(
            asked,
            config=chosen_config(asked),
            token=os.environ.get("GITHUB_TOKEN"),
            host=os.environ.get("GITHUB_SERVER_URL", "https://github.com"),
        )
    page = asked.folder / "index.html"
    say(
        f"{page}: {built.series:,} series of {built.runs:,} runs, {built.read:,} of them read now;"
        f" {built.written:,} files written, {built.unchanged:,} unchanged"
    )
    if asked.open:
        webbrowser.open(page.absolute().as_uri())
    return EXIT_FINE


def changes(asked: FindChanges) -> int:
    from perf_culprit.say.series_text import changes_json, changes_text

    if asked.releases is not None:
        return _releases(asked)
    if asked.html:
        raise UsageError("--html belongs to --releases", next_step="leave it out, or give versions with --releases")
    _check_source(asked)
    with shown(asked):
        result = _changes_of(asked)
    if asked.json:
        labels = result.table.labels
        write(asked.json, changes_json(result.series, labels=labels, newest=asked.rows))
    stream = text_stream(asked.json)
    show(changes_text(result.table, result.series), stream)
    return EXIT_FINE


def _changes_of(asked: FindChanges) -> "Changes":
    from perf_culprit.flows.look_back import changes_in_file, changes_in_history

    if asked.repository is not None:
        return changes_in_history(asked.repository, asked, config=chosen_config(asked))
    return changes_in_file(asked.file or "", asked, config=chosen_config(asked), stdin=sys.stdin.buffer)


def _releases(asked: FindChanges) -> int:
    from perf_culprit.flows.look_back import releases_in_files, releases_in_history
    from perf_culprit.model.series import encode_releases
    from perf_culprit.say.series_text import releases_page, releases_text

    if bool(asked.releases) == (asked.repository is not None):
        raise UsageError(
            "--releases takes NAME=FILE for each version, or --repo for the tags with stored runs",
            next_step="such as: perf-culprit changes --releases v1.0=old.json v1.1=new.json",
        )
    config = chosen_config(asked)
    if asked.repository is None:
        matrix = releases_in_files(asked.releases or (), config=config)
    else:
        matrix = releases_in_history(asked.repository, config=config, history_url=asked.history_url)
    if asked.html:
        write_page(asked.html, releases_page(matrix), is_shown=asked.open)
    if asked.json:
        write(asked.json, encode_releases(matrix))
    show(releases_text(matrix), text_stream(asked.json))
    return EXIT_FINE


def _check_source(asked: FindChanges) -> None:
    if (asked.file is None) == (asked.repository is None):
        raise UsageError("give either a file or --repo", next_step="such as: perf-culprit changes builds.csv")
    of_files = {"--column": asked.column, "--index": asked.index}
    of_history = {"--history": asked.history_url, "--benchmark": asked.benchmark, "--suite": asked.suite}
    foreign, kind = (of_files, "a file") if asked.file is None else (of_history, "--repo")
    misplaced = [option for option, value in foreign.items() if value]
    if misplaced:
        raise UsageError(f"{', '.join(misplaced)} belongs to {kind}", next_step="leave it out")


def print_audit(asked: AuditRuns) -> int:
    from perf_culprit.flows.look_back import audit_files, audit_history
    from perf_culprit.say.audit_text import audit_json, render_audit
    from perf_culprit.say.charts import render_audit_svg, render_labels_svg, render_sweep_svg

    config = chosen_config(asked)
    with shown(asked):
        if asked.files:
            result = audit_files(asked, config=config, stdin=sys.stdin.buffer)
        else:
            result = audit_history(asked, config=config)
    if asked.json:
        write(asked.json, audit_json(result))
    if asked.svg:
        draw = render_labels_svg if asked.labels else render_sweep_svg if asked.sweep else render_audit_svg
        write(asked.svg, draw(result).encode())
    say(render_audit(result), text_stream(asked.json))
    return EXIT_FINE
