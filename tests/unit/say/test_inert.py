import re

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options

from perf_culprit.model.bisection import PlannedSearch
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.say.bisection_steps import plan_text
from perf_culprit.say.inert import Safe, clean, code, commit, link, marker, own, plain, plain_lines, prose, row
from tests.support.runner_pool import chain_range

FULL_HASH = "9f8e7d6c5b4a39281706f5e4d3c2b1a098765432"
HOSTILE = [
    "a|b",
    "a\\|b",
    "a\\",
    "--> ||",
    "@octocat",
    "x`y",
    "``",
    "`",
    "</code><img src=x onerror=1>",
    "[c](http://evil.example)",
    "http://evil.example/",
    "www.evil.example",
    "![i](http://evil.example/p.png)",
    "a\n| injected | row |",
    "<!-- perf-culprit:v1:default -->",
    "#1 owner/repo#2 GH-3",
    "*b* _i_ ~~s~~",
    "&lt;b&gt;",
    "$x^2$",
    ":tada:",
    "1. one",
    "+ one",
    "\u202egnp.exe",
    "",
]


def rendered(markdown: str) -> str:
    return str(cmarkgfm.github_flavored_markdown_to_html(markdown, Options.CMARK_OPT_UNSAFE))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_in_a_table_cell_is_one_code_span(name: str) -> None:
    html = rendered(f"| name | n |\n|---|---|\n{row([code(name), Safe('1')])}\n")
    cells = re.findall(r"<td>(.*?)</td>", html, re.DOTALL)
    assert len(cells) == 2
    assert re.fullmatch(r"<code>[^<]*</code>", cells[0])


def test_lines_keep_their_indents_and_hold_no_command_or_control() -> None:
    text = "a\x1b[2J\u202eb\x07 ##[error]x\n::error::y\n  \x85 ::add-mask::z\r::warning::w\n\n  - shop::pay"
    shown = plain_lines(text)
    assert shown.split("\n")[3:] == ["", "  - shop::pay"]
    assert all(line.isprintable() for line in shown.split("\n"))
    assert not re.search(r"^\s*::|##\[", shown, re.MULTILINE)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_sentence_is_plain_words_and_code_spans(name: str) -> None:
    html = rendered(f"- {prose(name)}")
    assert re.fullmatch(r"<ul>\n<li>([A-Za-z0-9 .,;:()%'/_=-]|<code>[^<]*</code>)*</li>\n</ul>\n", html), html


def test_plain_sentences_stay_readable() -> None:
    sentence = "half width of the mean is 11%, 80 repetitions would reach 10% (parse_large)."
    assert prose(sentence) == sentence
    interval = "it introduced the regression: +1,110% (+55.5 \N{HORIZONTAL ELLIPSIS} +2,200); 10 executions"
    assert prose(interval) == interval


@pytest.mark.parametrize(
    ("sentence", "shown"),
    [
        pytest.param("cpu Intel(R) Xeon(R) 8370C differs", "cpu `Intel(R) Xeon(R)` 8370C differs", id="odd words"),
        pytest.param("see www.evil.example now", "see `www.evil.example` now", id="address"),
        pytest.param("commit defaced0 broke it", "commit `defaced0` broke it", id="hash"),
        pytest.param("thanks @octocat", "thanks `@octocat`", id="mention"),
        pytest.param("fixes GH-3", "fixes `GH-3`", id="issue"),
        pytest.param("x.y, a.b? Then z(1).", "`x.y`, `a.b`? Then `z(1)`.", id="punctuation"),
        pytest.param("write `jobs=N x` or 'a b'; don't", "write `jobs=N x` or `a b`; don't", id="marked"),
        pytest.param("a tool (--profile, in b.c).", "a tool (`--profile`, in `b.c`).", id="brackets"),
        pytest.param("a  `b", "a `` `b ``", id="half marked"),
    ],
)
def test_only_the_odd_words_of_a_sentence_become_code(sentence: str, shown: str) -> None:
    assert prose(sentence) == shown


def test_invisible_characters_are_shown_as_replacements() -> None:
    assert clean("a\u202eb\x00c\u200bd\x1b[31m\ud800") == "a�b�c�d�[31m�"


def test_line_breaks_become_blanks() -> None:
    assert clean("a\nb\r\tc\u2028d\x85e") == "a b  c d e"


def test_long_names_are_cut_in_the_middle() -> None:
    assert clean("f" * 10_000 + "method", limit=10) == "fff…method"
    assert len(clean("x" * 10_000)) == TEXT_LIMITS.name_characters
    assert clean("x" * TEXT_LIMITS.name_characters) == "x" * TEXT_LIMITS.name_characters


def test_nothing_visible_is_said() -> None:
    assert clean(" \n ") == "(empty)"


def test_own_refuses_foreign_text() -> None:
    with pytest.raises(TypeError, match="made inert first"):
        own("{}", "a benchmark's name")  # type: ignore[arg-type]  # that is the mistake under test


def test_own_writes_counts_with_separators() -> None:
    assert own("and {} more", 9950) == "and 9,950 more"


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "https://evil.example/) [x](http://evil.example",
        "https://user@evil.example/",
        "https://a.example/ b",
        "https://a.example/<b>",
        "",
        None,
    ],
)
def test_only_web_addresses_are_linked(url: str | None) -> None:
    assert link(Safe("run"), url) == "run"


def test_link() -> None:
    assert link(Safe("run"), "https://ghes.example:8443/o/r/runs/1") == "[run](https://ghes.example:8443/o/r/runs/1)"


def test_a_full_hash_is_linked() -> None:
    assert commit(FULL_HASH, repository_url="https://g.example/o/r") == (
        f"[`9f8e7d6`](https://g.example/o/r/commit/{FULL_HASH})"
    )


def test_a_full_hash_without_a_repository_is_short() -> None:
    assert commit(FULL_HASH, repository_url=None) == "`9f8e7d6`"


@pytest.mark.parametrize("name", ["9f8e7d6", "HEAD", FULL_HASH.upper(), f"{FULL_HASH}\n", "../../x"])
def test_other_commit_names_are_not_linked(name: str) -> None:
    assert commit(name, repository_url="https://g.example/o/r").startswith("`")


def test_marker_is_kept() -> None:
    assert marker("<!-- perf-culprit:v1:my suite -->") == "<!-- perf-culprit:v1:my suite -->"


@pytest.mark.parametrize("comment", ["perf-culprit", "<!-- a --> <b> -->", "<!-- a -- b -->", "<!-- a\nb -->"])
def test_marker_must_be_one_comment(comment: str) -> None:
    with pytest.raises(ValueError, match="not a marker comment"):
        marker(comment)


def test_long_sentences_cost_no_more_than_their_length() -> None:
    assert prose("a" * 5_000 + "!") == code("a" * 5_000 + "!", limit=TEXT_LIMITS.sentence_characters)


def test_a_line_of_a_log_holds_no_command_to_the_runner() -> None:
    assert plain("x ##[error]y\x1b[2J") == "x ## [error]y\N{REPLACEMENT CHARACTER}[2J"


def test_a_plan_shows_subjects_without_commands_to_the_runner() -> None:
    commit_range = chain_range(2)
    subjects = {commit_range.commits[0]: "##[add-mask]a"}
    text = plan_text(PlannedSearch(commit_range=commit_range, subjects=subjects, executions=(1, 2), budget=3))
    assert "##[" not in text
    assert "## [add-mask]a" in text
