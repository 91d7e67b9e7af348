"""Accepted changes: on real git, through racing writers, and as the next run sees them."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from perf_culprit import git
from perf_culprit.action.jobs.regression_issues import settle_acceptances
from perf_culprit.cli.entry import main
from perf_culprit.config.settings import Config
from perf_culprit.errors import UsageError
from perf_culprit.flows import record as record_module
from perf_culprit.flows.compare_history import compare_run_with_history
from perf_culprit.flows.record import StoredAcceptance, record_run
from perf_culprit.flows.render import report_headline, report_markdown
from perf_culprit.model.finding import Acceptance, TradedChange, Verdict, traded
from perf_culprit.model.report import Report
from perf_culprit.model.run import CounterTable, Direction, Metric
from perf_culprit.say.comparison import render_text
from perf_culprit.say.reason_text import sentence
from perf_culprit.say.report_parts import outputs
from perf_culprit.store.opening import HistoryPlace, open_git_branch
from tests.support.git_repository import chain, import_commits, init_repository, run_git
from tests.support.measurements import measured

FAST = {"parse": 0.004, "render": 0.02}
SLOW = {**FAST, "parse": 0.012}
SLOWER = {**FAST, "parse": 0.036}
COUNT = 11
BRANCH = "refs/heads/perf-history"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """main1 … main11; five fast runs, then one slow run that is recorded as a suspicion."""
    folder = init_repository(tmp_path_factory.mktemp("accepted") / "served.git", bare=True)
    import_commits(folder, chain("main", COUNT))
    for number in range(1, 6):
        judge(folder, number, FAST, record=True)
    judge(folder, 6, SLOW, record=True)
    return folder


@pytest.fixture
def served(tmp_path: Path, recorded: Path) -> Path:
    run_git(tmp_path, "clone", "--quiet", "--mirror", str(recorded), "served.git")
    return tmp_path / "served.git"


def commit_of(folder: Path, number: int) -> str:
    return run_git(folder, "rev-parse", f"main{number}")


def judge(folder: Path, number: int, levels: dict[str, float], *, record: bool = False) -> Report:
    run = measured(levels, seed=number, commit=commit_of(folder, number))
    compared = compare_run_with_history(
        run, config=Config(), base=None, place=HistoryPlace(repository=folder, url=str(folder))
    )
    if record:
        record_run(run, report=compared.report, config=Config(), place=HistoryPlace(url=str(folder)))
    return compared.report


def accept(
    folder: Path,
    benchmark: str | None,
    *,
    at: int,
    reason: str = "the new grammar costs this",
    author: str = "octocat",
) -> StoredAcceptance:
    return record_module.store_acceptance(
        benchmark=benchmark,
        reason=reason,
        author=author,
        commit=commit_of(folder, at),
        config=Config(),
        place=HistoryPlace(url=str(folder)),
    )


def verdicts(report: Report) -> dict[str, Verdict]:
    return {finding.key.benchmark: finding.verdict for finding in report.findings}


def test_without_an_acceptance_a_suspicion_that_lasts_stays_one(served: Path) -> None:
    # The next run may be the second one of a passing disturbance; from the one after that on it is no such thing.
    assert verdicts(judge(served, 7, SLOW, record=True))["parse"] is not Verdict.REGRESSION
    assert verdicts(judge(served, 8, SLOW, record=True))["parse"] is Verdict.SUSPECTED
    assert verdicts(judge(served, 9, SLOW))["parse"] is Verdict.SUSPECTED


def test_an_alarm_that_does_not_last_is_noise_from_then_on(served: Path) -> None:
    report = judge(served, 7, FAST, record=True)
    assert verdicts(report)["parse"] is not Verdict.SUSPECTED
    parse = next(finding for finding in report.findings if finding.key.benchmark == "parse")
    assert parse.baseline is not None
    assert parse.baseline.runs == 6
    assert "1 metric looked worse in an earlier run and did not stay so: it counts as noise" in map(
        sentence, report.notes
    )
    assert verdicts(judge(served, 8, SLOW))["parse"] is not Verdict.REGRESSION


def test_a_pull_request_is_not_blamed_for_what_its_base_branch_did(served: Path) -> None:
    for number in (7, 8, 9):
        judge(served, number, SLOW, record=True)
    run_git(served, "branch", "topic", "main9")
    base, head = commit_of(served, 9), run_git(served, "commit-tree", "-m", "innocent", "-p", "main9", "main9^{tree}")
    run = measured(SLOW, seed=20, commit=head)
    compared = compare_run_with_history(
        run, config=Config(), base=base, place=HistoryPlace(repository=served, url=str(served))
    )
    assert verdicts(compared.report)["parse"] is not Verdict.SUSPECTED
    assert any("got worse on the base branch at" in note for note in map(sentence, compared.report.notes))


@pytest.mark.parametrize("benchmark", ["parse", None])
def test_the_baseline_begins_at_the_accepted_commit(served: Path, benchmark: str | None) -> None:
    text = accept(served, benchmark, at=6)
    assert text.stored
    assert text.benchmarks == ("parse",)  # "all" accepts the benchmarks that got worse there
    report = judge(served, 7, SLOW)
    assert verdicts(report)["parse"] is not Verdict.SUSPECTED
    parse = next(finding for finding in report.findings if finding.key.benchmark == "parse")
    assert parse.baseline is not None
    assert parse.baseline.runs == 1
    render = next(finding for finding in report.findings if finding.key.benchmark == "render")
    assert render.baseline is not None
    assert render.baseline.runs == 6  # only the accepted benchmark starts a new baseline
    assert any("accepted by octocat there: the new grammar costs this" in note for note in map(sentence, report.notes))
    markdown = report_markdown(report)
    assert "the new grammar costs this" in markdown.split("<details>", 1)[1]


def test_a_further_regression_after_the_accepted_one_is_found(served: Path) -> None:
    accept(served, "parse", at=6)
    for number in range(7, 11):
        judge(served, number, SLOW, record=True)
    assert verdicts(judge(served, 11, SLOWER))["parse"] is Verdict.SUSPECTED


def test_the_accepted_commit_itself_is_judged_against_the_old_level_and_marked(served: Path) -> None:
    judge(served, 7, SLOW, record=True)
    accept(served, None, at=8, reason="on purpose")
    report = judge(served, 8, SLOW)
    parse = next(finding for finding in report.findings if finding.key.benchmark == "parse")
    assert parse.verdict is Verdict.NOT_SEEN
    assert parse.accepted is not None
    assert parse.accepted.reason == "on purpose"
    assert not report.failed
    assert parse.relative_change is not None
    assert parse.relative_change > 0.4  # the numbers are not hidden
    assert "accepted" in report_headline(report)
    assert outputs(report)["regressions"] == "0"
    assert "by `octocat` at" in report_markdown(report)
    assert "by octocat at" in render_text(report, colour=False, width=120)
    record_run(
        measured(SLOW, seed=8, commit=commit_of(served, 8)),
        report=report,
        config=Config(),
        place=HistoryPlace(url=str(served)),
    )
    settle_acceptances(report, config=Config(), place=HistoryPlace(url=str(served)))
    assert verdicts(judge(served, 9, SLOW))["parse"] is not Verdict.SUSPECTED


def test_racing_acceptances_are_all_stored_and_runs_stay(served: Path) -> None:
    before = run_git(served, "ls-tree", "-r", "--name-only", BRANCH).splitlines()
    authors = [f"user-{number}" for number in range(6)]
    with ThreadPoolExecutor(6) as pool:
        results = list(pool.map(lambda author: accept(served, "parse", at=6, author=author), authors))
    assert all(result.stored for result in results)
    after = run_git(served, "ls-tree", "-r", "--name-only", BRANCH).splitlines()
    assert set(before) < set(after)
    with open_git_branch(git.Remote(url=str(served))) as history:
        assert {entry.author for entry in history.accepted("default")} == set(authors)


def test_the_same_acceptance_twice_is_one_file(served: Path) -> None:
    assert accept(served, "parse", at=6).stored
    tip = run_git(served, "rev-parse", BRANCH)
    assert not accept(served, "parse", at=6).stored
    assert run_git(served, "rev-parse", BRANCH) == tip


@pytest.mark.parametrize(
    ("benchmark", "reason", "message"),
    [
        ("prase", "typo", "did you mean parse"),
        ("xyz", "unlike any", "they have parse"),
        ("parse", "  \n ", "the reason is empty"),
        ("parse", "x" * 301, "at most 300"),
        ("parse", "a\u202eb", "invisible"),
        ("", "why", "the benchmark is empty"),
    ],
)
def test_what_cannot_be_accepted_is_refused_with_the_next_step(
    served: Path, benchmark: str, reason: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        accept(served, benchmark, at=6, reason=reason)


def test_a_damaged_acceptance_accepts_nothing_and_breaks_nothing(served: Path) -> None:
    accept(served, "parse", at=6)
    (path,) = [
        name
        for name in run_git(served, "ls-tree", "-r", "--name-only", BRANCH).splitlines()
        if name.startswith("accepted/")
    ]
    blob = run_git(served, "hash-object", "-w", "--stdin", stdin='{"format": "perf-culprit-acceptance"}')
    tree = run_git(served, "rev-parse", f"{BRANCH}^{{tree}}")
    listed = run_git(served, "ls-tree", "-r", tree).splitlines()
    lines = [line if not line.endswith(path) else f"100644 blob {blob}\t{path}" for line in listed]
    commit = _commit_of(served, lines)
    run_git(served, "update-ref", BRANCH, commit)
    judge(served, 7, SLOW, record=True)
    assert verdicts(judge(served, 8, SLOW))["parse"] is Verdict.SUSPECTED


def _commit_of(served: Path, lines: list[str]) -> str:
    """A commit of these files, made by fast-import, which knows nested paths."""
    parts = [line.split("\t") for line in lines]
    changes = [f"M 100644 {meta.split(' ')[2]} {path}" for meta, path in parts]
    script = ["commit refs/heads/damaged", "committer Ada <ada@example.org> 1700000000 +0000", "data 1", "x", *changes]
    run_git(served, "fast-import", "--quiet", "--force", stdin="\n".join([*script, ""]) + "\n")
    return run_git(served, "rev-parse", "refs/heads/damaged")


def test_the_command_line_form(served: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--repo", str(served), "--history", str(served), "--commit", "main6"]
    assert main(["accept", "parse", "--reason", "the new  grammar", "--author", "Ada", *where]) == 0
    assert capsys.readouterr().out.startswith("accepted: parse at ")
    assert main(["accept", "--all", "--reason", "the new grammar", "--author", "Ada", *where]) == 0
    assert "was accepted before: parse" in capsys.readouterr().out
    assert main(["accept", "--reason", "why", "--author", "Ada", *where]) == 2
    assert "give the name of one benchmark, or --all" in capsys.readouterr().err
    assert verdicts(judge(served, 7, SLOW))["parse"] is not Verdict.SUSPECTED


def test_a_counter_is_accepted_by_its_tables_and_its_own_name(tmp_path: Path) -> None:
    folder = init_repository(tmp_path / "served.git", bare=True)
    import_commits(folder, chain("main", 8))
    random = np.random.default_rng(4)

    def judged(number: int, cpu: float) -> dict[str, tuple[Verdict, int]]:
        """Return the verdict on each counter and the number of runs that it was judged against."""
        values = random.normal([cpu, 100], 2, size=(60, 2))
        table = CounterTable(
            name="server",
            metrics=tuple(Metric(name=name, unit="", direction=Direction.UNKNOWN) for name in ("cpu", "disk")),
            times_s=np.arange(60.0),
            values=values,
        )
        run = replace(measured(FAST, seed=number, commit=commit_of(folder, number)), benchmarks=(), counters=(table,))
        compared = compare_run_with_history(
            run, config=Config(), base=None, place=HistoryPlace(repository=folder, url=str(folder))
        )
        record_run(run, report=compared.report, config=Config(), place=HistoryPlace(url=str(folder)))
        return {
            finding.key.metric: (finding.verdict, finding.baseline.runs)
            for finding in compared.report.findings
            if finding.baseline is not None
        }

    for number in range(1, 6):
        judged(number, cpu=50)
    assert judged(6, cpu=75) == {"cpu": (Verdict.REGRESSION, 5), "disk": (Verdict.NOT_SEEN, 5)}
    assert accept(folder, None, at=6).benchmarks == ("server cpu",)
    judged(7, cpu=75)
    assert judged(8, cpu=75) == {"cpu": (Verdict.NOT_SEEN, 2), "disk": (Verdict.NOT_SEEN, 7)}
    with pytest.raises(UsageError, match="did you mean server cpu"):
        accept(folder, "server cpuu", at=6)


BARGAIN = "the new grammar because one pass does it all"


def stored_acceptances(folder: Path) -> tuple[Acceptance, ...]:
    with open_git_branch(git.Remote(url=str(folder))) as history:
        return history.accepted("default")


def test_both_sides_of_a_trade_are_stored_with_the_acceptance(served: Path) -> None:
    accept(served, "parse", at=6, reason=BARGAIN)
    (entry,) = stored_acceptances(served)
    (cost,) = entry.changes or ()
    assert (cost.benchmark, cost.metric, cost.is_better) == ("parse", "time", False)
    assert cost.after / cost.before == pytest.approx(3, rel=0.2)


def test_where_nothing_was_measured_the_words_are_all(served: Path) -> None:
    accept(served, "parse", at=9, reason=BARGAIN)
    (entry,) = stored_acceptances(served)
    assert not entry.changes


def test_what_got_better_beside_it_is_the_other_side(served: Path) -> None:
    report = judge(served, 7, SLOW)
    findings = [
        replace(finding, verdict=Verdict.REGRESSION if finding.key.benchmark == "parse" else Verdict.IMPROVEMENT)
        for finding in report.findings
    ]
    for name in ("parse", None):
        changes = traded(findings, benchmark=name)
        assert {(one.benchmark, one.is_better) for one in changes} == {("parse", False), ("render", True)}
    assert [one.benchmark for one in traded(findings, benchmark="other")] == ["render"]


def test_accepted_changes_are_listed_for_release_notes(
    served: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cost = TradedChange(benchmark="parse", metric="time", unit="s", before=0.004, after=0.005, is_better=False)
    entry = Acceptance(
        suite="default",
        benchmark="parse",
        commit=commit_of(served, 6),
        reason=BARGAIN,
        author="octocat",
        time=datetime(2026, 11, 1, tzinfo=UTC),
        changes=(cost, replace(cost, benchmark="render", after=0.003, is_better=True)),
    )
    said_in_pull = replace(entry, commit="f" * 40, pull_request=7, changes=())
    with open_git_branch(git.Remote(url=str(served))) as history:
        history.accept((said_in_pull,))
        history.accept((entry,))
    run_git(served, "update-ref", "HEAD", commit_of(served, 7))
    where = ["--repo", str(served), "--history", str(served)]
    notes = tmp_path / "notes.md"
    assert main(["history", "accepted", "--since", "main3", "--markdown", str(notes), *where]) == 0
    shown = capsys.readouterr().out
    (row,) = [line for line in notes.read_text().splitlines() if "octocat" in line]
    assert "| time 4.00\N{NO-BREAK SPACE}ms → 5.00\N{NO-BREAK SPACE}ms (+25.0%) | one pass does it all, `render`" in row
    assert row.endswith("the new grammar |")
    for told in ("parse", "one pass does it all", "+25.0%", "\N{MINUS SIGN}25.0%", commit_of(served, 6)[:7]):
        assert told in row, row
        assert told in shown, shown
    assert main(["history", "accepted", "--since", "main6", "--markdown", "-", *where]) == 0
    assert capsys.readouterr().out == "Nothing was accepted.\n"
