"""One document in three media: the parts that each shows, and inert foreign text in all of them."""

import re

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options

from perf_culprit.say.document import (
    NOTHING,
    Address,
    Bullets,
    Column,
    ColumnRole,
    CommitLink,
    Document,
    DocumentNode,
    Figure,
    Fold,
    Heading,
    Hyperlink,
    Name,
    Prose,
    Shown,
    Sign,
    Strong,
    Table,
    TableRow,
    Text,
    Tone,
    grid,
    paragraph,
    some,
    table,
    words,
)
from perf_culprit.say.inert import Safe
from perf_culprit.say.render_html import html, html_of
from perf_culprit.say.render_markdown import markdown, markdown_text
from perf_culprit.say.render_terminal import render_terminal, terminal

HOSTILE = "<b>@everyone</b> [x](https://evil.example) `y` \x1b[2J ##[error]\n::add-mask::z"
COLUMNS = (
    Column(name="name", role=ColumnRole.NAME),
    Column(name="before", role=ColumnRole.SIDE, right=True),
    Column(name="after", role=ColumnRole.SIDE, right=True),
    Column(name="interval", joins=True, spare=True),
    Column(name="why", role=ColumnRole.WORDS),
)


def rows_of(*rows: tuple[str, Text, str], shown: Shown = Shown.LIST) -> Table:
    def row(entry: tuple[str, Text, str]) -> TableRow:
        name, after, why = entry
        return TableRow((Name(name), Safe("1 s"), after, Safe("(±1)"), Safe(why)))

    return table(COLUMNS, rows, row, title=Safe("2 undecided"), shown=shown)


def on_terminal(*nodes: DocumentNode, width: int = 80) -> str:
    return render_terminal(Document(nodes=nodes), width=width, colour=False)


@pytest.mark.parametrize(
    ("text", "page", "line", "element"),
    [
        (Strong(words("{} is slow", Name("a"))), "**`a` is slow**", "a is slow", "<strong><code>a</code> is slow"),
        (CommitLink("a" * 40), "`aaaaaaa`", "aaaaaaa", "<code>aaaaaaa</code>"),
        (
            Hyperlink(Safe("run"), "https://x.example/1"),
            "[run](https://x.example/1)",
            "run",
            '<a href="https://x.example/1">',
        ),
        (Hyperlink(Safe("run"), None), "run", "run", "run"),
        (Sign(page="🔴", terminal="Worst: "), "🔴", "Worst: ", "🔴"),
        (Address("https://x.example/c"), "", "https://x.example/c", ""),
        (some([Safe("a"), Safe("b"), Safe("c")], 2), "a, b and 1 more", "a, b and 1 more", "a, b and 1 more"),
    ],
)
def test_a_text_has_the_form_of_its_medium(text: Text, page: str, line: str, element: str) -> None:
    assert markdown(text) == page
    assert terminal(text) == line
    assert html(text).startswith(element)


@pytest.mark.parametrize("text", [Name(HOSTILE), Prose(HOSTILE), CommitLink(HOSTILE), Strong(Name(HOSTILE))])
def test_foreign_text_is_text_in_every_medium(text: Text) -> None:
    page = cmarkgfm.github_flavored_markdown_to_html(markdown_text(paragraph(text)), Options.CMARK_OPT_UNSAFE)
    for shown in (page, html_of(Document(nodes=(paragraph(text),)))):
        assert "<b>" not in shown
        assert "href" not in shown
        assert "\x1b" not in shown
    lines = on_terminal(paragraph(text), Fold(summary=Safe("x"), parts=(Bullets(items=[text], total=1),)))
    assert "\x1b" not in lines
    assert "##[" not in lines


COMMAND = Name("::add-mask::x")


@pytest.mark.parametrize(
    "node",
    [
        paragraph(COMMAND),
        paragraph(Safe("a"), COMMAND),
        Heading(text=Name("::x"), tone=Tone.PLAIN),
        Heading(text=Name("::x"), tone=Tone.WORSE, below=(COMMAND,)),
        Bullets(items=(COMMAND,), total=1, title=COMMAND),
        grid(("name",), [(COMMAND,)], title=COMMAND),
        rows_of(("a", Safe("1"), "::x"), ("b", Safe("2"), "::x")),
        Figure(lines=(COMMAND,), title=COMMAND),
    ],
)
@pytest.mark.parametrize("colour", [False, True])
def test_no_line_of_a_terminal_is_a_command_to_the_runner(node: DocumentNode, *, colour: bool) -> None:
    text = render_terminal(Document(nodes=(node,)), width=80, colour=colour)
    assert ": :" in text
    for line in text.splitlines():
        assert not re.sub(r"\x1b\[[0-9;]*m", "", line).lstrip().startswith("::")


def test_foreign_text_that_is_no_span_is_refused() -> None:
    with pytest.raises(TypeError, match="must be a span"):
        words("{} is slow", "a benchmark's name")  # type: ignore[arg-type]  # that is the mistake under test
    with pytest.raises(ValueError, match="2 texts for the places"):
        words("{} is slow", Safe("a"), Safe("b"))


def test_a_folded_table_is_a_list_on_a_terminal_and_reasons_that_are_shared_stand_above() -> None:
    fold = Fold(summary=Safe("all"), parts=(rows_of(("a", Safe("2 s"), "noisy"), ("b", NOTHING, "new")),))
    assert on_terminal(fold) == "2 undecided:\n- a (1 s → 2 s): noisy\n- b: new\n"
    alike = rows_of(("a", Safe("2 s"), "noisy"), ("b", Safe("3 s"), "noisy"))
    assert on_terminal(alike) == "2 undecided:\nnoisy:\n- a (1 s → 2 s)\n- b (1 s → 3 s)\n"


def test_a_column_that_can_be_spared_is_shown_where_there_is_room_and_joins_another_on_a_page() -> None:
    entries = ("a", Safe("2 s"), "noisy")
    wide, narrow = (on_terminal(rows_of(entries, shown=Shown.TABLE), width=width) for width in (60, 30))
    assert "(±1)" in wide
    assert "(±1)" not in narrow
    assert max(map(len, narrow.splitlines())) <= 30
    assert "| `a` | 1 s | 2 s (±1) | noisy |" in markdown_text(rows_of(entries))
    assert '<td align="left">2 s (±1)</td>' in html_of(Document(nodes=(rows_of(entries),)))


def test_what_a_terminal_leaves_out_is_on_every_page() -> None:
    hidden = Bullets(items=[Safe("detail")], total=1, title=Safe("1 unchanged"), shown=Shown.NOT)
    titled = Bullets(items=[Safe("detail")], total=1, title=Safe("1 unchanged"), shown=Shown.TITLE)
    assert on_terminal(paragraph(Safe("x")), hidden) == "x\n"
    assert on_terminal(paragraph(Safe("x")), titled) == "x\n\n1 unchanged\n"
    assert markdown_text(hidden) == "**1 unchanged**\n\n- detail\n"


def test_a_drawing_for_a_terminal_alone_is_on_no_page() -> None:
    drawn = Figure(title=Safe("Samples:"), lines=(Safe("▁█"),), on_page=False)
    assert on_terminal(drawn) == "Samples:\n▁█\n"
    assert markdown_text(paragraph(Safe("x")), drawn) == "x\n"
    assert "▁█" not in html_of(Document(nodes=(drawn,)))


def test_rows_left_out_are_counted() -> None:
    many = Bullets(items=[Safe("a")] * 25, total=40)
    assert on_terminal(many).endswith("- a\nand 20 more: see report.json\n")
    assert markdown_text(many).endswith("- a\n\nand 15 more\n")
