"""`go test -json -bench .`: the events hold what `go test -bench` prints, in pieces and packages in turns."""

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

from perf_culprit.read.results import go_text
from perf_culprit.read.results.parser import Parsed
from perf_culprit.read.results.source import Source

ID = "go_json"
DESCRIPTION = "go test -json -bench events"
EXAMPLE = "go test -json -bench . -count 10 > bench.jsonl"

MATCHED_LINES = 5


def matches(source: Source, /) -> bool:
    text = source.text_or_empty()
    likely = (line for line in text.splitlines() if '"Action"' in line) if '"Action"' in text else iter(())
    return any(_event(line) is not None for line in islice(likely, MATCHED_LINES))


def parse(source: Source, /) -> Parsed:
    """What `go_text` makes of the printed text, each package's by itself."""
    printed: dict[str, list[str]] = {}
    for event in _events(source):
        if event["Action"] == "output" and isinstance(event.get("Output"), str):
            printed.setdefault(str(event.get("Package")), []).append(event["Output"])
    text = "\n".join("".join(outputs) for outputs in printed.values())
    # The tool may spell half characters, which are no text.
    return go_text.parse(Source(source.name, text.encode("utf-8", errors="replace")))


def _events(source: Source) -> Iterator[dict[str, Any]]:
    lines = [line for line in source.text().splitlines() if line.strip()]
    for number, line in enumerate(lines, start=1):
        if (event := _event(line)) is not None:
            yield event
        elif line.lstrip().startswith("{") and number < len(lines):
            # Other lines are what the build printed; a last one may be cut off.
            raise source.error(
                "is no event of go test -json", "check that only go test writes to this file", line=number
            )


def _event(line: str) -> dict[str, Any] | None:
    if '"Action"' not in line:
        return None
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    # Builds are events too, of an import path instead of a package.
    is_event = isinstance(event, dict) and isinstance(event.get("Action"), str)
    return event if is_event and event.keys() & {"Package", "ImportPath"} else None
