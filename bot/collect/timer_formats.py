"""Formats of timers with a result per line: those of shells, of Ruby and of JavaScript's console."""

import re
from dataclasses import replace
from typing import Final

from bot.collect.console import NUMBER
from bot.collect.lines import SECONDS, SPACE, VALUE_GROUP, LineFormat, Measured
from bot.model.metric import Direction, Metric

LOWER = Direction.LOWER_IS_BETTER

USER_SECONDS = Measured(metric=Metric(name="user_time", unit="s", direction=LOWER))
SYSTEM_SECONDS = Measured(metric=Metric(name="system_time", unit="s", direction=LOWER))
SHELL_TIMES = {"real": SECONDS, "user": USER_SECONDS, "sys": SYSTEM_SECONDS}
GNU_TIMES = {
    "User time (seconds)": USER_SECONDS,
    "System time (seconds)": SYSTEM_SECONDS,
    "Elapsed (wall clock) time (h:mm:ss or m:ss)": SECONDS,
    "Maximum resident set size (kbytes)": Measured(metric=Metric(name="peak_memory", unit="KiB", direction=LOWER)),
}


def _clock(text: str) -> float:
    """`1:02:03`, `0:00.11`, `0m0.098s` and `0.11` in seconds."""
    seconds = 0.0
    for part in re.split("[:m]", text.removesuffix("s")):
        seconds = 60 * seconds + float(part)
    return seconds


TIMER_FORMATS: Final = (
    LineFormat(
        ID="ruby_benchmark",
        DESCRIPTION="Ruby's Benchmark (bm, bmbm)",
        EXAMPLE="ruby bench.rb | tee bench.txt",
        mark=" user     system      total        real",
        row=re.compile(
            rf"(?P<name>.{{0,999}}?){SPACE}(?P<user>{NUMBER}){SPACE}(?P<system>{NUMBER}){SPACE}{NUMBER}"
            rf"{SPACE}\(\s{{0,9}}{VALUE_GROUP}\)\s{{0,9}}"
        ),
        measures=lambda _: (SECONDS, replace(USER_SECONDS, group="user"), replace(SYSTEM_SECONDS, group="system")),
        summary=None,
        # bmbm measures twice and means the second.
        warm_up=re.compile(r"(?P<begins>Rehearsal )-{1,9999}|-{1,9999} total: .{1,99}sec"),
    ),
    LineFormat(
        ID="console_time",
        DESCRIPTION="console.time of Node, Deno and browsers",
        EXAMPLE="node bench.js | tee bench.txt",
        mark=": ",
        row=re.compile(
            r"(?P<name>.{0,999}): (?P<value>(?:[0-9]{1,9}:){0,2}[0-9]{1,15}(?:\.[0-9]{1,20})?)"
            r" ?(?P<unit>ms|s|\((?:h:m)?m:ss\.mmm\))(?: - timer ended)?\s{0,9}"
        ),
        measures=lambda row: (replace(SECONDS, factor=1e-3 if row["unit"] == "ms" else 1.0),),
        number=_clock,
        summary=None,
    ),
    LineFormat(
        ID="gnu_time",
        DESCRIPTION="GNU time (-v)",
        EXAMPLE="/usr/bin/time -v -a -o times.txt COMMAND",
        mark="Command being timed:",
        title=re.compile(r'\s{0,9}Command being timed: "(?P<name>.{1,9999})"'),
        row=re.compile(
            rf"\s{{0,9}}(?P<label>{'|'.join(map(re.escape, GNU_TIMES))}): "
            r"(?P<value>[0-9]{1,15}(?::[0-9]{1,2}){0,2}(?:\.[0-9]{1,9})?)"
        ),
        measures=lambda row: (GNU_TIMES[row["label"]],),
        number=_clock,
    ),
    LineFormat(
        ID="shell_time",
        DESCRIPTION="time of bash, zsh and POSIX (-p)",
        EXAMPLE="for i in $(seq 10); do time COMMAND; done 2> times.txt",
        mark="real",
        row=re.compile(r"(?P<label>real|user|sys)\s{1,9}(?P<value>(?:[0-9]{1,9}m)?[0-9]{1,9}\.[0-9]{1,9}s?)"),
        measures=lambda row: (SHELL_TIMES[row["label"]],),
        number=_clock,
    ),
)
