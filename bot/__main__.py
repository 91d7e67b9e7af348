"""`python -m bot` and the `perf-culprit` command."""

import gc
import sys


def run() -> int:
    """One command per process: a comparison makes millions of objects that live to its end, so none are collected."""
    gc.disable()
    from bot.cli import main

    return main()


if __name__ == "__main__":
    sys.exit(run())
