"""Answers to commands: the valid alternatives, and inert foreign text."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from perf_culprit.errors import UsageError
from perf_culprit.model.finding import Acceptance, Verdict
from perf_culprit.model.report import Conclusion, Report
from perf_culprit.say.command_answers import (
    HELP,
    accepted_text,
    again_text,
    closed_text,
    failure_text,
    fork_head_text,
    help_text,
    moved_text,
    no_permission_text,
    ready_lines,
    refusal_text,
)
from tests.support.reports import HEAD_COMMIT, finding, report

DOCS = Path(__file__).parents[3] / "docs" / "commands.md"
SHA = "0123456789abcdef0123456789abcdef01234567"
HOSTILE = "@everyone `x` | <b>#1</b> ![i](https://evil.example)\n# head"


def acceptance(*, reason: str, author: str) -> Acceptance:
    time = datetime(2031, 1, 1, tzinfo=UTC)
    return Acceptance(suite="core", benchmark=None, commit=SHA, reason=reason, author=author, time=time)


def outside_code(markdown: str) -> str:
    return re.sub(r"(`+).*?\1", "", markdown, flags=re.DOTALL)


def test_help_names_every_command() -> None:
    text = help_text()
    for command, _ in HELP:
        assert command.replace("|", "\\|") in text
    assert "write permission" in text


def test_the_documentation_has_the_same_table() -> None:
    page = DOCS.read_text(encoding="utf-8")
    for command, does in HELP:
        assert f"| `{command.replace('|', chr(92) + '|')}` | {does} |" in page


def test_a_refusal_says_what_would_be_valid() -> None:
    error = UsageError(
        "`benhmark=x` isn't an option", place="/perf-bisect", next_step="did you mean `good`? Or `sort large`, 'x y'."
    )
    assert refusal_text(error) == (
        "**Command rejected:** `/perf-bisect`: `benhmark=x` isn't an option\n\n"
        "Next: did you mean `good`? Or `sort large`, `x y`.\n"
    )
    assert "[The job's log](https://example.org/runs/5)" in failure_text(error, run_url="https://example.org/runs/5")


@pytest.mark.parametrize(
    "text",
    [
        refusal_text(UsageError(HOSTILE, place=HOSTILE, next_step=HOSTILE)),
        no_permission_text(HOSTILE),
        moved_text(named=HOSTILE, head=SHA),
        accepted_text(acceptance(reason=HOSTILE, author=HOSTILE), [HOSTILE], is_checked=False),
    ],
)
def test_foreign_text_stays_text(text: str) -> None:
    rest = outside_code(text)
    for active in ("@everyone", "#1", "<b>", "](", "\n# "):
        assert active not in rest


def test_the_line_to_copy_holds_nothing_but_a_hash() -> None:
    assert f"```text\n/perf-bisect {SHA}\n```" in fork_head_text(SHA, line="/perf-bisect {}")
    with pytest.raises(ValueError, match="not a commit hash"):
        fork_head_text(f"{SHA[:-1]}\n", line="/perf-bisect {}")


def test_measuring_again_links_to_the_run() -> None:
    assert "(failed jobs): [the run](https://example.org/r)" in again_text(
        repeats="failed jobs", run_url="https://example.org/r"
    )
    assert "still under way" in again_text(repeats="nothing", run_url="https://example.org/r")


def test_accepting_everything_and_closed_pull_requests() -> None:
    assert "all benchmarks" in accepted_text(acceptance(reason="wanted", author="octocat"), [], is_checked=True)
    assert "closed" in closed_text()


def test_a_pull_request_is_told_how_far_an_acceptance_reaches() -> None:
    accepted = replace(acceptance(reason="wanted", author="octocat"), pull_request=7)
    text = accepted_text(accepted, ["parse"], is_checked=True)
    assert "`/perf-retry`" in text
    assert "after another push, accept again" in text
    assert "No stored run" not in text


def regressed(benchmark: str) -> Report:
    worse = finding(benchmark, 1.0, 2.0, verdict=Verdict.REGRESSION)
    return report(Conclusion.REGRESSION, worse)


def test_the_report_has_the_commands_ready_to_copy() -> None:
    text = ready_lines(regressed("sort large"))
    assert f'```text\n/perf-bisect {HEAD_COMMIT} benchmark="sort large" metric="time"\n' in text
    assert f'\n/perf-accept {HEAD_COMMIT} "sort large" REASON\n```' in text


@pytest.mark.parametrize("name", ['say "hi"', "a\\b", "```\n# head", "x" * 121, "a\u202eb"])
def test_a_name_that_no_command_can_hold_is_left_out(name: str) -> None:
    text = ready_lines(regressed(name))
    assert f"```text\n/perf-bisect {HEAD_COMMIT}\n/perf-accept {HEAD_COMMIT} all REASON\n```" in text


def test_nothing_to_copy_without_a_regression_or_a_commit() -> None:
    assert ready_lines(replace(regressed("x"), findings=())) == ""
    assert ready_lines(replace(regressed("x"), target_commit="main")) == ""
