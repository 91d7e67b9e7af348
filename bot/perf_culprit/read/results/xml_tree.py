"""XML of a stranger: bounded, without document types and entities, and numbers with their place."""

from typing import TYPE_CHECKING

from perf_culprit.errors import DataError
from perf_culprit.read.results.source import Source

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


HEAD_CHARACTERS = 4096
MAX_NUMBER_CHARACTERS = 100
# Of `<` and `&`: what takes a parser's time and memory. A megabyte of real results has some twenty thousand.
MAX_MARKS = 1_000_000


def has_root(source: Source, roots: tuple[str, ...]) -> bool:
    """Whether one of `roots`, such as "<Catch2TestRun", is near the beginning: cheap, never raises."""
    head = source.text_or_empty()[:HEAD_CHARACTERS]
    return head.lstrip().startswith("<") and any(root in head for root in roots)


def parse_xml(source: Source, *, next_step: str) -> "Element":
    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import ParseError, fromstring

    text = source.text()
    if text.count("<") + text.count("&") > MAX_MARKS:
        raise source.error(f"holds more than {MAX_MARKS:,} tags", "write the benchmarks alone to a file")
    try:
        # No tool writes a document type; with none allowed there are no entities to expand.
        root: Element = fromstring(text, forbid_dtd=True)
    except ParseError as error:
        line, column = error.position
        raise DataError(
            "is not well-formed XML (cut off?)", place=f"{source.place}:{line}:{column + 1}", next_step=next_step
        ) from None
    except DefusedXmlException:
        raise source.error("declares a document type or entities, which the tool never does", next_step) from None
    return root


def number(element: "Element", attribute: str, *, place: str, next_step: str) -> float | None:
    """The attribute's value; None where there is none."""
    if (text := element.get(attribute)) is None:
        return None
    try:
        return float(text[:MAX_NUMBER_CHARACTERS])
    except ValueError:
        raise DataError(f"`{attribute}` of `{element.tag}` is no number", place=place, next_step=next_step) from None
