"""The action's outputs: a file of assignments that the runner reads."""

import os
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bot.errors import InfrastructureError

NAME = re.compile(r"[a-z][a-z0-9-]{0,99}")


def write_outputs(values: Mapping[str, str], *, path: Path) -> None:
    """Appends to the file at GITHUB_OUTPUT.

    A plain `name=value` would let a value with a line end set further outputs. The random delimiter cannot be guessed
    by whoever wrote the value.
    """
    lines = "".join(assignment(name, value) for name, value in values.items())
    with (
        writing("the action's outputs", path=path, variable="GITHUB_OUTPUT"),
        path.open("a", encoding="utf-8", errors="replace", newline="\n") as file,
    ):
        file.write(lines)


@contextmanager
def writing(what: str, *, path: Path, variable: str) -> Iterator[None]:
    """Into a file that the runner named in the environment's `variable`."""
    try:
        yield
    except OSError as error:
        raise InfrastructureError(
            f"cannot write {what}: {os.strerror(error.errno or 0)}",
            place=str(path),
            next_step=f"check that {variable} names a writable file",
        ) from None


def assignment(name: str, value: str) -> str:
    if NAME.fullmatch(name) is None:
        raise ValueError(f"not an output's name: {name!r}")
    delimiter = f"end-{secrets.token_hex(16)}"
    return f"{name}<<{delimiter}\n{value}\n{delimiter}\n"
