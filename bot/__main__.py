"""`python -m bot` and the `perf-culprit` command."""

import gc
import sys


def run() -> int:
    """One verb per process. A comparison makes millions of objects that live to its end: collecting them is in vain."""
    gc.disable()
    from bot.cli import main

    return main()


if __name__ == "__main__":
    sys.exit(run())
