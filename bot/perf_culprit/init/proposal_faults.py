"""Reasons why a proposal cannot run in another job, or would measure the wrong thing. Each one drops it."""

import re
from typing import Final

from perf_culprit.init.native_output import TIMER
from perf_culprit.init.repository import Suggestion

# Each row: a pattern in the command, a pattern that excuses it ("" if none does), and the reason to drop the proposal.
_COMMAND_FAULTS: Final = (
    (r"\./your-program", "", "it is not known what hyperfine is to run: give it to --run"),
    (
        r"-p[ =]?no:(benchmark|codspeed)\b|--benchmark-(disable|skip)\b|--bench[ =]?NONE",
        "",
        "`{}` switches off its results",
    ),
    (r"\bnon-?benchmark\b|\bnot benchmark\b", "", "it runs what is no benchmark (`{}`)"),
    (
        r"\$env:\w+|\b(Get|New|Set|Remove|Invoke|Select|Measure|Write|Out)-[A-Z]\w+|\$LASTEXITCODE|\$PSScriptRoot",
        r"\bpwsh\b",
        "it is written for PowerShell (`{}`), and Linux jobs run it in sh",
    ),
    (r"\basv (continuous|compare)\b|\bbenchstat\s+\S+\s+\S+|\bcritcmp\s+\S+\s+\S+", "", "it needs two commits (`{}`)"),
    (
        r"\bgit (checkout|switch|worktree|stash)\b|\borigin/(main|master|HEAD)\b",
        "",
        "it needs another commit (`{}`); we measure one at a time",
    ),
    (
        r"\$\{?GITHUB_(?!OUTPUT|ENV|PATH|STEP_SUMMARY|WORKSPACE|SHA|TOKEN)\w+",
        "",
        "only GitHub knows `{}`, which is empty here",
    ),
)
# A program that reads results and writes them in another form; an earlier step measures.
CONVERTER: Final = re.compile(
    r"[\w./-]*(convert|transform|(?<![a-z])pars(e|er|ing)(?![a-z])|to[-_]?json|2json|format[-_]?(results?|bench)|extract|aggregat"
    r"|collect[-_]?results?|render)[\w-]*\.(py|sh|m?js|ts|rb|pl)\b"
)
# A task that always writes one and the same file.
ONE_FILE: Final = re.compile(r"\bgradlew?\b[^\n]*\bjmh\b|-rff[= ]\S*\b[\w-]+\.json")

# What tells the files of two such tasks apart.
_RESULT_FILE: Final = re.compile(r":[\w:-]+:jmh\b|-rff[= ]\S+")


def fault_of(suggestion: Suggestion) -> str:
    """Return the reason to drop it; "" if none is seen."""
    if suggestion.fault:
        return suggestion.fault
    if suggestion.lacks:
        return f"only GitHub knows {', '.join(f'`{name}`' for name in suggestion.lacks[:3])}, which is empty here"
    text = f"{suggestion.run}\n{suggestion.place.rpartition(', step ')[2]}"
    for pattern, excuse, reason in _COMMAND_FAULTS:
        if (match := re.search(pattern, text)) and not (excuse and re.search(excuse, text)):
            return reason.format(match[0].strip())
    if TIMER in suggestion.run and (match := CONVERTER.search(suggestion.run)):
        return f"`{match[0]}` converts results; an earlier step measures"
    lines = [line for line in re.split(r"\n|&&", suggestion.run) if ONE_FILE.search(line)]
    files = {match[0] for match in map(_RESULT_FILE.search, lines) if match is not None}
    return f"its {len(lines)} executions overwrite one file" if len(lines) > 1 >= len(files) else ""
