"""A stand-in for valgrind: no real one repeats a small repository's levels, and none need be installed."""

from pathlib import Path
from typing import Final

COUNTING: Final = """#!/bin/sh
for option in "$@"; do case "$option" in --log-file=*) log="${option#--log-file=}";; esac; done
case "$option" in *refuse*) exit 132;; *flat*) value=7;; *) read -r value < value;; esac
echo "==1== I   refs:      $value,000" > "${log%/*}/1.log"
"""


def counting_valgrind(folder: Path) -> Path:
    """The folder, with a `valgrind` that counts a thousand times what the commit's file `value` holds."""
    folder.mkdir()
    (folder / "valgrind").write_text(COUNTING)
    (folder / "valgrind").chmod(0o755)
    return folder
