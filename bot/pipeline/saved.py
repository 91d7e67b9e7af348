"""What is there already: a report in a file, the suites of a history and what their newest run measured."""

from pathlib import Path
from typing import Final

from bot.codec.report import decode_report
from bot.codec.run import encode_run
from bot.collect import read_file
from bot.config import Config
from bot.errors import UsageError, did_you_mean
from bot.history.opening import open_history, suite_names
from bot.history.protocol import StoredRun
from bot.model.report import Report
from bot.pipeline.render import report_json

# 50,000 metrics against one run are 107 MB; an undecided one also lists a value of each stored run.
MOST_REPORT_BYTES: Final = 512 << 20


def read_report(path: Path) -> Report:
    return decode_report(read_file(path, max_bytes=MOST_REPORT_BYTES).data, place=str(path))


def saved_report(path: Path) -> bytes:
    """The report of a file, checked, with its reasons in this version's words."""
    return report_json(read_report(path))


def stored_benchmarks(repository: Path, *, config: Config, suite: str | None) -> tuple[tuple[str, ...], bytes | None]:
    """The stored suites, and the newest run of one of them (default: the configuration's), as its file holds it."""
    with open_history(config.history, repository) as history:
        suites = suite_names(history)
        chosen = suite or config.suite or "default"
        newest = [entry for entry in history.newest_runs(chosen, 1) if isinstance(entry, StoredRun)]
    if suite is not None and not newest:
        raise UsageError(
            f"no stored run of the suite {suite!r}",
            place=history.place,
            next_step=did_you_mean(suite, suites, otherwise=f"stored are: {', '.join(suites) or 'none'}"),
        )
    return suites, encode_run(newest[0].run) if newest else None
