"""Counts what readers take in and what they cannot use, with examples."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from bot.model.profile import RecordFault, UnusedRecord
from bot.model.reason import Reason

MAX_EXAMPLES: Final = 3
MAX_TEXT_CHARACTERS: Final = 200


@dataclass(kw_only=True, slots=True)
class Intake:
    """Of one run over several files. At most MAX_EXAMPLES examples per fault are kept."""

    records: int = 0
    unused: Counter[RecordFault] = field(default_factory=Counter)
    examples: list[UnusedRecord] = field(default_factory=list)
    notes: dict[Reason, None] = field(default_factory=dict)
    truncated_files: dict[str, None] = field(default_factory=dict)

    def reject(self, fault: RecordFault, text: object, *, place: str) -> None:
        """`text` is foreign: a name, a line, a part of a record. What shows it has to clean it."""
        self.unused[fault] += 1
        if self.unused[fault] <= MAX_EXAMPLES:
            if isinstance(text, bytes | bytearray | memoryview):
                text = bytes(text[:MAX_TEXT_CHARACTERS]).decode("utf-8", "replace")
            shown = str(text)[:MAX_TEXT_CHARACTERS].encode("utf-8", "replace").decode()
            self.examples.append(UnusedRecord(fault=fault, place=place, text=shown))

    def note(self, note: Reason) -> None:
        self.notes[note] = None

    def truncated(self, name: str) -> None:
        self.truncated_files[name] = None
