"""Lines of a fixed form, split side by side: what a regular expression finds where it has nothing to choose.

A regular expression tries the ways through a line in a fixed order, and the first that fits is its match. Where it is
made of literals, sets of bytes and their repeats, the very first way is followed through thousands of lines at once, a
byte of each per step. A line that this does not fit from its beginning, the regular expression has to search.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Places: TypeAlias = NDArray[np.intp]
Bools: TypeAlias = NDArray[np.bool_]
Bytes: TypeAlias = NDArray[np.uint8]
# Longer runs of one set are left to the regular expression.
MOST_STEPS: Final = 256
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
    r"""`kind`: `(` and `)` of a group, `?:` of an optional part, `$`, `\b`; else a set's repeat: none, `?`, `*`, `+`.

    `keep`: `+` gives nothing back, `?` takes as few as it can.
    """

    kind: str
    name: str = ""
    members: frozenset[int] = frozenset()
    part: "tuple[_Step, ...]" = ()
    keep: str = ""

    @property
    def inside(self) -> Bools:
        return _table(self.members)

    @property
    def text(self) -> tuple[int, int] | None:
        """The first and last byte around digits and letters between which all are in the set."""
        if not self.members.issuperset(_TEXT):
            return None
        low = max(byte for byte in range(_TEXT[0]) if byte not in self.members) + 1
        return low, min(
            byte for byte in (*range(_TEXT[-1], _TOP), _TOP) if byte + 1 not in self.members or byte == _TOP
        )


@lru_cache
def _table(members: frozenset[int]) -> Bools:
    return np.isin(np.arange(256), [*members])


@lru_cache
def _members(text: bytes) -> frozenset[int]:
    match = re.compile(text).fullmatch
    return frozenset(byte for byte in range(256) if byte != _LINE_FEED and match(bytes([byte])))


@lru_cache
def steps_of(expression: bytes) -> tuple[_Step, ...] | None:
    """The first way through a line; None where that is not sure, or the expression has other parts."""
    tokens, at = [], int(expression.startswith(b"^"))
    while at < len(expression):
        if (token := _TOKEN.match(expression, at)) is None:
            return None
        tokens.append(token)
        at = token.end()
    return _settled(_nested(iter(tokens))[0])


def _nested(tokens: Iterator[re.Match[bytes]]) -> tuple[list[_Step], bytes]:
    """Up to the end of the group, and that end."""
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


def _settled(steps: Sequence[_Step], *, is_part: bool = False) -> tuple[_Step, ...] | None:
    """With lazy repeats that end where the next step may begin; None where a part may fit in a later way only."""
    settled: list[_Step] = []
    for place, step in enumerate(steps):
        after = next((one for one in steps[place + 1 :] if one.kind not in {"(", ")"}), None)
        begins = None if after is None or after.kind in {"?", "*", "?:", "\\b"} else after.members
        part = _settled(step.part, is_part=True)
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


def walk(steps: Sequence[_Step], data: Bytes, at: Places, marks: dict[str, Places]) -> tuple[Places, Bools]:
    """Where the steps end that begin `at` places of lines, and whether they fit. `data` ends with a line feed.

    `marks`: filled with the places at which groups begin, as `name(`, and end, as `name)`.
    """
    fits = np.ones(len(at), bool)
    for step in steps:
        if step.kind in {"(", ")"}:
            marks[step.name + step.kind] = at
        elif step.kind == "?:":
            end, taken = walk(step.part, data, at, marks)
            at = np.where(taken, end, at)
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


def _run(step: _Step, data: Bytes, at: Places) -> tuple[Places, Places]:
    """Where the bytes of the set end that begin at each place, and which do not end soon."""
    if step.text is not None:
        low, high = (np.uint64(end) for end in step.text)
        eights = np.ndarray(len(data) - 7, "<u8", buffer=data, strides=(1,))

        def right(places: Places) -> NDArray[np.uint8]:
            # Wrong is the top bit of a byte below `low`, above `high` or beyond ASCII; at least the first one is.
            words = eights[places]
            wrong = ((words - _EACH * low) | (words + _EACH * (np.uint64(_TOP) - high)) | words) & (_EACH << _SEVEN)
            before: NDArray[np.uint8] = np.bitwise_count(((wrong & -wrong) >> _SEVEN) - _ONE) >> 3
            return before

        at, _ = _moved(right, 8, at)
    inside = step.inside.astype(np.intp)
    return _moved(lambda places: inside.take(data.take(places)), 1, at)


def _moved(right: Callable[[Places], NDArray[np.integer[Any]]], most: int, at: Places) -> tuple[Places, Places]:
    """`right`: how many bytes at each place are right, of `most` that it looks at. Also which may go on."""
    end, which, moving = at.copy(), np.arange(len(at)), at.copy()
    for _ in range(MOST_STEPS):
        goes = right(moving)
        moving += goes
        going = goes == most
        # Those that stand still are taken along until they are most.
        if 2 * np.count_nonzero(going) < len(going):
            end[which] = moving
            which, moving = which[going], moving[going]
            if not which.size:
                break
    end[which] = moving
    return end, which
