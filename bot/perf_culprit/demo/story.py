"""The demo: main's history, a judged pull request, its culprit, the report page and the dashboard."""

import shlex
import sys
import time
from dataclasses import replace
from pathlib import Path
from textwrap import indent

from msgspec import structs

from perf_culprit.commands.analysis_requests import Diagnose
from perf_culprit.commands.history_requests import BuildDashboard
from perf_culprit.commands.judge_requests import Compare
from perf_culprit.commands.measure_requests import Bisect, Measure
from perf_culprit.config.settings import Config
from perf_culprit.demo.demo_repository import (
    TIMEOUT_SECONDS,
    DemoRepository,
    build_repository,
    checkout,
    fresh_directory,
    run_program,
)
from perf_culprit.errors import UsageError
from perf_culprit.files import replace_file
from perf_culprit.flows.bisect_here import bisect_plan, search_culprits
from perf_culprit.flows.compare import collect_run, compare_result_files
from perf_culprit.flows.compare_history import compare_with_history
from perf_culprit.flows.diagnose import diagnose_revisions
from perf_culprit.flows.measure_plan import measure_plan
from perf_culprit.flows.measurement import measure_commits
from perf_culprit.flows.record import record_run
from perf_culprit.flows.render import report_headline, report_html, report_json, report_markdown
from perf_culprit.flows.site import build_dashboard, plotting_library
from perf_culprit.model.bisection import Sought
from perf_culprit.model.report import Conclusion, Report, TreeComparison
from perf_culprit.progress import Say
from perf_culprit.say.bisection_answer import bisection_text
from perf_culprit.say.comparison import render_text
from perf_culprit.store.opening import HistoryPlace, open_history

_BENCHMARK = "tokenize"
BENCHMARK_COMMAND = f'{shlex.quote(sys.executable)} bench.py "$PERF_CULPRIT_OUTPUT"'
# The best answer after this time is shown.
SEARCH_MINUTES = 0.7
# Pairs of processes, one per side. Each logs one call of a service: calls of one process share the machine's state.
_PROCESS_PAIRS = 24


def find_culprit(repository: DemoRepository, *, directory: Path, config: Config, say: Say) -> str | None:
    """Return the commit that a search by executions names. None if this machine is too noisy to name one in time."""
    options = Bisect(
        repository=repository.work,
        good=repository.main[-1],
        bad=repository.head,
        run=BENCHMARK_COMMAND,
        timeout=TIMEOUT_SECONDS,
        build_timeout=TIMEOUT_SECONDS,
        benchmark=_BENCHMARK,
        direction=Sought.WORSE.value,
        minutes=SEARCH_MINUTES,
        state=directory / "bisection.json",
        record=True,
    )
    plan = replace(bisect_plan(options, config=config), profiling=None)
    bisection = search_culprits(plan, config=config, say=lambda _: None)
    answer, *_ = bisection_text(bisection).split("\nAgain: ")
    say(indent(answer.rstrip(), "      "))
    return next((culprit.commit for culprit in bisection.outcome.culprits), None)


def _compare_service_logs(repository: DemoRepository, *, culprit: str | None, directory: Path) -> TreeComparison:
    """Compare the services' logs of the culprit and its parent, or of the whole pull request and its base."""
    before, after = (f"{culprit}^", culprit) if culprit else (repository.main[-1], repository.head)
    trees = [checkout(repository, one, directory / name) for one, name in ((before, "parent"), (after, "culprit"))]
    logs: list[list[str]] = [[], []]
    (directory / "logs").mkdir()
    for number in range(_PROCESS_PAIRS):
        for side in (0, 1) if number % 2 else (1, 0):
            log = directory / "logs" / f"{trees[side].name}-{number}.log"
            logs[side].append(str(run_program(trees[side], "serve.py", log)))
    return diagnose_revisions(
        Diagnose(
            baseline=tuple(logs[0]),
            target=tuple(logs[1]),
            pattern="labelled",
            repository=repository.work,
            commit=culprit,
            base=None if culprit else before,
            head=None if culprit else after,
        )
    )


# A level needs eight runs, and the slow commit is the third of five.
SEARCH_ROUNDS = 4
SAMPLES = "3"


def record_as_merged(repository: DemoRepository, directory: Path, *, config: Config) -> None:
    """Store `SEARCH_ROUNDS` runs of each commit, in turn, so that no commit gets all of the machine's quiet minutes."""
    names = [f"branch-{number}" for number in range(1, len(repository.branch) + 1)]
    trees = [
        checkout(repository, commit, directory / name) for commit, name in zip(repository.branch, names, strict=True)
    ]
    runs = []
    for number in range(1, SEARCH_ROUNDS + 1):
        for commit, tree in zip(repository.branch, trees, strict=True):
            results = run_program(tree, "bench.py", directory / f"{tree.name}-{number}.json", SAMPLES)
            runs.append(collect_run([str(results)], config=config, commit=commit))
    with open_history(config.history, url=str(repository.remote)) as history:
        history.append_all(runs)


# Rounds of base, head, head, base. Many short executions cover a machine's modes better than few long ones.
_DEMO_ROUNDS = 20


def run_demo(directory: Path, *, say: Say) -> tuple[Path, ...]:
    """Build, measure, record, compare, search and diagnose. Return the pages that were written to `directory`."""
    started = time.monotonic()
    fresh_directory(directory)
    config = Config(suite="textkit")
    work = directory / "work"
    work.mkdir()
    repository = build_repository(work)
    say(f"[1/5] a git repository in {work}: {len(repository.main)} commits on main,")
    say(f"      and a pull request of {len(repository.branch)} more; one makes a function slow")

    say(f"[2/5] main: measure each commit once, and store the runs in the branch {config.history.branch}")
    *_, remark = (_record(repository, commit, work, config=config) for commit in repository.main)
    say(f"      {len(repository.main)} runs stored; what one run can tell: {remark[0].lower()}{remark[1:]}")

    say("[3/5] pull request: run its base and its head in turn, so that both meet the same noise")
    report = _measure(repository, work, config=config, say=say)
    say(f"      {report_headline(report)}")

    if report.conclusion is Conclusion.REGRESSION:
        say(f"[4/5] which commit and method: measure `{_BENCHMARK}` on the commits, then compare call trees in logs")
        culprit = find_culprit(repository, directory=work, config=config, say=say)
        report = structs.replace(report, diagnosis=_compare_service_logs(repository, culprit=culprit, directory=work))
    else:
        say("[4/5] which commit: nothing to look for, this machine is too busy to show a regression")

    page, comment = directory / "report.html", directory / "comment.md"
    replace_file(work / "report.json", report_json(report))
    replace_file(comment, report_markdown(report).encode())
    replace_file(page, report_html(report).encode())
    say(f"[5/5] the answer\n\n{render_text(report, colour=False, width=100)}")
    dashboard = _dashboard(repository, directory / "dashboard", config=config, say=say)
    say(f"To open, after {time.monotonic() - started:.0f} s:")
    say(f"  {comment} - what the pull request would get")
    say(f"  {page} - the same with every sample")
    for one in dashboard:
        say(f"  {one} - all commits, as if the pull request had been merged")
    return (page, *dashboard)


def _measure(repository: DemoRepository, work: Path, *, config: Config, say: Say) -> Report:
    """Measure the pull request's head against its base, and compare them."""
    options = Measure(
        repository=repository.work,
        commits=(repository.main[-1], repository.head),
        run=BENCHMARK_COMMAND,
        timeout=TIMEOUT_SECONDS,
        build_timeout=TIMEOUT_SECONDS,
        rounds=_DEMO_ROUNDS,
        until_decided=True,
        output=work / "measured",
    )
    plan = measure_plan(options, config=config, say=say)
    measurement = measure_commits(plan, config=config, say=_interim(say))
    baseline, target = (str(file) for file in measurement.files)
    return compare_result_files(
        Compare(baseline=(baseline,), target=(target,), paired=True),
        config=config,
        base_commit=repository.main[-1],
        target_commit=repository.head,
    )


def _dashboard(repository: DemoRepository, folder: Path, *, config: Config, say: Say) -> tuple[Path, ...]:
    """Build the dashboard of main and the pull request. Empty without the plotting library, which is an extra."""
    options = BuildDashboard(folder=folder, repository=repository.work, history_url=str(repository.remote))
    try:
        plotting_library()  # checked before anything is measured for the dashboard
        record_as_merged(repository, repository.work.parent, config=config)
        build_dashboard(options, config=config)
    except UsageError as error:
        say(f"no dashboard: {error}")
        return ()
    return (folder / "index.html",)


def _record(repository: DemoRepository, commit: str, work: Path, *, config: Config) -> str:
    """Record a run of `commit`, and return the headline of its comparison with the earlier runs."""
    tree = checkout(repository, commit, work / f"main-{commit[:7]}")
    results = run_program(tree, "bench.py", work / f"{tree.name}.json")
    compared = compare_with_history(
        Compare(
            target=(str(results),), repository=repository.work, revision=commit, history_url=str(repository.remote)
        ),
        config=config,
    )
    record_run(
        compared.run,
        report=compared.report,
        place=HistoryPlace(repository=repository.work, url=str(repository.remote)),
        config=config,
    )
    return report_headline(compared.report)


def _interim(say: Say) -> Say:
    """Pass on only the interim results, not each round."""
    return lambda text: say(f"      {text}") if text.startswith("interim") else None
