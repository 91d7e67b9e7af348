"""The demo's story: main's history, a pull request judged beside its base, its culprit, the method, the services."""

import shlex
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from bot import pipeline
from bot.config import Config
from bot.demo.culprit import BENCHMARK, diagnose, find_culprit, record_as_merged
from bot.demo.repository import (
    TIMEOUT_SECONDS,
    DemoRepository,
    build_repository,
    checkout,
    fresh_directory,
    run_program,
)
from bot.errors import UsageError
from bot.files import replace_file
from bot.history import HistoryPlace
from bot.measure import Commands
from bot.model.report import Conclusion

# Of base, head, head, base. Many short executions meet a machine's modes more often than few long ones.
ROUNDS = 20

Say = Callable[[str], None]


def run_demo(directory: Path, *, say: Say) -> tuple[Path, ...]:
    """Builds, measures, records, compares, searches, diagnoses; the pages that it leaves in `directory`."""
    started = time.monotonic()
    fresh_directory(directory)
    config = Config(suite="textkit")
    say(f"[1/5] a git repository with a Python benchmark, in {directory}")
    repository = build_repository(directory)
    added = len(repository.branch)
    say(f"      main has {len(repository.main)} commits; the pull request adds {added}, one of them slow")

    say(f"[2/5] main: measure and record each commit in the history branch {config.history.branch}")
    for number, commit in enumerate(repository.main, start=1):
        _record(repository, commit, directory, config=config, say=say, number=number)

    say("[3/5] pull request: measure base and head in turn (base head head base) until the noise is beaten")
    commands = Commands(
        run=f'{shlex.quote(sys.executable)} bench.py "$PERF_CULPRIT_OUTPUT"',
        run_timeout_seconds=TIMEOUT_SECONDS,
        build_timeout_seconds=TIMEOUT_SECONDS,
    )
    measured = pipeline.measure_commits(
        repository.work,
        [repository.main[-1], repository.head],
        plan=pipeline.MeasurePlan(commands=commands, rounds=ROUNDS, until_decided=True),
        output=directory / "measured",
        config=config,
        say=_progress(say),
    )
    baseline, target = (str(file) for file in measured.files)
    report = pipeline.compare_files(
        pipeline.FilesComparison(
            baseline=[baseline],
            target=[target],
            paired=True,
            base_commit=repository.main[-1],
            target_commit=repository.head,
        ),
        config=config,
    )
    say(f"      {pipeline.headline(report)}")

    if report.conclusion is Conclusion.REGRESSION:
        say(f"[4/5] which commit: search by measuring `{BENCHMARK}`, then the services' logs of it and its parent")
        culprit = find_culprit(repository, commands=commands, directory=directory, config=config, say=say)
        report = replace(report, diagnosis=diagnose(repository, culprit=culprit, directory=directory))
    else:
        say("[4/5] which commit: nothing to look for, this machine is too busy to show a regression")

    say("[5/5] what the pull request would show")
    markdown = pipeline.report_markdown(report)
    page = directory / "report.html"
    replace_file(directory / "report.json", pipeline.report_json(report))
    replace_file(directory / "comment.md", markdown.encode())
    replace_file(page, pipeline.report_html(markdown, report).encode())
    say(f"\n{markdown}\n")
    say(f"{page} shows it with every sample and the call trees; comment.md and report.json beside it hold the same")
    pages = (page, *_dashboard(repository, directory / "dashboard", config=config, say=say))
    say(f"done in {time.monotonic() - started:.0f} s")
    return pages


def _dashboard(repository: DemoRepository, folder: Path, *, config: Config, say: Say) -> tuple[Path, ...]:
    """Of main's history and the pull request's; nothing without the plotting library, which is an extra."""
    plan = pipeline.DashboardPlan(folder=folder, repository=repository.work, history_url=str(repository.remote))
    try:
        pipeline.plotting_library()  # before anything is measured for its sake
        say("      for the dashboard its commits are measured and recorded as well, as if it had been merged")
        count = record_as_merged(repository, folder.parent, config=config)
        pipeline.build_dashboard(plan, config=config)
    except UsageError as error:
        say(f"no dashboard: {error}")
        return ()
    page = folder / "index.html"
    say(f"{page} shows main's history and {count} runs of the pull request's commits")
    return (page,)


def _record(repository: DemoRepository, commit: str, directory: Path, *, config: Config, say: Say, number: int) -> None:
    tree = checkout(repository, commit, directory / f"main-{number}")
    results = run_program(tree, "bench.py", directory / f"main-{number}.json")
    compared = pipeline.compare_with_history(
        pipeline.HistoryComparison(
            target=[str(results)], repository=repository.work, revision=commit, history_url=str(repository.remote)
        ),
        config=config,
    )
    pipeline.record_run(
        compared.run,
        report=compared.report,
        place=HistoryPlace(repository=repository.work, url=str(repository.remote)),
        config=config,
    )
    say(f"      {commit[:7]} {pipeline.headline(compared.report)}")


def _progress(say: Say) -> Say:
    """One line per round, not per execution."""
    printed = set[str]()

    def line(text: str) -> None:
        shown = text.partition(":")[0] if text.startswith(("round", "warm-up")) else text
        if shown not in printed:
            printed.add(shown)
            say(f"      {shown}")

    return line
