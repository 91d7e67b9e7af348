"""The current activity: each stage reports it, and whoever started the stage may listen.

Nothing depends on it. The command line shows it for commands that take long.
"""

from collections.abc import Callable

Say = Callable[[str], None]  # receives messages about the progress

_listeners: list[Callable[[str], None]] = []


def doing(words: str) -> None:
    """Report our own words, or foreign ones that are safe to show, such as a source's `place`."""
    for listener in _listeners:
        listener(words)


def listen(listener: Callable[[str], None]) -> Callable[[], None]:
    """Call `listener` with every activity from now on. Call the result to stop."""
    _listeners.append(listener)
    return lambda: _listeners.remove(listener)
