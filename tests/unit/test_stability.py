"""The promise of docs/stability.md: public names still exist, and the page lists the existing ones."""

import re

import pytest

from perf_culprit.flows.published_schemas import SCHEMA_KINDS
from tests.support import public_names
from tests.support.public_names import LIST, PROJECT, listed, names

PAGE = (PROJECT / "docs" / "stability.md").read_text(encoding="utf-8")
ADD = "python -m tests.support.public_names"


def test_no_public_name_is_gone() -> None:
    assert LIST.is_file(), f"a new major version: {ADD}"
    assert len(listed()) > 800
    assert sorted(listed() - names()) == [], "needs a new major version"
    assert sorted(names() - listed()) == [], ADD


@pytest.mark.parametrize(
    ("name", "of"),
    [
        ("file report-v2: Report.conclusion", "_formats"),
        ("file report-v2: Verdict regression", "_formats"),
        ("command compare --baseline", "_commands"),
        ("key bisect.run", "_keys"),
        ("action input output-file-path", "_action"),
        ("action output failed", "_action"),
        ("workflow reusable-measure.yml input run", "_action"),
        ("exit code 4", "_exit_codes"),
    ],
)
def test_a_name_that_goes_is_noticed(monkeypatch: pytest.MonkeyPatch, name: str, of: str) -> None:
    assert name in listed()
    original = getattr(public_names, of)
    monkeypatch.setattr(public_names, of, lambda *given: (one for one in original(*given) if one != name))
    assert listed() - names() == {name}


def test_the_page_names_each_file_and_exit_code() -> None:
    rows = re.findall(r"^\| .*\| (\d+) \| \[([\w-]+)\]\(([\w-]+)\.schema\.json\) \|$", PAGE, re.MULTILINE)
    assert {name for _, name, _ in rows} == set(SCHEMA_KINDS)
    assert all(name == file and name.endswith(f"-v{version}") for version, name, file in rows)
    (codes,) = re.findall(r"^\| exit codes \| (.*?) \|", PAGE, re.MULTILINE)
    promised = {f"exit code {code}" for code in re.findall(r"\d+", codes)}
    assert promised == {name for name in names() if name.startswith("exit code")}
