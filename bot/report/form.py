"""One answer, two forms: what a terminal and a comment write differently."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bot.model.finding import Verdict
from bot.model.reason import Reason
from bot.report.inert import Safe


@dataclass(frozen=True, kw_only=True, slots=True)
class Form:
    """How the parts of an answer become text. Every function takes foreign text, but `shade` a line of ours."""

    name: Callable[..., Safe]
    prose: Callable[[str], Safe]
    commit: Callable[[str], Safe]
    heading: str
    quoted: str
    table: Callable[[Sequence[str], Sequence[Sequence[Safe]]], Safe]
    reason: Callable[[Reason], Safe]
    figure: str
    item: str
    folds: bool
    shade: Callable[[str, Verdict], Safe] = lambda text, _: Safe(text)
