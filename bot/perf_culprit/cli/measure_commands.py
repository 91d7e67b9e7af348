"""The commands that run the user's commands on commits: measure, backfill, bisect, bisect-job."""

import os
import sys
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from perf_culprit.cli.options import chosen_config
from perf_culprit.cli.output import Status, colour, say, show, table_width, text_stream, warn, write, write_page
from perf_culprit.commands.judge_requests import Compare
from perf_culprit.commands.measure_requests import Backfill, Bisect, Measure, MeasureBisectJob, Qualify, Verify
from perf_culprit.errors import EXIT_FINE, EXIT_INTERRUPTED, EXIT_NO_DATA, EXIT_REGRESSION, DataError, UsageError
from perf_culprit.say.inert import plain

if TYPE_CHECKING:
    from perf_culprit.config.settings import Config
    from perf_culprit.flows.measure_plan import MeasurePlan
    from perf_culprit.flows.measurement import Measurement


def _event_revisions(repository: Path) -> tuple[str, str]:
    from perf_culprit.flows.compared_commits import BaselineOrigin, event_ends

    words = {
        BaselineOrigin.MERGED_INTO: "what GitHub merged the pull request into",
        BaselineOrigin.MERGE_BASE: "the merge base",
        BaselineOrigin.BEFORE_PUSH: "the state before the push",
        BaselineOrigin.QUEUED_ON: "what the merge queue put it on",
        BaselineOrigin.PARENT: "its parent",
    }
    ends = event_ends(repository, os.environ)
    say(f"baseline {ends.baseline[:12]}, {words[ends.origin]}; target {ends.target[:12]}")
    return ends.baseline, ends.target


def _since_reference(options: Measure) -> tuple[str, str]:
    from perf_culprit import git
    from perf_culprit.flows.compared_commits import find_reference
    from perf_culprit.flows.registry_release import REGISTRY, registry_release

    if len(options.commits) > 1:
        raise UsageError(
            "--commits names a baseline already",
            place="--reference",
            next_step="give only the target after --commits (default: HEAD)",
        )
    target = options.commits[0] if options.commits else "HEAD"
    if options.reference == REGISTRY and git.find_commit(options.repository, REGISTRY) is None:
        reference = registry_release(options.repository)
    else:
        reference = find_reference(options.repository, str(options.reference), target=target)
    say(f"baseline {reference.commit[:12]}, {plain(reference.name)}; target {target}")
    return reference.commit, target


def measure(options: Measure) -> int:
    from perf_culprit.flows.measure_plan import measure_plan
    from perf_culprit.flows.measurement import measure_commits

    config = chosen_config(options)
    if options.reference is not None:
        options = options.replaced(commits=_since_reference(options))
    if not options.commits and not options.variant:
        options = options.replaced(commits=_event_revisions(options.repository))
    plan = measure_plan(options, config=config, say=say, environ=os.environ)
    if options.flagged is not None and not plan.names:
        why = "nothing is suspected" if options.minutes or config.confirm.budget else "confirm.budget is 0"
        say(f"{options.flagged}: {why}, so nothing is measured")
        return EXIT_FINE
    with Status(sys.stderr, quiet=options.quiet) as status:
        if options.dry_run:
            return _dry_run(plan, config, status)
        measurement = measure_commits(plan, config=config, say=status)
    return _show(measurement, plan.rounds)


def _dry_run(plan: "MeasurePlan", config: "Config", status: Status) -> int:
    from perf_culprit.flows.measurement import foreseen
    from perf_culprit.say.audit_text import foresight_text
    from perf_culprit.say.headlines import took

    cost, foresight = foreseen(plan, config=config, say=status)
    status.clear()
    say(f"would take at most {took(cost)}, without traces and --also")
    if foresight is not None:
        say(foresight_text(foresight))
    return EXIT_FINE


def _show(measurement: "Measurement", rounds: int) -> int:
    """Print the verdict and the next command, however the measurement ended. Then raise the error that ended it."""
    from perf_culprit.flows.render import draw_or_verdict
    from perf_culprit.say.comparison import render_text
    from perf_culprit.say.numbers import count_of

    report = measurement.report
    if report is not None:
        text = draw_or_verdict(
            lambda: render_text(report, colour=colour(sys.stdout), width=table_width(sys.stdout)), report.conclusion
        )
        show(f"{text}\n", sys.stdout)
    has_failed = report is not None and bool(report.lost) and not measurement.rounds
    if not measurement.rounds and report is not None and not has_failed:
        return EXIT_FINE
    is_interrupted = isinstance(measurement.fault, KeyboardInterrupt)
    why = "interrupted: " if is_interrupted else "time limit reached: " if measurement.is_out_of_time else ""
    # A resumed measurement may hold more rounds than are requested now.
    say(f"{why}measured {measurement.rounds} of {max(rounds, measurement.rounds)} rounds")
    if measurement.traces:
        say(f"traces: {measurement.traces[0].parent}/*-trace*")
    if measurement.flagged:
        looked = count_of(len(measurement.flagged), "benchmark")
        say(f"looked like a regression: {looked}, {'' if measurement.confirm else 'not yet '}measured again")
    first, *targets = measurement.files
    for target, diagnosis in zip_longest(targets, measurement.diagnoses):
        command = Compare.line(
            paired=True,
            baseline=first,
            target=target,
            confirm_baseline=measurement.confirm[:1],
            confirm=measurement.confirm[1:],
            diagnosis=diagnosis,
        )
        say(f"compare: {command}")
    if not targets:
        say(f"compare: {Compare.line(target=first, repository='.')}")
    # That one side fails is the answer, and `compare` fails the check.
    fault = None if has_failed else measurement.fault
    if fault or measurement.is_out_of_time:
        say("to continue: repeat the command with --resume")
    if is_interrupted:
        return EXIT_INTERRUPTED
    if fault is not None:
        raise fault
    return EXIT_FINE


def qualify(options: Qualify) -> int:
    from perf_culprit.flows.qualify import between_machines, qualified
    from perf_culprit.say.audit_text import machines_text, qualification_text

    if options.join:
        show(machines_text(between_machines(options), machines=len(options.join)), sys.stdout)
        return EXIT_FINE
    with Status(sys.stderr, quiet=options.quiet) as status:
        answer = qualified(options, config=chosen_config(options), say=status)
    show(qualification_text(answer), sys.stdout)
    return EXIT_FINE


def verify(options: Verify) -> int:
    from perf_culprit.flows.render import draw_or_verdict
    from perf_culprit.flows.verify_fix import Fix, overall, verify_fix
    from perf_culprit.say.finding_tables import verified_document
    from perf_culprit.say.render_terminal import render_terminal

    with Status(sys.stderr, quiet=options.quiet) as status:
        verified = verify_fix(options, config=chosen_config(options), say=status)
    if not verified:
        raise DataError(
            "the culprit made nothing worse here, so nothing says what a fix would have to take back",
            place="--culprit",
            next_step="check the commit and the benchmark, or take more --rounds",
        )
    answer = overall(verified)
    rows = [(fix.culprit, fix.left, fix.answer.value) for fix in verified]

    def table() -> str:
        document = verified_document(rows, answer=answer.value)
        return render_terminal(document, width=table_width(sys.stdout), colour=colour(sys.stdout))

    show(draw_or_verdict(table, answer), sys.stdout)
    return {Fix.FIXED: EXIT_FINE, Fix.UNDECIDED: EXIT_NO_DATA}.get(answer, EXIT_REGRESSION)


def backfill(options: Backfill) -> int:
    from perf_culprit.flows.backfill import measure_past
    from perf_culprit.say.numbers import count_of

    config = chosen_config(options)
    with Status(sys.stderr, quiet=options.quiet) as status:
        done = measure_past(options, config=config, say=status)
    commits = count_of(done.commits, "commit")
    say(f"{commits} since {plain(options.since)}: {done.stored} stored before")
    if options.dry_run:
        tried = "" if done.minutes is None else f", about {done.minutes:.1f} minutes by one that was tried"
        say(f"would measure {done.left}, each {options.executions} times after a warm-up{tried}")
        return EXIT_FINE
    say(f"recorded {done.recorded}, {done.failed} gave no result, {done.left} are left")
    return EXIT_FINE if done.recorded or not (done.failed or done.left) else EXIT_NO_DATA


def bisect(options: Bisect) -> int:
    from perf_culprit.dispatch.local_bisection import state_file
    from perf_culprit.flows.bisect_here import bisect_plan, bisection_json, bisection_plan, git_run, search_culprits
    from perf_culprit.flows.render import draw_or_verdict
    from perf_culprit.say.bisection_answer import bisection_markdown, bisection_text, commit_pages
    from perf_culprit.say.bisection_exports import bisection_log, bisection_svg

    config = chosen_config(options)
    plan = bisect_plan(options, config=config)
    if options.dry_run:
        show(bisection_plan(plan, config=config), sys.stdout)
        return EXIT_FINE
    if options.git_run:
        write(options.git_run, git_run(plan, name=str(options.git_run)).encode())
        options.git_run.chmod(0o755)
        say(f"git bisect start {options.bad} {options.good} && git bisect run {options.git_run.absolute()}")
        return EXIT_FINE
    try:
        with Status(sys.stderr, quiet=options.quiet) as status:
            report = search_culprits(plan, config=config, say=status)
    except KeyboardInterrupt:
        state = state_file(plan)
        if state.exists():
            say(f"what was measured is kept: repeat the command with --resume {state}", sys.stderr)
        raise
    if options.json:
        write(options.json, bisection_json(report))
    answer = "the search is finished" if report.is_definite else "the search found nothing definite"
    if options.markdown:
        write(options.markdown, draw_or_verdict(lambda: bisection_markdown(report), answer, warn=warn).encode())
    if options.svg:
        write_page(
            options.svg, draw_or_verdict(lambda: bisection_svg(report), answer, warn=warn), is_shown=options.open
        )
    if options.log:
        write(options.log, draw_or_verdict(lambda: bisection_log(report), answer, warn=warn).encode())
    stream = text_stream(options.json)
    text = draw_or_verdict(lambda: bisection_text(report, colour=colour(stream), verbose=options.verbose), answer)
    show(text, stream, links=commit_pages(report))
    return EXIT_FINE if report.is_definite else EXIT_NO_DATA


def bisect_job(options: MeasureBisectJob) -> int:
    from perf_culprit.dispatch.bisect_job import measure_job

    with Status(sys.stderr, quiet=options.quiet) as status:
        done = measure_job(options, config=chosen_config(options), say=status, stdin=sys.stdin.buffer)
    say(f"measured {done.rounds} of {done.requested_rounds} rounds: {done.file}")
    return EXIT_FINE
