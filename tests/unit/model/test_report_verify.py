"""report.json holds the command that verifies a fix of a known culprit."""

import json
import shlex
from typing import Any

import pytest
from msgspec import structs

from perf_culprit.cli.command_parser import parsed
from perf_culprit.commands.measure_requests import Verify
from perf_culprit.model.finding import Verdict
from perf_culprit.model.report import Report, encode_report
from tests.support.diagnosed_reports import diagnosed
from tests.support.reports import every_conclusion

CULPRIT = "c" * 40


def written(report: Report) -> Any:
    return json.loads(encode_report(report))["verify"]


def with_culprit(commit: str | None, *names: str) -> Report:
    report = diagnosed()
    assert report.diagnosis is not None
    (first, *_) = [one for one in report.findings if one.verdict is Verdict.REGRESSION]
    findings = tuple(structs.replace(first, benchmark=name) for name in names) or report.findings
    return structs.replace(report, findings=findings, diagnosis=structs.replace(report.diagnosis, commit=commit))


def test_the_command_is_one_that_there_is_and_names_culprit_and_benchmarks() -> None:
    asked = parsed(shlex.split(written(with_culprit(CULPRIT, "parse", "a b; rm -rf $HOME")))[1:])
    assert isinstance(asked, Verify)
    assert (asked.culprit, asked.fix, asked.only) == (CULPRIT, "HEAD", ("parse", "a b; rm -rf $HOME"))


@pytest.mark.parametrize("names", [("--run", "x"), tuple(map(str, range(11)))])
def test_names_that_are_options_or_many_are_left_out(names: tuple[str, ...]) -> None:
    asked = parsed(shlex.split(written(with_culprit(CULPRIT, *names)))[1:])
    assert isinstance(asked, Verify)
    assert asked.only == ()


@pytest.mark.parametrize("commit", [None, "--output=/etc", "HEAD"])
def test_without_a_culprit_there_is_none(commit: str | None) -> None:
    assert written(with_culprit(commit)) is None
    assert written(every_conclusion()["regression-fails"]) is None
