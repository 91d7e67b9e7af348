"""The commands that judge results: collect, compare, record, import, publish."""

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from perf_culprit.cli.options import (
    Verbs,
    add_options,
    add_page_options,
    chosen_config,
    commit_hash,
    new_verb,
    option,
    request,
)
from perf_culprit.cli.output import colour, show, shown, table_width, text_stream, write, write_page
from perf_culprit.errors import EXIT_FINE, EXIT_REGRESSION, UsageError
from perf_culprit.say.inert import plain_lines

if TYPE_CHECKING:
    from perf_culprit.flows.compare import HistoryComparison


def add_judge_verbs(verbs: Verbs) -> None:
    for add in (_add_collect, _add_compare, _add_record, _add_import, _add_publish):
        add(verbs)


def _add_collect(verbs: Verbs) -> None:
    verb = new_verb(
        verbs, "collect", _collect, "read benchmark results of any known format, and write them as one run in JSON"
    )
    verb.add_argument("files", nargs="+", metavar="FILE", help="file, directory, zip archive, glob, or - for stdin")
    option(verb, "--json OUT", "write the run here (default: standard output)")
    option(verb, "--commit HASH", "full hash of the measured commit", type=commit_hash)
    add_options(verb, "tool", "suite", "config")


def _add_compare(verbs: Verbs) -> None:
    verb = new_verb(verbs, "compare", _compare, "judge target results against baseline results or the stored history")
    option(verb, "--target FILE ...", "results to judge", required=True)
    option(verb, "--baseline FILE ...", "results to judge against")
    option(verb, "--paired", "both were measured in one job, interleaved")
    option(verb, "--confirm FILE ...", "second results of the flagged benchmarks", default=[])
    option(verb, "--confirm-baseline FILE ...", "second results of the baseline", default=[])
    option(verb, "--repo DIR", "judge against this repository's stored history instead")
    option(verb, "--base REV", "branch that the target goes into (default: the target's parents)")
    option(verb, "--commit REV", "commit of the target (default: the one that its files name, else HEAD)")
    option(verb, "--detector NAME", "detector (default: the configuration's, else anova)")
    option(verb, "--minimum-effect PERCENT", "ignore changes smaller than this, for example 5%%")
    option(verb, "--ignore-environment", "compare runs even if their hardware differs")
    option(
        verb,
        "--diagnosis FILE",
        "diagnosis to show in the comment, as diagnose --json writes it: of two revisions, of one, or both",
        action="append",
        default=[],
    )
    option(verb, "--json OUT", "write report.json here (- for standard output)")
    option(verb, "--markdown OUT", "write the comment's Markdown here")
    add_page_options(verb, "the report here: the comment, and every benchmark with its samples and history")
    add_options(verb, "history", "tool", "suite", "config")


def _add_record(verbs: Verbs) -> None:
    verb = new_verb(verbs, "record", _record, "append results to the history branch")
    verb.add_argument("files", nargs="+", metavar="FILE", help="results in any format that collect reads")
    option(verb, "--commit REV", "measured commit (default: the one that FILE names, else HEAD)")
    add_options(verb, "repo", "history", "tool", "suite", "config")


def _add_import(verbs: Verbs) -> None:
    verb = new_verb(verbs, "import", _import, "store the results that another tool kept (data.js, asv) as history")
    verb.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="data.js, .asv/results, a CSV of Otava, or any results that name their commit",
    )
    option(verb, "--dry-run", "read and count, but store nothing")
    add_options(verb, "repo", "history", "tool", "suite", "config")


def _add_publish(verbs: Verbs) -> None:
    verb = new_verb(
        verbs, "publish", _publish, "post report.json as pull-request comment and check run (needs GITHUB_TOKEN)"
    )
    verb.add_argument("report", type=Path, metavar="REPORT", help="report.json, as compare writes it")
    option(verb, "--repository OWNER/NAME", "default: GITHUB_REPOSITORY")
    option(verb, "--pull-request N", "pull request that gets the comment", type=int)
    option(verb, "--sha HASH", "commit that gets the check run")
    add_options(verb, "config")


def _collect(arguments: argparse.Namespace) -> int:
    from perf_culprit.flows.compare import collect_run
    from perf_culprit.model.run_file import encode_run

    told: list[str] = []
    with shown(arguments):
        run = collect_run(
            arguments.files,
            tool=arguments.tool,
            config=chosen_config(arguments),
            commit=arguments.commit,
            stdin=sys.stdin.buffer,
            tell=None if arguments.quiet else told.append,
        )
    for text in told:
        print(text, file=sys.stderr)
    write(arguments.json, encode_run(run))
    return EXIT_FINE


def _compare(arguments: argparse.Namespace) -> int:
    from perf_culprit.flows.compare import FilesComparison, compare_files, compare_with_history
    from perf_culprit.flows.render import report_html, report_json, report_markdown
    from perf_culprit.say.terminal_report import render_text

    config = chosen_config(arguments)
    with shown(arguments):
        if arguments.baseline:
            _check_unused(arguments)
            files = request(FilesComparison, arguments, stdin=sys.stdin.buffer)
            report = compare_files(files, config=config)
        else:
            report = compare_with_history(_against_history(arguments, arguments.target), config=config).report
        for name in arguments.diagnosis:
            from perf_culprit.flows.diagnose import with_diagnosis

            report = with_diagnosis(report, name)
        to_stdout = arguments.json == Path("-")
        if arguments.json and not to_stdout:
            write(arguments.json, report_json(report))
        if arguments.markdown or arguments.html:
            markdown = report_markdown(report)
            if arguments.markdown:
                write(arguments.markdown, markdown.encode())
            if arguments.html:
                write_page(arguments, report_html(markdown, report))
        stream = text_stream(arguments.json)
        text = render_text(report, colour=colour(stream), width=table_width(stream))
    if to_stdout:
        write(arguments.json, report_json(report))
    show(text, stream)
    return EXIT_REGRESSION if report.failed else EXIT_FINE


def _check_unused(arguments: argparse.Namespace) -> None:
    """What would be ignored is refused: a misspelt commit among it."""
    unused = [f"--{name}" for name in ("repo", "base", "commit", "history") if getattr(arguments, name)]
    if unused:
        raise UsageError(
            f"not beside --baseline, which replaces the stored history: {', '.join(unused)}",
            place="perf-culprit compare",
            next_step="leave out one or the other",
        )


def _against_history(arguments: argparse.Namespace, target: list[str]) -> "HistoryComparison":
    from perf_culprit.flows.compare import HistoryComparison

    return request(
        HistoryComparison,
        arguments,
        target=target,
        repository=arguments.repo or Path(),
        revision=arguments.commit,
        history_url=arguments.history,
        stdin=sys.stdin.buffer,
    )


def _record(arguments: argparse.Namespace) -> int:
    from perf_culprit.flows.record import record_files

    with shown(arguments):
        stored = record_files(
            _against_history(arguments, arguments.files),
            config=chosen_config(arguments),
            warn=lambda text: print(plain_lines(f"perf-culprit: {text}"), file=sys.stderr),
        )
    print(f"recorded {stored}")
    return EXIT_FINE


def _import(arguments: argparse.Namespace) -> int:
    from perf_culprit.flows.record import HistoryImport, import_history
    from perf_culprit.say.maintenance_text import imported_text

    wanted = request(
        HistoryImport,
        arguments,
        repository=arguments.repo,
        history_url=arguments.history,
        token=os.environ.get("GITHUB_TOKEN"),
    )
    print(imported_text(import_history(wanted, config=chosen_config(arguments))), end="")
    return EXIT_FINE


def _publish(arguments: argparse.Namespace) -> int:
    from perf_culprit.flows.publish import publish_file

    lines = publish_file(
        arguments.report,
        config=chosen_config(arguments),
        repository=arguments.repository,
        pull_request=arguments.pull_request,
        sha=arguments.sha,
        environ=os.environ,
    )
    print("\n".join(lines))
    return EXIT_FINE
