import ast
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from string import Formatter

import pytest
from hypothesis import given

from perf_culprit.model.reason import (
    CODES,
    REASON_FAMILIES,
    BaselineReason,
    Caveat,
    Reason,
    ReasonCode,
    Remark,
    Untested,
    VerdictReason,
    because,
    remark,
)
from perf_culprit.say.certainty_words import WOULD_SUSPECT
from perf_culprit.say.inert import Safe
from perf_culprit.say.phrases import SENTENCES
from perf_culprit.say.reason_text import sentence, worded
from perf_culprit.say.render_markdown import markdown as shown
from tests.support.hostile import reasons

PACKAGE = Path(__file__).parents[3] / "bot/perf_culprit"
NAMES = {family.__name__: family for family in REASON_FAMILIES}


def fields(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template.replace("[", "").replace("]", "")) if name}


def required(template: str) -> set[str]:
    first, *rest = template.split("[")
    return fields(first + "".join(part.partition("]")[2] for part in rest))


def made(tree: ast.AST) -> Iterator[tuple[ReasonCode, set[str]]]:
    """Yield the codes that are passed literally to `because`, with the names of their arguments."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id != "because":
            continue
        code = node.args[0]
        if isinstance(code, ast.Attribute) and isinstance(code.value, ast.Name) and code.value.id in NAMES:
            member = NAMES[code.value.id][code.attr]
            yield member, {keyword.arg or "**" for keyword in node.keywords}


def test_no_code_is_in_two_families() -> None:
    assert len(CODES) == sum(map(len, REASON_FAMILIES))


def test_every_code_has_its_sentence() -> None:
    assert set(SENTENCES) == set(chain.from_iterable(REASON_FAMILIES))


def test_every_code_is_used() -> None:
    texts = [path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py") if "report/reasons" not in str(path)]
    for code in CODES.values():
        used = sum(text.count(f"{type(code).__name__}.{code.name}") for text in texts)
        assert used, f"nothing gives the reason {code!r}"


def test_a_reason_is_given_with_the_arguments_that_its_sentence_names() -> None:
    count = 0
    for path in PACKAGE.rglob("*.py"):
        for code, names in made(ast.parse(path.read_text(encoding="utf-8"))):
            count += 1
            if code is BaselineReason.OTHER_HARDWARE and not names:
                continue  # the hardware is unknown if the list of choices was cut
            allowed = fields(SENTENCES[code])
            needed = required(SENTENCES[code]) - ({"dropped"} if "dropped" in allowed else set())
            assert names - {"**"} <= allowed, f"{path}: {code!r}"
            assert "**" in names or names >= needed, f"{path}: {code!r}"
    assert count > 50


@pytest.mark.parametrize(
    ("reason", "text", "markdown"),
    [
        pytest.param(
            because(VerdictReason.NOTHING_SEEN, effect=0.05),
            f"no change seen; one of 5% or more {WOULD_SUSPECT}",
            f"no change seen; one of 5% or more {WOULD_SUSPECT}",
            id="numbers",
        ),
        pytest.param(
            because(Untested.UNIT_CHANGED, before="@octocat", now="a`b"),
            "the unit changed from @octocat to a`b",
            "the unit changed from `@octocat` to ``a`b``",
            id="names",
        ),
        pytest.param(remark("see @octocat now"), "see @octocat now", "see `@octocat` now", id="text"),
        pytest.param(
            because(Remark.BROKEN_RULE, premise=("a is low", "b is low"), consequent="c", before=1.0, now=0.25),
            "when a is low and b is low, c: 100% before, 25% now",
            "when `a is low` and `b is low`, `c`: 100% before, 25% now",
            id="lists",
        ),
        pytest.param(because(Remark.CONFIRMED), *["confirmed by a second measurement"] * 2, id="without the optional"),
        pytest.param(
            because(Remark.CONFIRMED, change=float("inf")), *["confirmed by a second measurement"] * 2, id="no number"
        ),
        pytest.param(Reason(code=VerdictReason.EXCLUDED), "excluded", "excluded", id="without arguments"),
        pytest.param(
            Reason(code=VerdictReason.TOO_FEW_SAMPLES, arguments={"side": 3, "count": "x", "minimum": 0.5}),
            "too few samples",
            "too few samples",
            id="of wrong kinds",
        ),
    ],
)
def test_sentences(reason: Reason, text: str, markdown: str) -> None:
    assert sentence(reason) == text
    assert shown(worded(reason)) == markdown


@given(reasons())
def test_any_reason_that_a_file_may_hold_has_a_sentence(reason: Reason) -> None:
    assert sentence(reason).isprintable()
    assert isinstance(shown(worded(reason)), Safe)


def test_brackets_without_an_argument_stay() -> None:
    assert "pip install 'perf-culprit[languages]'" in sentence(because(Caveat.NO_GRAMMAR, count=2))


def test_no_decision_reads_prose() -> None:
    """Only modules that write sentences search or compare the sentences of a reason."""
    prose = {"reason", "notes", "reasons"}

    def reads(node: ast.AST) -> bool:
        parts = list(ast.walk(node))
        named = any(isinstance(part, ast.Name) and part.id in {"note", "notes"} for part in parts)
        return named or any(isinstance(part, ast.Attribute) and part.attr in prose for part in parts)

    for path in PACKAGE.rglob("*.py"):
        if path.is_relative_to(PACKAGE / "say"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Compare):
                literals = [part for part in (node.left, *node.comparators) if isinstance(part, ast.Constant)]
                texts = [part for part in literals if isinstance(part.value, str)]
                assert not (texts and reads(node)), f"{path}:{node.lineno} compares prose"
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                searches = node.func.attr in {"startswith", "endswith", "find", "search", "match", "fullmatch"}
                assert not (searches and reads(node)), f"{path}:{node.lineno} searches prose"
