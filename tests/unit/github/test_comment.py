import re

import pytest

from perf_culprit.github.bot_texts import comment_marker, suite_id
from perf_culprit.github.posting import same_text


@pytest.mark.parametrize("suite", ["default", "a", "linux-x86-64", "0", "x" * 40])
def test_plain_names_stay(suite: str) -> None:
    assert suite_id(suite) == suite


@pytest.mark.parametrize(
    ("suite", "beginning"),
    [
        ("Default", "default-"),
        ("a b", "a-b-"),
        ("a--b", "a-b-"),
        ("-a-", "a-"),
        ("x" * 41, "x" * 40 + "-"),
        ("--><script>", "script-"),
        ("größe", "gr-e-"),
    ],
)
def test_other_names_get_a_hash(suite: str, beginning: str) -> None:
    assert re.fullmatch(re.escape(beginning) + "[0-9a-f]{8}", suite_id(suite))


@pytest.mark.parametrize("suite", ["", "💥", "-->", "\ud800", "\n"])
def test_names_without_a_plain_character_are_a_hash(suite: str) -> None:
    assert re.fullmatch("[0-9a-f]{8}", suite_id(suite))


def test_different_names_have_different_ids() -> None:
    names = ["a b", "a_b", "a  b", "A b", "a-b", "a/b", "a b "]
    assert len({suite_id(name) for name in names}) == len(names)


@pytest.mark.parametrize("suite", ["default", "--><img src=x>", "a\nb", "x" * 5_000])
def test_the_marker_is_one_closed_html_comment(suite: str) -> None:
    assert re.fullmatch(r"<!-- perf-culprit:v1:[a-z0-9]+(-[a-z0-9]+)* -->", comment_marker(suite))


@pytest.mark.parametrize(("stored", "same"), [("a\r\nb\r\n", True), (" a\nb", True), ("a\n b", False), ("", False)])
def test_same_text_ignores_line_ends_and_trimming(stored: str, *, same: bool) -> None:
    assert same_text(stored, "a\nb\n") is same
