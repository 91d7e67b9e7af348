"""The command line in this process: the user's commands, without a new Python process for each."""

import contextlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from perf_culprit.cli.entry import main
from perf_culprit.errors import EXIT_FINE, EXIT_REGRESSION
from perf_culprit.flows.render import report_json
from perf_culprit.model.report import Report

CHANGES: Final = ("regression", "improvement")


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """The metrics in reports of `runs`: `judged` have an answer, `called` are unchanged but called a change.

    `alarmed` runs have a `called` metric. `is_hit`: the planted one is called a regression.
    """

    metrics: int
    judged: int
    called: int
    is_hit: bool = False
    runs: int = 1
    alarmed: int = 0


def perf_culprit(*arguments: str) -> str:
    """Run a command and return its output. A failure of the command is an error here; a regression is an answer."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = main(list(arguments))
    if code not in {EXIT_FINE, EXIT_REGRESSION}:
        raise RuntimeError(f"perf-culprit {' '.join(arguments)}: exit code {code}\n{printed.getvalue()}")
    return printed.getvalue()


def compare(*arguments: str, out: Path, planted: str | None = None, ignored: str | None = None) -> Outcome:
    perf_culprit("compare", *arguments, "--json", str(out))
    return outcome(json.loads(out.read_bytes()), planted=planted, ignored=ignored)


def outcome_of(report: Report, *, planted: str | None = None) -> Outcome:
    return outcome(json.loads(report_json(report)), planted=planted)


def outcome(report: Mapping[str, Any], *, planted: str | None = None, ignored: str | None = None) -> Outcome:
    """Summarize `report.json`; `planted` is the benchmark or counter that truly changed. New metrics have no answer."""
    findings: Sequence[Mapping[str, Any]] = [entry for entry in report["findings"] if entry["benchmark"] != ignored]
    changed = [entry for entry in findings if planted in {entry["benchmark"], entry["metric"]}]
    called = sum(entry["verdict"] in CHANGES and entry not in changed for entry in findings)
    return Outcome(
        metrics=len(findings) + len(report["new"]),
        judged=sum(entry["p_value"] is not None or entry["score"] is not None for entry in findings),
        called=called,
        is_hit=any(entry["verdict"] == "regression" for entry in changed),
        alarmed=int(called > 0),
    )
