"""The commands that judge results: collect, compare, record, import, publish."""

import os
import sys
from pathlib import Path

from perf_culprit.cli.options import chosen_config
from perf_culprit.cli.output import colour, say, show, shown, table_width, text_stream, warn, write, write_page
from perf_culprit.commands.judge_requests import Collect, Compare, Import, Publish, Record
from perf_culprit.errors import EXIT_FINE, EXIT_NO_DATA, EXIT_REGRESSION, UsageError


def collect(options: Collect) -> int:
    from perf_culprit.flows.compare import collect_run
    from perf_culprit.model.run_file import encode_run

    remarks: list[str] = []
    with shown(options):
        run = collect_run(
            options.files,
            tool=options.tool,
            config=chosen_config(options),
            commit=options.commit,
            stdin=sys.stdin.buffer,
            is_ci_log=options.ci_log,
            tell=None if options.quiet else remarks.append,
        )
    for text in remarks:
        say(text, sys.stderr)
    write(options.json, encode_run(run))
    return EXIT_FINE


def compare(options: Compare) -> int:
    from perf_culprit.flows.compare import compare_result_files
    from perf_culprit.flows.render import draw_or_verdict, report_html, report_json, report_markdown
    from perf_culprit.say.comparison import render_text

    options = _with_named_sides(options)
    config = chosen_config(options)
    with shown(options):
        if options.baseline:
            _check_unused(options)
            report = compare_result_files(options, config=config, stdin=sys.stdin.buffer)
        else:
            from perf_culprit.flows.compare_history import compare_with_history

            report = compare_with_history(options, config=config, stdin=sys.stdin.buffer).report
        for name in options.diagnosis:
            from perf_culprit.flows.diagnose import with_diagnosis

            report = with_diagnosis(report, name)
        as_json = report_json(report) if options.json else b""
        if options.json and options.json != Path("-"):
            write(options.json, as_json)
        verdict, stream = report.conclusion, text_stream(options.json)
        if options.markdown:
            write(options.markdown, draw_or_verdict(lambda: report_markdown(report), verdict, warn=warn).encode())
        if options.html:
            write_page(
                options.html, draw_or_verdict(lambda: report_html(report), verdict, warn=warn), is_shown=options.open
            )
        text = draw_or_verdict(lambda: render_text(report, colour=colour(stream), width=table_width(stream)), verdict)
    if options.json == Path("-"):
        write(options.json, as_json)
    show(text, stream)
    return EXIT_REGRESSION if report.failed else EXIT_NO_DATA if report.has_nothing_in_common else EXIT_FINE


def _with_named_sides(options: Compare) -> Compare:
    """Replace OLD and NEW by the options that they abbreviate."""
    if options.old is None and options.target:
        return options
    if options.new is None or options.target or options.baseline:
        raise UsageError(
            "needs OLD and NEW, or --target with --baseline or --repo",
            place="perf-culprit compare",
            next_step="give both sides; `perf-culprit compare --help` lists what there is",
        )
    return options.replaced(old=None, new=None, baseline=(options.old,), target=(options.new,))


def _check_unused(options: Compare) -> None:
    """Refuse options that would be ignored, including a misspelt commit."""
    of_history = {
        "--repo": options.repository,
        "--base": options.base,
        "--commit": options.revision,
        "--history": options.history_url,
    }
    if options.reference is not None:
        of_history.pop("--repo")  # where the reference is looked up
    unused = [flag for flag, value in of_history.items() if value]
    if unused:
        raise UsageError(
            f"not together with --baseline, which replaces the stored history: {', '.join(unused)}",
            place="perf-culprit compare",
            next_step="leave out one or the other",
        )


def record(options: Record) -> int:
    from perf_culprit.flows.record import record_files
    from perf_culprit.say.comparison import render_short

    with shown(options):
        stored, report = record_files(options, config=chosen_config(options), stdin=sys.stdin.buffer, warn=warn)
    say(f"recorded {stored.name} on {stored.place}\n{render_short(report)}")
    return EXIT_FINE


def import_runs(options: Import) -> int:
    from perf_culprit.flows.record import import_history
    from perf_culprit.say.maintenance_text import imported_text

    imported = import_history(options, config=chosen_config(options), token=os.environ.get("GITHUB_TOKEN"))
    say(imported_text(imported))
    return EXIT_FINE


def publish_report(options: Publish) -> int:
    from perf_culprit.flows.publish import publish_file

    say("\n".join(publish_file(options, config=chosen_config(options), environ=os.environ)))
    return EXIT_FINE
