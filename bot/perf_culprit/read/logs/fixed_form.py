"""Vectorized matching of a regular expression that never has to backtrack, on many lines at once.

A regular expression tries the paths through a line in a fixed order, and the first that fits is its match. If it
consists of literals, byte sets and their repeats, thousands of lines follow the first path at once, byte by byte.
Lines that do not fit from their beginning are left to the regular expression.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import takewhile
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from perf_culprit.arrays import Booleans, Integers
from perf_culprit.model.file_limits import FILE_LIMITS

Bytes: TypeAlias = NDArray[np.uint8]
_LINE_FEED: Final = 10
_TEXT: Final = range(ord("0"), ord("z") + 1)
_TOP: Final = 127
_EACH: Final = np.uint64(0x0101010101010101)
_ONE: Final = np.uint64(1)
_SEVEN: Final = np.uint64(7)
_TOKEN: Final = re.compile(
    rb"(?P<open>\((?:\?:|\?P<(?P<name>\w+)>)?)|(?P<close>\)(?:\?\+?)?)|(?P<mark>\$|\\b)"
    rb"|(?P<set>\[\^?\]?(?:\\.|[^\]\\])*+\]|\\[SsDdWwtrfv]|\\[^a-zA-Z0-9]|[^\\^$*+?{}\[\]|()])"
    rb"(?P<repeat>[*+?]?)(?P<keep>[+?]?)"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Step:
    r"""`kind`: `(`, `)` around a group, `?:` for an optional part, `$`, `\b`; else a set's repeat: none, `?`, `*`, `+`.

    `keep`: `+` for a possessive repeat, `?` for a lazy one.
    """

    kind: str
    name: str = ""
    members: frozenset[int] = frozenset()
    part: "tuple[_Step, ...]" = ()
    keep: str = ""

    @property
    def inside(self) -> Booleans:
        return _table(self.members)

    @property
    def text(self) -> tuple[int, int] | None:
        """The widest range of bytes around digits and letters that lies in the set, as its first and last byte."""
        if not self.members.issuperset(_TEXT):
            return None
        low = max(byte for byte in range(_TEXT[0]) if byte not in self.members) + 1
        return low, min(
            byte for byte in (*range(_TEXT[-1], _TOP), _TOP) if byte + 1 not in self.members or byte == _TOP
        )


@lru_cache
def _table(members: frozenset[int]) -> Booleans:
    return np.isin(np.arange(256), [*members])


@lru_cache
def _members(text: bytes) -> frozenset[int]:
    match = re.compile(text).fullmatch
    return frozenset(byte for byte in range(256) if byte != _LINE_FEED and match(bytes([byte])))


@lru_cache
def steps_of(expression: bytes) -> tuple[_Step, ...] | None:
    """Return the first path through a line; None if it is uncertain or the expression has unsupported parts."""
    tokens, at = [], int(expression.startswith(b"^"))
    while at < len(expression):
        if (token := _TOKEN.match(expression, at)) is None:
            return None
        tokens.append(token)
        at = token.end()
    return _settle(_nested(iter(tokens))[0])


def _nested(tokens: Iterator[re.Match[bytes]]) -> tuple[list[_Step], bytes]:
    """Parse up to the end of the group; return its steps and the closing token."""
    steps: list[_Step] = []
    for token in tokens:
        if token["close"]:
            return steps, token["close"]
        if token["mark"]:
            steps.append(_Step(kind=token["mark"].decode()))
        elif token["open"]:
            inner, close = _nested(tokens)
            name = (token["name"] or b"").decode()
            if close == b")":
                steps += [_Step(kind="(", name=name), *inner, _Step(kind=")", name=name)]
            else:
                steps.append(_Step(kind="?:", name=name, part=tuple(inner), keep=close[2:].decode()))
        else:
            repeat, keep = token["repeat"].decode(), token["keep"].decode()
            steps.append(_Step(kind=repeat, members=_members(token["set"]), keep=keep))
    return steps, b""


def _settle(steps: Sequence[_Step], *, is_part: bool = False) -> tuple[_Step, ...] | None:
    """Make lazy repeats end where the next step may begin; None if a part may fit only on a later path."""
    settled: list[_Step] = []
    for place, step in enumerate(steps):
        after = next((one for one in steps[place + 1 :] if one.kind not in {"(", ")"}), None)
        begins = None if after is None or after.kind in {"?", "*", "?:", "\\b"} else after.members
        part = _settle(step.part, is_part=True)
        if part is None or (step.kind == "?:" and (step.name or any(inner.name for inner in part))):
            return None
        if step.keep == "?" and step.kind != "?" and begins is not None and not is_part:
            settled.append(replace(step, members=step.members - begins))
            continue
        may_give_back = is_part and after and step.kind in {"?", "*", "+", "?:"} and not step.keep
        if step.keep == "?" or (may_give_back and (begins is None or step.part or step.members & begins)):
            return None
        settled.append(step)
    return tuple(settled)


def beginning(steps: Sequence[_Step]) -> bytes:
    """Return the text that every match begins with."""
    steps = [step for step in steps if step.kind not in {"(", ")"}]
    return bytes(min(step.members) for step in takewhile(lambda step: not step.kind and len(step.members) == 1, steps))


def walk(steps: Sequence[_Step], data: Bytes, at: Integers, marks: dict[str, Integers]) -> tuple[Integers, Booleans]:
    """Return where the steps end that begin at the places `at`, and whether they fit. `data` ends with a line feed.

    Fill `marks` with the places at which groups begin, as `name(`, and end, as `name)`.
    """
    fits = np.ones(len(at), bool)
    for step in steps:
        if step.kind in {"(", ")"}:
            marks[step.name + step.kind] = at
        elif step.kind == "?:":
            end, matches = walk(step.part, data, at, marks)
            at = np.where(matches, end, at)
        elif step.kind == "$":
            fits &= data.take(at) == _LINE_FEED
        elif step.kind == "\\b":
            word = _table(_members(rb"\w"))
            fits &= word.take(data.take(at - 1)) != word.take(data.take(at))
        elif step.kind in {"", "?"}:
            inside = step.inside.take(data.take(at))
            fits &= inside | (step.kind == "?")
            at = at + inside
        else:
            end, too_long = _run(step, data, at)
            fits &= (end > at) | (step.kind == "*")
            fits[too_long] = False
            at = end
    return at, fits


def _run(step: _Step, data: Bytes, at: Integers) -> tuple[Integers, Integers]:
    """Return where the run of the set's bytes at each place ends, and which runs exceed the step limit."""
    if step.text is not None:
        low, high = (np.uint64(end) for end in step.text)
        eights = np.ndarray(len(data) - 7, "<u8", buffer=data, strides=(1,))

        def right(places: Integers) -> NDArray[np.uint8]:
            # The top bit marks bytes below `low`, above `high` or beyond ASCII. Only the first mark is reliable.
            words = eights[places]
            wrong = ((words - _EACH * low) | (words + _EACH * (np.uint64(_TOP) - high)) | words) & (_EACH << _SEVEN)
            before: NDArray[np.uint8] = np.bitwise_count(((wrong & -wrong) >> _SEVEN) - _ONE) >> 3
            return before

        at, _ = _move(right, 8, at)
    inside = step.inside.astype(np.intp)
    return _move(lambda places: inside.take(data.take(places)), 1, at)


def _move(right: Callable[[Integers], NDArray[np.integer[Any]]], most: int, at: Integers) -> tuple[Integers, Integers]:
    """Move places past the right bytes, which `right` counts, up to `most` a step; also return which may continue."""
    end, which, moving = at.copy(), np.arange(len(at)), at.copy()
    for _ in range(FILE_LIMITS.pattern_steps):
        goes = right(moving)
        moving += goes
        going = goes == most
        # Places that stopped are kept until they are the majority: dropping them costs a copy.
        if 2 * np.count_nonzero(going) < len(going):
            end[which] = moving
            which, moving = which[going], moving[going]
            if not which.size:
                break
    end[which] = moving
    return end, which
