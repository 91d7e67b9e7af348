"""The demo's story: record main's history, then judge a pull request, measured beside its base."""

import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from bot import pipeline
from bot.config import Config
from bot.demo.repository import DemoRepository, build_repository, checkout, fresh_directory
from bot.errors import InfrastructureError
from bot.files import replace_file
from bot.measure import Commands

BENCHMARK_TIMEOUT_SECONDS = 60.0
# Of base, head, head, base. Many short executions meet a machine's modes more often than few long ones.
ROUNDS = 20

Say = Callable[[str], None]


def run_demo(directory: Path, *, say: Say) -> None:
    """Builds, measures, records, compares; leaves comment.md, preview.html and report.json in `directory`."""
    started = time.monotonic()
    fresh_directory(directory)
    config = Config(suite="textkit")
    say(f"[1/4] a git repository with a Python benchmark, in {directory}")
    repository = build_repository(directory)
    say(f"      main has {len(repository.main)} commits; the pull request adds 3, one of them slow")

    say(f"[2/4] main: measure and record each commit in the history branch {config.history.branch}")
    for number, commit in enumerate(repository.main, start=1):
        _record(repository, commit, directory, config=config, say=say, number=number)

    say("[3/4] pull request: measure base and head in turn (base head head base) until the noise is beaten")
    measured = pipeline.measure_commits(
        repository.work,
        [repository.main[-1], repository.head],
        plan=pipeline.MeasurePlan(
            commands=Commands(
                run=f'{shlex.quote(sys.executable)} bench.py "$PERF_CULPRIT_OUTPUT"',
                run_timeout_seconds=BENCHMARK_TIMEOUT_SECONDS,
                build_timeout_seconds=BENCHMARK_TIMEOUT_SECONDS,
            ),
            rounds=ROUNDS,
            until_decided=True,
        ),
        output=directory / "measured",
        config=config,
        say=_progress(say),
    )

    say("[4/4] compare, and write what the pull request would show")
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
    markdown = pipeline.report_markdown(report)
    replace_file(directory / "report.json", pipeline.report_json(report))
    replace_file(directory / "comment.md", markdown.encode())
    replace_file(directory / "report.html", pipeline.report_html(markdown, report).encode())
    say(f"\n{markdown}\n")
    say(f"{directory / 'report.html'} shows it with every sample; comment.md and report.json beside it hold the same")
    say(f"done in {time.monotonic() - started:.0f} s")


def _record(repository: DemoRepository, commit: str, directory: Path, *, config: Config, say: Say, number: int) -> None:
    results = _benchmark(checkout(repository, commit, directory / f"main-{number}"), directory / f"main-{number}.json")
    compared = pipeline.compare_with_history(
        pipeline.HistoryComparison(
            target=[str(results)],
            repository=repository.work,
            revision=commit,
            history_url=str(repository.remote),
        ),
        config=config,
    )
    pipeline.record_run(
        compared.run,
        report=compared.report,
        repository=repository.work,
        history_url=str(repository.remote),
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


def _benchmark(tree: Path, output: Path) -> Path:
    """Runs the project's own benchmark in a fresh process."""
    command = [sys.executable, "bench.py", str(output.resolve())]
    try:
        done = subprocess.run(
            command, cwd=tree, check=False, capture_output=True, text=True, timeout=BENCHMARK_TIMEOUT_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise InfrastructureError(
            f"the demo's benchmark took longer than {BENCHMARK_TIMEOUT_SECONDS:.0f} s",
            place=str(tree),
            next_step="run the demo again when the machine is less busy",
        ) from None
    if done.returncode != 0:
        raise InfrastructureError(
            f"the demo's benchmark ended with {done.returncode}: {done.stderr.strip()[-300:]}",
            place=str(tree),
            next_step="report this as a bug",
        )
    return output
