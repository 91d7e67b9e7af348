"""sysstat's `sadf -p`: a line per value, `host interval time device counter value`, between tabs."""

from bot.collect.counters.clock import LOCAL_NOTE, Clock
from bot.collect.counters.reader import counter, number_or_none
from bot.collect.counters.table import Readings
from bot.collect.parser import Parsed, components
from bot.collect.source import Source
from bot.errors import DataError

ID = "sadf_lines"
DESCRIPTION = "sysstat, a line per value (sadf -p)"
EXAMPLE = "sadf -p -- -A > counters.txt"

CELLS = 6
RESTART = "LINUX-RESTART"


def matches(source: Source, /) -> bool:
    cells = source.head().partition("\n")[0].split("\t")
    return len(cells) == CELLS and cells[1].removeprefix("-").isdecimal() and number_or_none(cells[5]) is not None


def parse(source: Source, /) -> Parsed:
    readings, clock, host = Readings(source.place), Clock(), ""
    for number, line in enumerate(source.lines(), start=1):
        cells = line.rstrip("\r\n").split("\t")
        if not line.strip() or RESTART in line:
            continue
        value = number_or_none(cells[-1])
        if len(cells) != CELLS or value is None:
            raise _broken(source, number)
        host, _, time, device, name, _ = cells
        try:
            time_s = clock(time)
        except (ValueError, OverflowError):
            raise _broken(source, number) from None
        whole = name if device in ("-", "all") else f"{device}: {name}"
        readings.add(time_s, counter(whole, "%" * name.startswith("%")), value)
    table, notes = readings.build("sadf")
    more = (f"{source.place}: {LOCAL_NOTE}",) if clock.is_local else ()
    return Parsed(counters=(table,), environment=components(host=host), notes=(*notes, *more))


def _broken(source: Source, number: int) -> DataError:
    return source.error("is no value of sadf", "check this line", line=number)
