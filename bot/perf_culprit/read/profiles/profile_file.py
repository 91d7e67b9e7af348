"""One file of a profile or trace: its beginning for detection, then its bytes or lines within size limits."""

import codecs
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Final

from perf_culprit.errors import DataError
from perf_culprit.model.call_tree import Profile, RecordFault, UnusedRecord
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.reason import Reason
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.read.format_reader import Reader
from perf_culprit.read.logs.log_chunks import STDIN_NAME, Readable, unpacked


@dataclass(kw_only=True, slots=True)
class Intake:
    """The statistics of reading several files. At most TEXT_LIMITS.profile_examples examples per fault are kept."""

    records: int = 0
    unused: Counter[RecordFault] = field(default_factory=Counter)
    examples: list[UnusedRecord] = field(default_factory=list)
    notes: dict[Reason, None] = field(default_factory=dict)
    truncated_files: dict[str, None] = field(default_factory=dict)

    def reject(self, fault: RecordFault, text: object, *, place: str) -> None:
        """Count a fault. `text` is foreign (a name, a line, a part of a record): sanitize it before it is shown."""
        self.unused[fault] += 1
        if self.unused[fault] <= TEXT_LIMITS.profile_examples:
            if isinstance(text, bytes | bytearray | memoryview):
                text = bytes(text[: FILE_LIMITS.message_characters]).decode("utf-8", "replace")
            start = str(text)[: FILE_LIMITS.message_characters].encode("utf-8", "replace").decode()
            self.examples.append(UnusedRecord(fault=fault, place=place, text=start))

    def note(self, note: Reason) -> None:
        self.notes[note] = None

    def truncated(self, name: str) -> None:
        self.truncated_files[name] = None


HEAD_BYTES: Final = 1 << 16
CHUNK_BYTES: Final = 1 << 20
_UTF16_BOMS: Final = (b"\xff\xfe", b"\xfe\xff")


@contextmanager
def opened(name: str, *, intake: Intake, trusted: bool = False) -> Iterator["ProfileFile"]:
    with ExitStack() as stack:
        try:
            stream = stack.enter_context(unpacked(name, truncated=intake.truncated))
            head = b""
            while len(head) < HEAD_BYTES and (piece := stream.read(HEAD_BYTES)):
                head += piece
        except (OSError, ValueError) as error:
            raise _unreadable(name, error) from None
        yield ProfileFile(name=name, intake=intake, trusted=trusted, head=head, stream=stream)


@dataclass(kw_only=True, slots=True)
class ProfileFile:
    """A file that is open for one pass. `trusted`: the user declared that its source is trusted."""

    name: str
    intake: Intake
    trusted: bool
    head: bytes
    stream: Readable

    @property
    def place(self) -> str:
        return printable("standard input" if self.name == STDIN_NAME else self.name)

    @property
    def beginning(self) -> str:
        """The decoded head, without a byte order mark or leading spaces."""
        return self._decoder().decode(self.head).lstrip("\ufeff \t\r\n")

    def begins(self, opening: str, *words: str) -> bool:
        """Return whether the content begins with `opening` and its beginning contains all the words."""
        text = self.beginning
        return text.startswith(opening) and all(word in text for word in words)

    def reject(self, fault: RecordFault, text: object, *, at: str = "") -> None:
        """Call `Intake.reject`; `at` is the place in the file: `:12`, `: sample 3`."""
        self.intake.reject(fault, text, place=self.place + at)

    def chunks(self, *, most: int = FILE_LIMITS.streamed_profile_bytes) -> Iterator[bytes]:
        """Yield all bytes from the first on. UTF-16, which some shells write, becomes UTF-8."""
        if not self.head.startswith(_UTF16_BOMS):
            yield from self._bytes(most=most)
            return
        decoder = self._decoder()
        for chunk in self._bytes(most=most):
            yield decoder.decode(chunk).encode("utf-8", "replace")

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield lines with their numbers, without line ends. Lines that are too long are counted and left out."""
        rest = ""
        number = 0
        skipping = False
        decoder = self._decoder()
        for chunk in self._bytes():
            *whole, rest = (rest + decoder.decode(chunk)).split("\n")
            for line in whole:
                number += 1
                if skipping:
                    skipping = False
                elif len(line) > FILE_LIMITS.line_characters:
                    self._too_long(number, line)
                else:
                    yield number, line.removesuffix("\r")
            if len(rest) > FILE_LIMITS.line_characters:
                if not skipping:
                    self._too_long(number + 1, rest)
                skipping, rest = True, ""
        rest += decoder.decode(b"", final=True)
        if rest and not skipping:
            yield number + 1, rest.removesuffix("\r")

    def content(self) -> bytes:
        """Return all bytes; raise DataError if the file is too large."""
        return b"".join(self.chunks(most=FILE_LIMITS.profile_bytes))

    def _bytes(self, *, most: int = FILE_LIMITS.streamed_profile_bytes) -> Iterator[bytes]:
        yield self.head
        size = len(self.head)
        try:
            while chunk := self.stream.read(CHUNK_BYTES):
                size += len(chunk)
                if size > most:
                    step = "record a shorter time, or less often"
                    raise DataError(f"is larger than {most:,} bytes unpacked", place=self.place, next_step=step)
                yield chunk
        except OSError as error:
            raise _unreadable(self.name, error) from None

    def _decoder(self) -> codecs.IncrementalDecoder:
        encoding = "utf-16" if self.head.startswith(_UTF16_BOMS) else "utf-8-sig"
        return codecs.getincrementaldecoder(encoding)(errors="replace")

    def _too_long(self, number: int, line: str) -> None:
        self.intake.records += 1
        self.reject(RecordFault.TOO_LONG, line, at=f":{number}")


def _unreadable(name: str, error: OSError | ValueError) -> DataError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return DataError(f"cannot be read: {reason}", place=printable(name), next_step="give profiles that exist")


def printable(text: str) -> str:
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ProfileReader(Reader[ProfileFile, tuple[Profile, ...]]):
    """A format of profiles or traces. `matches` reads only the beginning.

    `read` returns one profile per service, with one repetition unless the format holds more. It reports unusable
    records to the file, and raises DataError only if the rest is unusable too.
    """
