"""GITHUB_OUTPUT and its siblings, read by the rules of the runner's FileCommandManager."""

from collections.abc import Iterator


def parse_file_commands(text: str) -> dict[str, str]:
    """`NAME=VALUE` or `NAME<<DELIMITER`, lines, `DELIMITER`; whichever sign stands first in the line decides."""
    pairs: dict[str, str] = {}
    lines = iter(text.removesuffix("\n").split("\n"))
    for line in lines:
        if not line:
            continue
        equals, heredoc = line.find("="), line.find("<<")
        if equals >= 0 and (heredoc < 0 or equals < heredoc):
            name, _, value = line.partition("=")
        elif heredoc >= 0:
            name, _, delimiter = line.partition("<<")
            if not delimiter:
                raise ValueError(f"invalid format {line!r}: the delimiter must not be empty")
            value = "\n".join(_until(delimiter, lines=lines))
        else:
            raise ValueError(f"invalid format {line!r}")
        if not name:
            raise ValueError(f"invalid format {line!r}: the name must not be empty")
        pairs[name] = value
    return pairs


def _until(delimiter: str, *, lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        if line == delimiter:
            return
        yield line
    raise ValueError(f"invalid value: matching delimiter not found {delimiter!r}")
