"""The comment with compared call trees: whole text, hostile names, annotations."""

import os
from pathlib import Path

import cmarkgfm
import numpy as np
import pytest
from cmarkgfm.cmark import Options
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from perf_culprit.explain.compare_trees import compare_profiles
from perf_culprit.model.call_tree import ImpactedService, MethodCosts, MethodSuspect
from perf_culprit.model.reason import remark
from perf_culprit.model.report import Answer, Conclusion, NodeAmount, NodeState, SuspectReason
from perf_culprit.say.call_tree_pictures import call_tree_picture
from perf_culprit.say.call_tree_words import REASONS, why
from perf_culprit.say.call_trees import tree_comparison_text
from perf_culprit.say.certainty_words import NOT_PROVEN
from perf_culprit.say.comment import COMMENT_LIMIT_CHARACTERS, render_markdown
from perf_culprit.say.comparison import PageOptions, render_text
from perf_culprit.say.report_parts import line_remarks
from tests.support.compared_trees import Tree
from tests.support.diagnosed_reports import SUBJECT, diagnosed, diagnosis
from tests.support.hostile import _PIECES
from tests.support.reports import every_conclusion

FOLDER = Path(__file__).parents[2] / "golden" / "diagnosis"
OPTIONS = PageOptions(repository_url="https://github.example/octo/parser")
# Names without ">", which would split a name and make another tree. The pieces are inserted one at a time.
NAMES = [piece for piece in _PIECES if ">" not in piece and piece.strip()]


_AMOUNTS = st.builds(NodeAmount, elapsed=st.floats(0.0, 1e9), self_time=st.floats(0.0, 1e9)) | st.none()


@given(st.lists(st.sampled_from(SuspectReason), unique=True), _AMOUNTS, _AMOUNTS)
def test_own_code_takes_longer_of_nothing_that_takes_less(
    reasons: list[SuspectReason], before: NodeAmount | None, after: NodeAmount | None
) -> None:
    change = None if before is None or after is None or not before.elapsed else after.elapsed / before.elapsed - 1
    suspect = replace(
        diagnosis().suspects[0], reasons=tuple(reasons), baseline=before, target=after, relative_change=change
    )
    is_less = change is not None and change < 0
    own_is_less = before is not None and after is not None and after.self_time < before.self_time
    if is_less or own_is_less:
        assert REASONS[SuspectReason.OWN_TIME] not in why(suspect)
    if is_less:
        assert REASONS[SuspectReason.ORIGIN] not in why(suspect)


def test_new_callees_are_named_beside_who_begins_to_call_them() -> None:
    """A text is now computed in each call instead of being stored."""
    rng = np.random.default_rng(1)
    before = {"main": 1.0, "main>page": 5.0, "main>other": 20.0}
    sides = [Tree(own=own).profile(rng) for own in (before, before | {"main>page>escape": 15.0})]
    comparison = compare_profiles(sides[:1], sides[1:])
    assert comparison.answer is Answer.SLOWER
    assert "page: the slowdown begins here; longer per call; begins to call escape" in tree_comparison_text(comparison)


def check(name: str, text: str) -> None:
    path = FOLDER / name
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_whole_comment() -> None:
    check("comment.md", render_markdown(diagnosed(), options=OPTIONS))


def test_whole_text() -> None:
    check("tree_comparison.txt", tree_comparison_text(diagnosis()))


@pytest.mark.parametrize("name", NAMES)
def test_foreign_names_bring_no_structure(name: str) -> None:
    named = diagnosis({"compile_regex": f"{name}x", "search": f"{name}y"})
    report = diagnosed(replace(named, notes=(remark(name),), added_methods=(name,), removed_services=(name,)))
    text = render_markdown(report, options=OPTIONS)
    html = cmarkgfm.github_flavored_markdown_to_html(text, Options.CMARK_OPT_UNSAFE)
    reference = cmarkgfm.github_flavored_markdown_to_html(
        render_markdown(diagnosed(replace(named, notes=(remark("n"),), added_methods=("n",), removed_services=("n",)))),
        Options.CMARK_OPT_UNSAFE,
    )
    assert "evil.example/" not in "".join(part.split(">")[0] for part in html.split("<")[1:])
    for tag in ("<details>", "</details>", "<tr>", "<td", "<pre", "<h3>"):
        assert html.count(tag) == reference.count(tag)
    assert "<img" not in html
    plain = tree_comparison_text(report.diagnosis or named)
    assert all(character.isprintable() or character == "\n" for character in plain)
    assert not [line for line in plain.split("\n") if line.lstrip().startswith("::") or "##[" in line]


def costs_of(method: str) -> MethodCosts:
    impact = ImpactedService(service=f"{method}y", self_share=0.5, children_share=0.1, self_ms_per_call=1.0)
    suspect = MethodSuspect(
        method=f"{method}x",
        score=0.5,
        self_ms=5.0,
        calls=2,
        self_ms_per_execution=2.5,
        longest_ms=2.0,
        tiny=False,
        services=(impact,),
    )
    return MethodCosts(suspects=(suspect,), methods=1, services=1)


def test_a_terminal_shows_suspects_services_and_costs_as_the_comment_does() -> None:
    report = replace(every_conclusion()["regression-fails"], diagnosis=diagnosis(), costs=costs_of("n"))
    lines = render_text(report, colour=False, width=100).splitlines()
    assert "Look first at" in lines[2]
    assert lines[4] == f"Most likely through a1b2c3d {SUBJECT} by Ada Lovelace."
    for start in ("Suspects:", "Why these:", "Impact: ", "Only this revision: "):
        assert sum(line.startswith(start) for line in lines) == 1, start
    assert any(line.startswith("• nx") for line in lines)


@pytest.mark.parametrize("name", NAMES)
def test_foreign_names_bring_no_structure_into_what_costs_most(name: str) -> None:
    def html(method: str) -> str:
        costs = costs_of(method)
        text = render_markdown(replace(every_conclusion()["no-change"], costs=costs), options=OPTIONS)
        return str(cmarkgfm.github_flavored_markdown_to_html(text, Options.CMARK_OPT_UNSAFE))

    shown, reference = html(name), html("n")
    assert "<img" not in shown
    for tag in ("<details>", "</details>", "<tr>", "<td", "<pre", "<h3>", "<a "):
        assert shown.count(tag) == reference.count(tag)


def test_without_a_regression_the_first_lines_are_silent() -> None:
    report = replace(every_conclusion()["no-change"], diagnosis=diagnosis())
    first, _, second, *_ = render_markdown(report).split("\n")
    assert "through" not in first
    assert "compile_regex" not in second
    assert line_remarks(report) == ()


def test_where_the_metrics_cannot_tell_the_first_lines_say_what_the_call_trees_saw() -> None:
    report = replace(every_conclusion()["cannot-tell"], diagnosis=diagnosis())
    first, _, second, *_ = render_markdown(report).split("\n")
    assert "The call trees show a slowdown, the metrics can't tell" in first
    assert "Parser.tokenize" in second
    assert "Measure both commits in turn on one machine" in second
    undecided = replace(report, diagnosis=replace(diagnosis(), services=(), suspects=()))
    assert "Cannot tell" in render_markdown(undecided).split("\n")[0]


def test_the_picture_of_slower_paths_leaves_out_what_got_faster() -> None:
    rng = np.random.default_rng(5)
    before = {"parse": 1.0, "parse>read": 5.0, "parse>build": 9.0, "parse>link": 2.0}
    after = before | {"parse>read": 20.0, "parse>build": 3.0}
    comparison = compare_profiles([Tree(own=before).profile(rng)], [Tree(own=after).profile(rng)])
    assert [node.state for node in comparison.services[0].nodes if node.method == "build"] == [NodeState.FASTER]
    picture = call_tree_picture(comparison, comparison.services[0])
    assert "read" in picture
    assert "build" not in picture


def test_without_a_certain_answer_the_methods_that_moved_most_are_shown_as_not_proven() -> None:
    rng = np.random.default_rng(5)
    before = {"parse": 5.0, **{f"parse>m{place}": 5.0 for place in range(30)}}
    profiles = [Tree(own=own).profile(rng) for own in (before, before | {"parse>m7": 6.0, "parse>new": 0.1})]
    comparison = replace(compare_profiles(profiles[:1], profiles[1:]), suspects=())

    def told(answer: Answer) -> str:
        return tree_comparison_text(replace(comparison, services=(replace(comparison.services[0], answer=answer),)))

    lines = told(Answer.UNDECIDED).splitlines()
    start = lines.index(f"Methods that moved most, {NOT_PROVEN}:")
    rows = [line for line in lines[start : lines.index("", start)] if line.startswith("• ")]
    assert len(rows) == 5
    assert "m7" in "".join(rows[:4])
    assert NOT_PROVEN not in told(Answer.SLOWER)


def test_length_with_long_names_everywhere() -> None:
    comparison = diagnosis({"compile_regex": "€" * 900, "search": "€" * 900})
    many = replace(comparison, added_methods=("€" * 900,) * 1_000, notes=(remark("€ " * 900),) * 100)
    text = render_markdown(diagnosed(replace(many, suspects=comparison.suspects * 300)))
    assert len(text.encode("utf-16-le")) // 2 <= COMMENT_LIMIT_CHARACTERS


def test_remarks_stand_beside_the_changed_code() -> None:
    (remark,) = line_remarks(diagnosed())
    assert (remark.path, remark.line, remark.title) == ("src/parser.py", 41, "Slower: Parser.tokenize")
    assert remark.message.startswith("Parser.tokenize: +")
    assert "calls a method more often" in remark.message


@pytest.mark.parametrize("path", ["/etc/passwd", "../x.py", "a/../../x", "a\nb"])
def test_paths_outside_the_repository_get_no_remark(path: str) -> None:
    report = diagnosed()
    comparison = diagnosis()
    code = next(one.touched for one in comparison.suspects if one.touched is not None)
    assert code is not None
    moved = replace(code, file=path)
    suspects = tuple(replace(one, touched=moved) for one in comparison.suspects)
    assert report.conclusion is Conclusion.REGRESSION
    assert line_remarks(diagnosed(replace(comparison, suspects=suspects))) == ()
