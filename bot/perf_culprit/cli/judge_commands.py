"""The commands that judge results: collect, compare, record, import, publish."""

import os
import sys
from pathlib import Path

from perf_culprit.cli.options import chosen_config
from perf_culprit.cli.output import colour, say, show, shown, table_width, text_stream, warn, write, write_page
from perf_culprit.commands.judge_requests import Collect, Compare, Import, Publish, Record
from perf_culprit.errors import EXIT_FINE, EXIT_NO_DATA, EXIT_REGRESSION, UsageError


def collect(asked: Collect) -> int:
    from perf_culprit.flows.compare import collect_run
    from perf_culprit.model.run_file import encode_run

    told: list[str] = []
    with shown(asked):
        run = collect_run(
            asked.files,
            tool=asked.tool,
            config=chosen_config(asked),
            commit=asked.commit,
            stdin=sys.stdin.buffer,
            is_ci_log=asked.ci_log,
            tell=None if asked.quiet else told.append,
        )
    for text in told:
        say(text, sys.stderr)
    write(asked.json, encode_run(run))
    return EXIT_FINE


def compare(asked: Compare) -> int:
    from perf_culprit.flows.compare import compare_result_files
    from perf_culprit.flows.render import draw_or_verdict, report_html, report_json, report_markdown
    from perf_culprit.say.comparison import render_text

    asked = _named(asked)
    config = chosen_config(asked)
    with shown(asked):
        if asked.baseline:
            _check_unused(asked)
            report = compare_result_files(asked, config=config, stdin=sys.stdin.buffer)
        else:
            from perf_culprit.flows.compare_history import compare_with_history

            report = compare_with_history(asked, config=config, stdin=sys.stdin.buffer).report
        for name in asked.diagnosis:
            from perf_culprit.flows.diagnose import with_diagnosis

            report = with_diagnosis(report, name)
        as_json = report_json(report) if asked.json else b""
        if asked.json and asked.json != Path("-"):
            write(asked.json, as_json)
        verdict, stream = report.conclusion, text_stream(asked.json)
        if asked.markdown:
            write(asked.markdown, draw_or_verdict(lambda: report_markdown(report), verdict, warn=warn).encode())
        if asked.html:
            write_page(
                asked.html, draw_or_verdict(lambda: report_html(report), verdict, warn=warn), is_shown=asked.open
            )
        text = draw_or_verdict(lambda: render_text(report, colour=colour(stream), width=table_width(stream)), verdict)
    if asked.json == Path("-"):
        write(asked.json, as_json)
    show(text, stream)
    return EXIT_REGRESSION if report.failed else EXIT_NO_DATA if report.has_nothing_in_common else EXIT_FINE


def _named(asked: Compare) -> Compare:
    """Replace OLD and NEW by the options that they abbreviate."""
    if asked.old is None and asked.target:
        return asked
    if asked.new is None or asked.target or asked.baseline:
        raise UsageError(
            "needs OLD and NEW, or --target with --baseline or --repo",
            place="perf-culprit compare",
            next_step="give both sides; `perf-culprit compare --help` lists what there is",
        )
    return asked.replaced(old=None, new=None, baseline=(asked.old,), target=(asked.new,))


def _check_unused(asked: Compare) -> None:
    """Refuse options that would be ignored, including a misspelt commit."""
    of_history = {
        "--repo": asked.repository,
        "--base": asked.base,
        "--commit": asked.revision,
        "--history": asked.history_url,
    }
    if asked.reference is not None:
        of_history.pop("--repo")  # where the reference is looked up
    unused = [flag for flag, value in of_history.items() if value]
    if unused:
        raise UsageError(
            f"not together with --baseline, which replaces the stored history: {', '.join(unused)}",
            place="perf-culprit compare",
            next_step="leave out one or the other",
        )


def record(asked: Record) -> int:
    from perf_culprit.flows.record import record_files
    from perf_culprit.say.comparison import render_short

    with shown(asked):
        stored, report = record_files(
            asked,
            config=chosen_config(asked),
            stdin=sys.stdin.buffer,
            warn=warn,
        )
    say(f"recorded {stored}\n{render_short(report)}")
    return EXIT_FINE


def import_runs(asked: Import) -> int:
    from perf_culprit.flows.record import import_history
    from perf_culprit.say.maintenance_text import imported_text

    imported = import_history(asked, config=chosen_config(asked), token=os.environ.get("GITHUB_TOKEN"))
    say(imported_text(imported))
    return EXIT_FINE


def publish_report(asked: Publish) -> int:
    from perf_culprit.flows.publish import publish_file

    say("\n".join(publish_file(asked, config=chosen_config(asked), environ=os.environ)))
    return EXIT_FINE
