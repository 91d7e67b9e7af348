"""What the comment says of a diagnosis of one revision: what costs most, and who runs it."""

from collections.abc import Iterator
from typing import Final

from bot.model.call_tree import ImpactedService, MethodCosts, MethodSuspect
from bot.model.report import Report
from bot.report.amounts import amount_markdown
from bot.report.inert import Safe, code, join, own, row
from bot.report.numbers import percent, quantities
from bot.report.view import Fold, Part
from bot.report.words import counted

ROWS: Final = 20
SERVICES: Final = 3
_HEADER: Final = ("method", "own time", "executions", "score", "test again when it changes (own time there)")
_RULE: Final = "|:--|--:|--:|--:|:--|"


def costs_folds(report: Report) -> Iterator[Fold]:
    if report.costs is None:
        return
    costs = report.costs
    title = Safe("Of this revision alone: what costs most, not what got slower.")
    part = Part(
        title=title,
        header=(row([Safe(name) for name in _HEADER]), Safe(_RULE)),
        rows=tuple(_row(suspect, costs.unit) for suspect in _shown(costs)[:ROWS]),
        total=costs.methods,
    )
    where = f"{counted(costs.methods, 'method')} in {counted(costs.services, 'service')}"
    yield Fold(summary=Safe(f"Where the time goes: {where}"), parts=(part,))


def _shown(costs: MethodCosts) -> list[MethodSuspect]:
    large = [suspect for suspect in costs.suspects if not suspect.tiny]
    return large or list(costs.suspects)


def _row(suspect: MethodSuspect, unit: str) -> Safe:
    (amount,) = quantities((suspect.self_ms,), unit)
    cells = [f"{suspect.calls:,}", f"{suspect.score:.2f}"]
    services = [_service(one) for one in suspect.services[:SERVICES]]
    more = len(suspect.services) - len(services)
    if more > 0:
        services.append(Safe(f"{more:,} more"))
    return row([code(suspect.method), amount_markdown(amount), *map(Safe, cells), join(", ", services)])


def _service(one: ImpactedService) -> Safe:
    return own("{} {}", code(one.service, limit=40), Safe(percent(one.self_share)))
