import pytest

from tests.support.container.file_commands import parse_file_commands


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("a=1\n", {"a": "1"}),
        ("a=1\n\nb=2", {"a": "1", "b": "2"}),
        ("a=b=c\n", {"a": "b=c"}),
        ("a=x<<y\n", {"a": "x<<y"}),
        ("a<<END\none=1\n\ntwo\nEND\nb=2\n", {"a": "one=1\n\ntwo", "b": "2"}),
        ("a<<x=y\nvalue\nx=y\n", {"a": "value"}),
        ("a<<END\nEND\n", {"a": ""}),
        ("a=1\na=2\n", {"a": "2"}),
        # What a value with a line break does when it is written without a delimiter.
        ("a=ok\nevil=1\n", {"a": "ok", "evil": "1"}),
    ],
)
def test_reads_what_the_runner_reads(text: str, expected: dict[str, str]) -> None:
    assert parse_file_commands(text) == expected


@pytest.mark.parametrize("text", ["a\n", "=1\n", "a<<\n", "<<END\nx\nEND\n", "a<<END\nx\n"])
def test_refuses_what_the_runner_refuses(text: str) -> None:
    with pytest.raises(ValueError, match="invalid"):
        parse_file_commands(text)
