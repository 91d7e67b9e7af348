"""What a dashboard asks of a history beside its runs: the suites by their own names, and all bisections."""

from bot.codec.bisect_stored import decode_stored
from bot.codec.run import decode_run
from bot.errors import DataError
from bot.history.layout import BISECTION_PATH, RUN_PATH
from bot.history.protocol import Store
from bot.model.dispatch import Bisection


def suite_names(history: Store) -> tuple[str, ...]:
    """A folder's name may stand for another: a run of each suite says its own."""
    newest = {match["suite"]: path for path in sorted(history.paths()) if (match := RUN_PATH.fullmatch(path))}
    names = set()
    for path, content in zip(newest.values(), history.contents(list(newest.values())), strict=True):
        try:
            names.add(decode_run(content, place=path).suite)
        except DataError:
            continue
    return tuple(sorted(names))


def stored_bisections(history: Store) -> tuple[Bisection, ...]:
    """Those that can be read."""
    paths = [path for path in history.paths() if BISECTION_PATH.fullmatch(path)]
    bisections = []
    for path, content in zip(paths, history.contents(paths), strict=True):
        try:
            bisections.append(decode_stored(content, place=path))
        except DataError:
            continue
    return tuple(bisections)
