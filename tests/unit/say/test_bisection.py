"""A bisection's answer in words: whole texts, every outcome, and inert foreign text."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from perf_culprit.dispatch.bisection_view import of_its_change
from perf_culprit.model.bisection import (
    DEFINITE,
    CommitRange,
    CulpritDiagnosis,
    DecayPart,
    MeasuredCommit,
    Noise,
    Outcome,
    OutcomeKind,
    SearchSettings,
    Sought,
    Suspect,
)
from perf_culprit.model.call_tree import ChangeKind, TouchedFunction
from perf_culprit.model.finding import Interval
from perf_culprit.model.reason import Doubt, Reason, SearchReason, because, remark
from perf_culprit.model.report import ChangeCause, SuspectReason
from perf_culprit.model.run import MetricKey
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.say.bisection_answer import bisection_markdown, bisection_text, plot_commits
from perf_culprit.say.bisection_words import reason_of
from perf_culprit.say.call_tree_words import why
from tests.support.bisections import BAD, FIRST, FOLDED, GOOD, RANGE, REPORT, SECOND
from tests.support.diagnosed_reports import diagnosis

GOLDEN = Path(__file__).parents[2] / "golden" / "bisection"


@pytest.mark.parametrize(("name", "render"), [("culprit.txt", bisection_text), ("culprit.md", bisection_markdown)])
def test_whole_texts(name: str, render: object) -> None:
    assert callable(render)
    assert render(REPORT) == (GOLDEN / name).read_text(encoding="utf-8")


def test_how_sure_a_name_is_is_told_where_it_is_not_and_in_the_authors_terms_only_when_asked() -> None:
    (culprit,) = REPORT.outcome.culprits
    doubtful = structs.replace(REPORT.outcome, culprits=(structs.replace(culprit, posterior=0.93),))
    text = bisection_text(replace(REPORT, outcome=doubtful))
    assert "93% likely; confirmed in rounds against its parent" in text
    assert "posterior" not in text
    assert "- ccccccc: posterior 0.9940, log evidence of its rounds 9.5" in bisection_text(REPORT, verbose=True)


def test_nothing_is_called_longer_of_what_takes_less() -> None:
    suspect = structs.replace(FOLDED, baseline=FOLDED.target, reasons=(SuspectReason.OWN_TIME, SuspectReason.TOUCHED))
    slower = structs.replace(suspect, relative_change=0.164, cause=ChangeCause.TIME_PER_CALL)
    assert why(slower) == "its own code takes longer; the commit changed it; longer per call"
    assert why(structs.replace(slower, relative_change=-0.164)) == "the commit changed it"


def test_the_diagnosis_of_an_improvement_does_not_ask_what_got_slower() -> None:
    (culprit,) = REPORT.outcome.culprits
    told = CulpritDiagnosis(commit=SECOND, counted=(FOLDED,), comparison=diagnosis())
    assert of_its_change(told, culprit) is told
    better = of_its_change(told, structs.replace(culprit, improvement=True))
    assert better == structs.replace(told, comparison=None)


def test_the_culprits_methods_are_in_the_answer() -> None:
    changed = TouchedFunction(
        path="src/parser.py", qualified_name="Parser.tokenize", kind=ChangeKind.CHANGED, first_line=41, last_line=67
    )
    result = CulpritDiagnosis(commit=SECOND, changed=(changed,), more=2, comparison=diagnosis())
    markdown = bisection_markdown(replace(REPORT, diagnosis=result))
    text = bisection_text(replace(REPORT, diagnosis=result))
    for wording in (text, markdown.replace("`", "")):
        assert "Parser.tokenize takes" in wording
        assert "; this commit changed it." in wording
        assert "Call path: parse → Parser.tokenize" in wording
        assert re.search(r"Services to test again.*search", wording, re.DOTALL)
        assert "changed 3 functions: Parser.tokenize (src/parser.py:41) and 2 more." in wording
    assert markdown.count("```mermaid") == 1
    assert "mermaid" not in text
    doubt = because(Doubt.NOT_PROFILED, why="no perf here", next="install it")
    without = bisection_text(replace(REPORT, diagnosis=structs.replace(result, comparison=None, doubt=doubt)))
    assert "Which methods got slower is not known: it and its parent were not profiled: no perf here; inst" in without
    assert f"{SECOND[:7]} changed 3 functions" in without


def test_on_a_terminal_what_is_named_stands_out_in_red_or_in_the_colour_of_better() -> None:
    plainly, coloured = bisection_text(REPORT), bisection_text(REPORT, colour=True)
    assert re.sub(r"\x1b\[\d+m", "", coloured) == plainly
    marked = [line for line in coloured.splitlines() if line.startswith("\x1b[1m\x1b[31m")]
    named = [culprit.commit[:7] for culprit in REPORT.outcome.culprits]
    assert marked
    assert all(any(name in line for line in marked) for name in named)
    better = structs.replace(
        REPORT.outcome, culprits=tuple(structs.replace(one, improvement=True) for one in REPORT.outcome.culprits)
    )
    assert "\x1b[31m" not in bisection_text(replace(REPORT, outcome=better), colour=True)
    assert "\x1b" not in bisection_markdown(REPORT)


@pytest.mark.parametrize("kind", OutcomeKind)
def test_every_outcome_has_words(kind: OutcomeKind) -> None:
    outcome = Outcome(
        kind=kind,
        suspects=(Suspect(commit=FIRST, posterior=0.6, skipped="no compiler"), Suspect(commit=BAD, posterior=0.4)),
        decay=(DecayPart(after=GOOD, until=BAD, relative_change=0.2, share=1.0),),
        visible_effect=0.03,
    )
    subject = replace(REPORT, outcome=outcome, measured=())
    for text in (bisection_text(subject), bisection_markdown(subject)):
        assert reason_of(subject) in text.replace("\N{NO-BREAK SPACE}", " ")
        assert "A change of 3" in text
        assert FIRST[:7] in text
        assert "+20.0%" in text
    assert subject.is_definite is (kind in DEFINITE)


@pytest.mark.parametrize(
    ("count", "holds"), [(1, "It is this commit with a chance of 95%"), (2, "It is one of 2 candidates with")]
)
def test_candidates_of_a_spent_budget_are_counted(count: int, holds: str) -> None:
    suspects = tuple(Suspect(commit=name, posterior=0.96 / count) for name in (FIRST, BAD)[:count])
    spent = replace(REPORT, outcome=Outcome(kind=OutcomeKind.BUDGET_SPENT, suspects=suspects))
    assert reason_of(spent).startswith(holds)


def test_a_set_of_suspects_names_the_likeliest_first_and_says_once_why_others_are_skipped() -> None:
    why = "crashed: KeyError"
    suspects = (Suspect(commit=FIRST, posterior=0.1, skipped=why), Suspect(commit=SECOND, posterior=0.9))
    outcome = Outcome(kind=OutcomeKind.SUSPECT_SET, suspects=suspects, skipped={FIRST: why})
    text = bisection_text(replace(REPORT, outcome=outcome))
    assert text.startswith(f"One of 2 commits introduced the change, most likely {SECOND[:7]}\n")
    assert text.count(why) == 1


def test_of_several_commits_the_first_line_has_the_largest() -> None:
    (one,) = REPORT.outcome.culprits
    culprits = (structs.replace(one, commit=FIRST, relative_change=-0.1, improvement=True), one)
    outcome = structs.replace(REPORT.outcome, kind=OutcomeKind.SEVERAL_CULPRITS, culprits=culprits, unresolved=0.0)
    first, _, reason, *_ = bisection_text(replace(REPORT, outcome=outcome)).splitlines()
    assert first.startswith(
        f"2 commits introduced the change; the largest, {SECOND[:7]}, introduced the regression: +60"
    )
    assert reason == "Together they explain the change."


def test_ends_that_differ_the_other_way_are_answered_so() -> None:
    outcome = Outcome(
        kind=OutcomeKind.NOT_REPRODUCED,
        relative_change=-0.977,
        confidence_interval=Interval(low=-0.978, high=-0.976, level=0.95),
        visible_effect=0.005,
        noise=Noise(standard_deviation=1e-6, autocorrelation=-1.0),
    )
    text = bisection_text(replace(REPORT, outcome=outcome, settings=SearchSettings(sought=Sought.WORSE)))
    assert text.startswith("Nothing got worse: the bad end is better\n")
    assert "search with --direction better" in text
    assert "would have been seen" not in text
    assert "The executions of an end differed by less than 0.1%." in text
    either = replace(REPORT, outcome=outcome, settings=SearchSettings(sought=Sought.ANY))
    assert "would have been seen" in bisection_text(either)


def test_an_unresolved_stretch_is_one_folded_line_of_a_comment() -> None:
    outcome = structs.replace(REPORT.outcome, unresolved=0.4, unresolved_part=(GOOD, FIRST))
    report = replace(REPORT, outcome=outcome)
    line = "Unresolved: up to 40% of the change may come from commits not named."
    command = f"perf-culprit bisect --good {GOOD} --bad {FIRST} --run 'python bench.py'"
    markdown = bisection_markdown(report).replace("\N{NO-BREAK SPACE}", " ")
    assert f"<details><summary>{line}</summary>\n\nTo search there: `{command}`\n\n</details>" in markdown
    text = bisection_text(report).replace("\N{NO-BREAK SPACE}", " ")
    assert f"\n{line}\nTo search there: {command}\n\nBenchmark:" in text


@pytest.mark.parametrize(
    ("kind", "base", "headline", "reason"),
    [
        (
            "not_reproduced",
            0.6,
            "The ends do not differ: both sides changed alike",
            "The merge base is worse than",
        ),
        ("not_reproduced", -0.3, "The ends do not differ: both sides changed alike", "The merge base is better than"),
        ("fixed_on_good_side", 0.6, "Nothing got worse: the good side got better", "only the good side changed."),
        ("fixed_on_good_side", -0.3, "Nothing got better: the good side got worse", "only the good side changed."),
    ],
)
def test_ends_beside_each_other_are_told_by_their_merge_base(
    kind: str, base: float, headline: str, reason: str
) -> None:
    measured = tuple(
        MeasuredCommit(commit=name, executions=5, relative_change=change)
        for name, change in ((GOOD, 0.0), (FIRST, base))
    )
    beside = structs.replace(RANGE, commits=(SECOND, BAD), parents=((), (0,)), merge_bases=(FIRST,))
    outcome = Outcome(kind=OutcomeKind(kind))
    text = bisection_text(replace(REPORT, outcome=outcome, commit_range=beside, measured=measured))
    assert text.startswith(headline)
    assert reason in text


def test_a_row_that_cannot_be_run_is_named_by_its_borders() -> None:
    commits = tuple(letter * 40 for letter in "abcdef")
    commit_range = CommitRange(
        good="9" * 40, bad=commits[-1], commits=commits, parents=((), (0,), (1,), (2,), (3,), (4,))
    )
    tried = MeasuredCommit(commit=commits[1], executions=1, relative_change=None, confidence_interval=None)
    after = MeasuredCommit(commit=commits[4], executions=3, relative_change=0.5, confidence_interval=None)
    suspects = tuple(
        Suspect(commit=commit, posterior=0.25, skipped="does not build" if commit == commits[1] else None)
        for commit in commits[1:5]
    )
    outcome = Outcome(kind=OutcomeKind.SUSPECT_SET, suspects=suspects, skipped={commits[1]: "does not build"})
    text = bisection_markdown(
        replace(REPORT, commit_range=commit_range, outcome=outcome, measured=(tried, after))
    ).replace("\N{NO-BREAK SPACE}", " ")
    assert "4 candidates cannot be told apart: 3 commits between aaaaaaa and eeeeeee cannot be run (1 tried)." in text


def test_the_column_says_what_happened_to_a_suspect() -> None:
    suspects = tuple(
        Suspect(commit=name, posterior=0.3, skipped=why)
        for name, why in ((FIRST, None), (SECOND, "no compiler"), ("e" * 40, None))
    )
    outcome = Outcome(kind=OutcomeKind.SUSPECT_SET, suspects=suspects, skipped={SECOND: "no compiler"})
    measured = (MeasuredCommit(commit=FIRST, executions=5, relative_change=0.1),)
    text = bisection_text(replace(REPORT, outcome=outcome, measured=measured))
    for name, word in ((FIRST, "yes"), (SECOND, "does not run"), ("eee", "not tried")):
        assert re.search(rf"^\W*{name[:3]}\w* .*\b{word}\b", text, re.MULTILINE), text


def test_foreign_text_stays_text() -> None:
    hostile = "`</code>@everyone **x** | ##[error] ::add-mask::y \x1b[2J\n# head ```"
    outcome = structs.replace(
        REPORT.outcome,
        suspects=(Suspect(commit=FIRST, posterior=0.5, skipped=hostile),),
        skipped={FIRST: hostile},
        notes=(remark(hostile),),
    )
    methods = (
        structs.replace(FOLDED, method=hostile, path=(hostile, hostile)),
        structs.replace(FOLDED, method="::add-mask::"),
    )
    subject = replace(
        REPORT,
        outcome=outcome,
        subjects=dict.fromkeys((FIRST, SECOND, BAD), hostile),
        key=MetricKey(hostile, hostile),
        command=hostile,
        diagnosis=CulpritDiagnosis(
            commit=SECOND,
            counted=methods,
            changed=(
                TouchedFunction(path=hostile, qualified_name=hostile, kind=ChangeKind.ADDED, first_line=1, last_line=2),
            ),
            comparison=diagnosis({"search": hostile, "Parser.tokenize": "::add-mask::y", "parse": "::add-mask::z"}),
            doubt=because(Doubt.NOT_PROFILED, why=hostile, next=hostile),
        ),
    )
    text, markdown = bisection_text(subject), bisection_markdown(subject)
    for wording in (text, markdown):
        assert "\x1b" not in wording
        assert "\n# head" not in wording
        assert not any(line.lstrip().startswith("::") for line in wording.splitlines())
    assert "##[" not in text
    # None of it is left outside code spans and fences.
    assert "\n@everyone" not in markdown
    assert markdown.count("```text") == 2


@pytest.mark.parametrize(
    ("unresolved", "probability", "reason"),
    [
        (0.4, 0.11, "Unresolved: up to 40% of the change may come from commits not named."),
        (0.4, 0.1, "No other culprit found; one of up to 40% of the change may have been missed."),
        (0.2, 0.1, "It explains the change."),
    ],
)
def test_an_answer_says_whether_more_is_likely_or_could_only_have_been_missed(
    unresolved: float, probability: float, reason: str
) -> None:
    outcome = structs.replace(REPORT.outcome, unresolved=unresolved, further_probability=probability)
    assert reason_of(replace(REPORT, outcome=outcome)).replace("\N{NO-BREAK SPACE}", " ") == reason


def test_what_stays_unresolved_comes_with_the_search_for_it() -> None:
    outcome = structs.replace(REPORT.outcome, unresolved=0.3, unresolved_part=(SECOND, BAD))
    text = bisection_text(replace(REPORT, outcome=outcome))
    assert "Unresolved: up to 30" in text
    assert f"To search there: perf-culprit bisect --good {SECOND} --bad {BAD} --run" in text
    assert "To search there" not in bisection_text(REPORT)


def test_the_plot_is_bounded_and_marks_what_is_unknown() -> None:
    many = [MeasuredCommit(commit=f"{number:040x}", executions=1, relative_change=0.1) for number in range(200)]
    lines = plot_commits(many)
    assert len(lines) == TEXT_LIMITS.search_rows
    assert len({len(line) for line in lines}) == 1
    (lost,) = plot_commits([MeasuredCommit(commit=GOOD, executions=2, failures=("x",))])
    assert "no number" in lost


def test_a_wide_interval_does_not_squeeze_the_others() -> None:
    wide = MeasuredCommit(
        commit=BAD, executions=2, relative_change=0.5, confidence_interval=Interval(low=-0.9, high=90.0, level=0.95)
    )
    good = MeasuredCommit(commit=GOOD, executions=2, relative_change=0.0)
    first, second = plot_commits([good, wide])
    assert first.index("●") < second.index("●")
    assert second.index("●") - first.index("●") > 25


@pytest.mark.parametrize(
    ("kind", "note", "headline", "reason"),
    [
        (
            OutcomeKind.CHANGE_OF_GOOD,
            because(SearchReason.CHANGE_OF_GOOD, commit="c", parent="x", change=0.028, low=0.02, high=0.036),
            "No commit of the range: the good commit differs from its own ancestor",
            "good differs from x by +2.8% (+2.0% … +3.6%): to find that change, search with x as the good end",
        ),
        (
            OutcomeKind.SUSPECT_SET,
            because(SearchReason.PARENT_LOST, commit="c", parent="x"),
            "One of several commits introduced the change",
            "The likeliest commit is not confirmed: its parent cannot be measured.",
        ),
    ],
)
def test_a_parent_outside_the_range_is_named(kind: OutcomeKind, note: Reason, headline: str, reason: str) -> None:
    text = bisection_text(replace(REPORT, outcome=Outcome(kind=kind, notes=(note,))))
    assert text.startswith(headline)
    assert reason in text


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (MetricKey("result", "value"), "Benchmark: the number that the command prints."),
        (MetricKey("command", "cpu-time"), "Benchmark: the command's processor time."),
        (MetricKey("command", "time"), "Benchmark: the command's time by the clock."),
        (MetricKey("command", "instructions"), "Benchmark: the command's instructions."),
        (MetricKey("parse", "time"), "Benchmark: parse, time."),
    ],
)
def test_what_was_followed_is_said_in_words(key: MetricKey, text: str) -> None:
    assert text in bisection_text(replace(REPORT, key=key))
