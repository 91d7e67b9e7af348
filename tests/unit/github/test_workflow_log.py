import io
import re

import pytest

from perf_culprit.github.runner_files import LogLevel, group, message_command, neutral

# The runner's command syntax: `::` at the start of a line after optional spaces, `##[` anywhere.
COMMAND = re.compile(r"^\s*::|##\[", re.MULTILINE)

NASTY = [
    "::set-env name=X::1",
    "  ::error::x",
    "a\n::add-mask::b",
    "a\r::add-mask::b",
    "a\r\n\t::stop-commands::x",
    "text ##[set-env name=X]1",
    "##[[error]",
    ":::::warning::",
]


@pytest.mark.parametrize("text", NASTY)
def test_neutral_text_is_no_command(text: str) -> None:
    # The runner ends lines at \r too.
    assert COMMAND.search(text.replace("\r", "\n"))
    assert COMMAND.search(neutral(text).replace("\r", "\n")) is None
    assert "::" not in neutral(text)


@pytest.mark.parametrize("text", ["", "plain", "a:b ## [x]", "größer 🔴\n"])
def test_harmless_text_stays(text: str) -> None:
    assert neutral(text) == text


def test_a_group_is_closed_after_an_error() -> None:
    stream = io.StringIO()

    def fail() -> None:
        with group(stream, "measure\n::error::x 100%"):
            raise KeyError("x")

    with pytest.raises(KeyError):
        fail()
    assert stream.getvalue() == "::group::measure%0A::error::x 100%25\n::endgroup::\n"


def test_a_message_is_one_command() -> None:
    command = message_command(LogLevel.WARNING, "100%\nof ##[x]", title="a,b: c\r\n::error::d")
    assert command == ("::warning title=a%2Cb%3A c%0D%0A%3A%3Aerror%3A%3Ad::100%25%0Aof #\u200b#[x]")
