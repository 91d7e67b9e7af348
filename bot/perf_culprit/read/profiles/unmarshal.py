"""The few marshalled types that a cProfile file consists of, decoded by hand.

Python's own `marshal` is not made for strangers' bytes: it can crash the interpreter and take any memory. This decoder
knows numbers, text, tuples and dictionaries, refuses everything else, and needs memory in proportion to the file.
"""

import struct
from typing import Any, Final

MAX_DEPTH: Final = 5
MAX_TUPLE: Final = 16
MAX_DIGITS: Final = 8
_REFERABLE: Final = 0x80
_SHORT_TEXT: Final = frozenset(b"zZ")
_LONG_TEXT: Final = frozenset(b"aAut")


class UnmarshalError(Exception):
    """The bytes are not such data."""


def unmarshal(data: bytes) -> Any:
    """Numbers, text, None, tuples and dictionaries with tuples or text as keys. Raises: UnmarshalError."""
    try:
        return _Decoder(data).value(0)
    except (IndexError, struct.error, UnicodeDecodeError):
        raise UnmarshalError("ends too early") from None


class _Decoder:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._references: list[Any] = []

    def value(self, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise UnmarshalError("is nested too deeply")
        code = self._data[self._at]
        self._at += 1
        kind, place = code & ~_REFERABLE, None
        if code & _REFERABLE:
            place = len(self._references)
            self._references.append(None)
        value = self._of_kind(kind, depth)
        if place is not None:
            self._references[place] = value
        return value

    def _of_kind(self, kind: int, depth: int) -> Any:
        if kind in _SHORT_TEXT:
            return self._text(self._unpacked("<B"))
        if kind in _LONG_TEXT:
            return self._text(self._unpacked("<I"))
        match chr(kind):
            case "i":
                value = self._unpacked("<i")
            case "g":
                value = self._unpacked("<d")
            case "l":
                value = self._long()
            case ")" | "(":
                value = self._tuple(self._unpacked("<B" if kind == ord(")") else "<I"), depth)
            case "{":
                value = self._dictionary(depth)
            case "r":
                value = self._references[self._unpacked("<I")]
            case "N":
                value = None
            case other:
                raise UnmarshalError(f"holds a value of type {other!r}, which no profile has")
        return value

    def _unpacked(self, form: str) -> Any:
        (value,) = struct.unpack_from(form, self._data, self._at)
        self._at += struct.calcsize(form)
        return value

    def _text(self, size: int) -> str:
        data = self._data[self._at : self._at + size]
        if len(data) < size:
            raise IndexError
        self._at += size
        return data.decode("utf-8", "surrogatepass")

    def _long(self) -> int:
        size: int = self._unpacked("<i")
        if abs(size) > MAX_DIGITS:
            raise UnmarshalError("holds a number of too many digits")
        digits: list[int] = [self._unpacked("<H") for _ in range(abs(size))]
        number = sum(digit << 15 * place for place, digit in enumerate(digits))
        return -number if size < 0 else number

    def _tuple(self, size: int, depth: int) -> tuple[Any, ...]:
        if size > MAX_TUPLE:
            raise UnmarshalError("holds a tuple of too many values")
        return tuple(self.value(depth + 1) for _ in range(size))

    def _dictionary(self, depth: int) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        while self._data[self._at] != ord("0"):
            key = self.value(depth + 1)
            parts = key if isinstance(key, tuple) else (key,)
            if not all(isinstance(part, int | float | str | None) for part in parts):
                raise UnmarshalError("holds a key that is none of a profile")
            result[key] = self.value(depth + 1)
        self._at += 1
        return result
