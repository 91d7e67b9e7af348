"""What is being done right now: the stages say it, and who started them may listen.

Nothing is decided by it. The command line shows it where a command takes long.
"""

from collections.abc import Callable

_listeners: list[Callable[[str], None]] = []


def doing(words: str) -> None:
    """Our own words, or foreign ones that are safe to show, such as a source's `place`."""
    for listener in _listeners:
        listener(words)


def listen(listener: Callable[[str], None]) -> Callable[[], None]:
    """From now on `listener` hears what is done; call the result to end that."""
    _listeners.append(listener)
    return lambda: _listeners.remove(listener)
