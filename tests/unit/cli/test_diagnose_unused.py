"""An option of diagnose that would do nothing is refused, in each way of calling it."""

from pathlib import Path

import pytest

from perf_culprit.cli.entry import main
from perf_culprit.commands.analysis_requests import Diagnose
from perf_culprit.errors import UsageError

Options = dict[str, str | None]
LOG = ("--log", "a.log", "--pattern", "labelled")
PROFILE = ("--profile", "a.json")
REVISIONS = ("--baseline", "a.json", "--target", "b.json")
LOG_REVISIONS = (*REVISIONS, "--pattern", "labelled")
TABLE = ("--log", "a.csv", "--pattern", "csv:id=a")

OF_REVISIONS: Options = {
    "--flame": "x.html",
    "--repo": "elsewhere",
    "--commit": "HEAD",
    "--base": "v1",
    "--head": "v2",
    "--same-work": None,
    "--minimum-effect": "2%",
}
OF_PROFILES: Options = {"--format": "speedscope", "--trusted-profile": None}
OF_LOGS: Options = {"--window": "30", "--cluster": "tcp://a:1", "--method": "load"}
OF_ONE: Options = {"--lambda": "2", "--minimum-self-time": "1", "--html": "x.html"}
REPO: Options = {"--repo": "elsewhere"}
WORKERS: Options = {"--workers": "4"}

UNUSED: list[tuple[tuple[str, ...], Options]] = [
    (LOG, OF_REVISIONS | OF_PROFILES),
    (PROFILE, OF_REVISIONS | OF_LOGS | WORKERS),
    (TABLE, OF_REVISIONS | OF_LOGS | OF_PROFILES | WORKERS),
    (REVISIONS, OF_ONE | OF_LOGS | WORKERS | REPO),
    (LOG_REVISIONS, OF_ONE | OF_LOGS | OF_PROFILES),
]


@pytest.mark.parametrize(
    ("mode", "option", "value"),
    [(mode, option, value) for mode, options in UNUSED for option, value in options.items()],
)
def test_what_would_do_nothing_is_refused_before_anything_is_read(
    mode: tuple[str, ...], option: str, value: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diagnose", *mode, option, *([] if value is None else [value])]) == UsageError.exit_code
    text = capsys.readouterr().err
    assert f"{option} does nothing here" in text
    assert "leave it out" in text


def test_a_cluster_reads_with_its_own_workers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", *LOG, "--cluster", "tcp://a:1", "--workers", "4"]) == UsageError.exit_code
    assert "--workers does nothing here" in capsys.readouterr().err


def test_every_option_is_of_some_mode() -> None:
    """A new option must be in one of the tables above or be used in every mode."""
    placed = OF_REVISIONS | OF_PROFILES | OF_LOGS | OF_ONE | WORKERS
    options = {field.option.flags[0] for field in Diagnose.fields()}
    modes = {"--log", "--pattern", "--profile", "--baseline", "--target"}
    assert options - placed.keys() - modes == {"-q", "-v", "--json", "--top"}


def test_what_is_used_is_not_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = str(tmp_path / "none")
    used = [
        ["--log", missing, "--pattern", "labelled", "--window", "30", "--workers", "4", "--lambda", "2"],
        ["--profile", missing, "--format", "speedscope", "--trusted-profile", "--minimum-self-time", "1"],
        ["--baseline", missing, "--target", missing, "--same-work", "--minimum-effect", "2%", "--flame", "x.html"],
    ]
    for arguments in used:
        assert main(["diagnose", *arguments]) == 3
    assert "does nothing" not in capsys.readouterr().err
