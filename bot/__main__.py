"""`python -m bot` and the `perf-culprit` command."""

import sys

from bot.cli import main

if __name__ == "__main__":
    sys.exit(main())
