"""Removal of a CI service's additions to each line of its log, so that only the benchmarks' output is left."""

import re
from typing import Final

from perf_culprit.read.results.source import LargeFile, Source

# GitHub's and GitLab's time stamps; in GitLab's the stream follows.
STAMP: Final = re.compile(
    r"\ufeff?[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(?:\.[0-9]{1,9})?Z(?:$| (?:[0-9A-F]{2}[OE][ +])?)"
)
# `gh run view --log` prefixes the job and the step.
COLUMNS: Final = re.compile(r"(?P<job>[^\t]{0,500})\t[^\t]{0,500}\t(?=\ufeff?[0-9]{4}-)")
# Only GitHub's stamps have seven digits after the point.
GITHUB_LINE: Final = re.compile(rf"(?:{COLUMNS.pattern})?\ufeff?[0-9]{{4}}-[0-9-]{{5}}T[0-9:]{{8}}\.[0-9]{{7}}Z(?: |$)")
# GitHub does not stamp what a tool prints after a lone carriage return.
STAMPED_SHARE: Final = 0.9
COLOUR: Final = re.compile(r"\x1b\[[0-9;?]{0,16}[A-Za-z]")
MARKS: Final = re.compile(
    r"##\[(?:group|endgroup|section|command|debug|notice|warning|error)\].{0,100000}"
    r"|section_(?:start|end):\S{1,200}.{0,1000}"
)


def plain_log(source: Source) -> Source:
    """Return the file without time stamps, colours and group lines. Raise an error if it holds several jobs' logs."""
    if isinstance(source, LargeFile):
        raise source.error("is too large for a log", "give the log of one job, or of one step")
    lines: list[str] = []
    jobs: dict[str, None] = {}
    for line in source.text().split("\n"):
        columns = COLUMNS.match(line)
        if columns is not None:
            jobs[columns["job"]] = None
        own = line if columns is None else line[columns.end() :]
        text = COLOUR.sub("", STAMP.sub("", own.rstrip("\r"), count=1))
        lines.append("" if MARKS.fullmatch(text) else text)
    if len(jobs) > 1:
        names = ", ".join(list(jobs)[:3])
        raise source.error(
            f"holds the logs of {len(jobs)} jobs ({names}), whose results are not samples of one run",
            "give the log of one: gh run view --log --job ID",
        )
    return Source(source.name, "\n".join(lines).encode(), source.is_on_disk)


def plain_github_log(source: Source) -> Source:
    """Return the file, without time stamps, colours and group lines if GitHub's stamps begin nearly all its lines."""
    text = source.head()
    if GITHUB_LINE.match(text.lstrip().partition("\n")[0].rstrip()) is None:
        return source
    lines = [line.rstrip("\r") for line in text.split("\n") if line.strip()]
    stamped = sum(GITHUB_LINE.match(line) is not None for line in lines)
    return plain_log(source) if stamped >= STAMPED_SHARE * len(lines) else source
