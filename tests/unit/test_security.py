"""The list of attacks in docs/evidence/security.md: each line names an existing test."""

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "evidence" / "security.md"


def test_titles_of_runs_are_read_in_two_places_only() -> None:
    """`Context.dispatched_title` and `GitHubDispatcher` look at the event first: a title is anybody's text."""
    bot = TESTS.parent / "bot/perf_culprit"
    readers = {path.name for path in bot.rglob("*.py") if "display_title" in path.read_text(encoding="utf-8")}
    assert readers == {"job_context.py", "workflow_runs.py"}


def test_each_attack_has_its_test_and_each_test_its_line() -> None:
    named = re.findall(r"^\|.*\| `(test_\w+)` \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    text = "".join(path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py"))
    defined = re.findall(r"^def (test_\w+)\(", text, re.MULTILINE)
    assert set(named) <= set(defined)
    assert {name for name in defined if name.startswith("test_wanted_")} <= set(named)
