"""Limit what is written as text: comments, checks, messages and the names in them.

GitHub refuses or drops what is longer than it accepts. Our own limits keep a hostile name from filling a page.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True)
class TextLimits:
    """The limits; counts are named by what is counted."""

    # What GitHub accepts.
    body_characters: int = 65_536  # of an issue, a comment or a pull request
    check_text_characters: int = 65_535
    check_title_characters: int = 255
    summary_bytes: int = 1 << 20  # above this size the runner drops the whole summary of the step
    # What we write to it.
    issue_title_characters: int = 200
    check_name_characters: int = 80
    id_characters: int = 40
    answer_characters: int = 200  # of GitHub's answer, in a message
    output_characters: int = 400  # of a command, in a message
    output_lines: int = 4
    # A diagnosis: the most entries that an answer shows and the history branch keeps.
    diagnosed_functions: int = 20
    diagnosed_services: int = 10
    diagnosed_suspects: int = 10
    diagnosed_names: int = 30
    # Names and examples in messages on files.
    quoted_characters: int = 120
    key_characters: int = 60
    names: int = 5
    counter_names: int = 3
    column_names: int = 20
    metric_names: int = 100
    event_names: int = 10
    rounded_names: int = 3
    passed_over: int = 5
    log_examples: int = 8
    profile_examples: int = 3


TEXT_LIMITS: Final = TextLimits()
