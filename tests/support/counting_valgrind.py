"""A stand-in for valgrind: it repeats a small repository's levels exactly, and needs no installation."""

from pathlib import Path
from typing import Final

COUNTING: Final = """#!/bin/sh
for option in "$@"; do case "$option" in --log-file=*) log="${option#--log-file=}";; esac; done
case "$option" in *refuse*) exit 132;; *flat*) value=7;; *) read -r value < value;; esac
echo "==1== I   refs:      $value,000" > "${log%/*}/1.log"
"""


def counting_valgrind(folder: Path) -> Path:
    """Write into the folder a `valgrind` that counts a thousand times the number in the commit's file `value`."""
    folder.mkdir()
    (folder / "valgrind").write_text(COUNTING)
    (folder / "valgrind").chmod(0o755)
    return folder
