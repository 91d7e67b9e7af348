import pytest

from bot.report.amounts import amount_markdown, amount_text
from bot.report.inert import NO_BREAK
from bot.report.numbers import quantities


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(0.0512, "s", "51.2 ms"), (58.8, "%", "58.8%"), (3.0, "", "3"), (3.0, "apples", "3 apples")],
)
def test_a_unit_follows_its_number(value: float, unit: str, text: str) -> None:
    (quantity,) = quantities((value,), unit)
    assert amount_text(quantity) == text
    assert amount_markdown(quantity) == text.replace(" ", NO_BREAK)


def test_a_unit_of_the_tool_is_cut_and_cannot_act() -> None:
    (quantity,) = quantities((1.0,), "@octocat" * 10)
    assert len(amount_text(quantity)) < 40
    assert "`" in amount_markdown(quantity)
