"""Protobuf's wire format, as far as our readers need it: a message is a sequence of numbered fields.

protobuf.dev/programming-guides/encoding. The general library needs the messages' generated code, and is large.
"""

from collections.abc import Iterator


class WireError(ValueError):
    """Bytes that are no protobuf."""


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Field numbers with their varints, fixed numbers (unsigned) or bytes."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = _varint(data, at)
            yield key >> 3, value
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            yield key >> 3, int.from_bytes(data[at : at + size], "little")
            at += size
        elif kind == 2:
            size, at = _varint(data, at)
            if at + size > len(data):
                raise WireError("it ends too early")
            yield key >> 3, data[at : at + size]
            at += size
        else:
            raise WireError(f"a field of the unknown kind {kind}")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
        shift += 7
    raise WireError("a number ends too early")


def numbers(data: bytes) -> dict[int, int]:
    return {number: value for number, value in fields(data) if isinstance(value, int)}


def packed(data: bytes) -> list[int]:
    values = []
    at = 0
    while at < len(data):
        value, at = _varint(data, at)
        values.append(value)
    return values
