"""The demo project's own programs, each in a process of its own."""

import subprocess
import sys
from pathlib import Path
from typing import Final

from bot.errors import InfrastructureError

TIMEOUT_SECONDS: Final = 60.0


def run_program(tree: Path, name: str, output: Path, *arguments: str) -> Path:
    """`python NAME OUTPUT ARGUMENT...` in a checkout; what it wrote."""
    command = [sys.executable, name, str(output.resolve()), *arguments]
    try:
        done = subprocess.run(command, cwd=tree, check=False, capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        raise InfrastructureError(
            f"the demo's {name} took longer than {TIMEOUT_SECONDS:.0f} s",
            place=str(tree),
            next_step="run the demo again when the machine is less busy",
        ) from None
    if done.returncode != 0:
        raise InfrastructureError(
            f"the demo's {name} ended with {done.returncode}: {done.stderr.strip()[-300:]}",
            place=str(tree),
            next_step="report this as a bug",
        )
    return output
