r"""The first line of a comment -> a command. Whoever wrote it, none of its text ever reaches a shell.

The line is read word by word, and a word ends at a space. A part in double quotes may hold spaces; in it, `\"` is a
quote and `\\` a backslash.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Final

from perf_culprit.errors import UsageError, did_you_mean
from perf_culprit.model.artifact_limits import ARTIFACT_LIMITS
from perf_culprit.model.bisection import Engine
from perf_culprit.model.run import FULL_HASH

PREFIX: Final = "/perf-"
_LEAST_EXECUTIONS: Final = 4
_ALL: Final = "all"
RUN: Final = "/perf-run"

_LINE_END = re.compile(r"[\n\r]")
# The alternatives differ in their first character, so there is one way only to match a text.
_PIECE = re.compile(r'"((?:[^"\\]|\\["\\])*)"|([^\s"]+)')
_ESCAPE = re.compile(r'\\(["\\])')
_HASH_LIKE = re.compile(r"[0-9A-Fa-f]{4,64}")
# A hash, a tag or a branch, as git takes them; never an option of git, a range or a path out of the repository.
_REVISION = re.compile(r"(?!.*(?:\.\.|//|/\.|[./]$|\.lock(?:/|$)))[A-Za-z0-9][A-Za-z0-9._/-]{0,99}")
_BUDGET = re.compile(r"([1-9][0-9]{0,4})(min)?")
_ROUNDS = re.compile(r"[1-9][0-9]?|100")
_JOBS = re.compile(r"[1-9][0-9]?")


@dataclass(frozen=True, kw_only=True, slots=True)
class BisectCommand:
    """`sha` is the head that the author has seen. None in any field means the configured value."""

    sha: str | None = None
    benchmark: str | None = None
    metric: str | None = None
    good: str | None = None
    bad: str | None = None
    engine: Engine | None = None
    jobs: int | None = None
    executions: int | None = None
    minutes: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RetryCommand:
    pass


@dataclass(frozen=True, kw_only=True, slots=True)
class AcceptCommand:
    """`benchmark` None means all benchmarks; `sha` is the head that the author has seen."""

    benchmark: str | None
    reason: str
    sha: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RunCommand:
    """`sha`: the head that the author has seen. No `benchmarks`: all. `against` None: where the head branched off."""

    sha: str | None = None
    benchmarks: tuple[str, ...] = ()
    against: str | None = None
    rounds: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class HelpCommand:
    pass


CommentCommand = BisectCommand | RunCommand | RetryCommand | AcceptCommand | HelpCommand


def first_line(body: str) -> str:
    return _LINE_END.split(body, maxsplit=1)[0].rstrip()


def is_command(body: str) -> bool:
    """Return whether it is a command, in any case: the `startsWith` of GitHub's workflows ignores case, too."""
    return first_line(body)[: len(PREFIX)].lower() == PREFIX


def parse_comment(body: str) -> CommentCommand | None:
    """Return the command in a comment; None if it is not one. Raise a UsageError that lists what is valid."""
    line = first_line(body)
    if not is_command(body):
        return None
    if len(line) > ARTIFACT_LIMITS.command_characters:
        raise UsageError(
            "the line is too long", next_step=f"use at most {ARTIFACT_LIMITS.command_characters:,} characters"
        )
    if not line.isprintable():
        raise UsageError("the line holds invisible characters", next_step="type it instead of pasting it")
    name, _, rest = line.partition(" ")
    name = name.lower()
    if name not in _PARSERS:
        raise UsageError(f"`{name}` isn't a command", next_step=_valid("commands", _PARSERS, word=name))
    return _PARSERS[name](rest.strip())


def _bisect(rest: str) -> BisectCommand:
    words = list(_words(rest, place="/perf-bisect"))
    sha = _sha(words.pop(0)) if words and "=" not in words[0] else None
    values: dict[str, str] = {}
    for word in words:
        name, separator, value = word.partition("=")
        if not separator or name not in OPTIONS:
            raise UsageError(
                f"`{word}` isn't an option", place="/perf-bisect", next_step=_valid("options", OPTIONS, word=name)
            )
        if name in values:
            raise UsageError(f"`{name}` is given twice", place="/perf-bisect", next_step="give it once")
        if not value:
            raise UsageError(f"`{name}` has no value", place="/perf-bisect", next_step=f"write {OPTIONS[name]}")
        values[name] = value
    executions, minutes = _budget(values["budget"]) if "budget" in values else (None, None)
    return BisectCommand(
        sha=sha,
        benchmark=_benchmark(values["benchmark"], place="/perf-bisect") if "benchmark" in values else None,
        metric=_benchmark(values["metric"], place="/perf-bisect, metric") if "metric" in values else None,
        good=_revision(values["good"], name="good") if "good" in values else None,
        bad=_revision(values["bad"], name="bad") if "bad" in values else None,
        engine=_engine(values["engine"]) if "engine" in values else None,
        jobs=_jobs(values["jobs"]) if "jobs" in values else None,
        executions=executions,
        minutes=minutes,
    )


def _run(rest: str) -> RunCommand:
    """Parse `/perf-run`. A benchmark called `against` cannot be requested alone."""
    words = list(_words(rest, place=RUN))
    sha = words.pop(0) if words and FULL_HASH.fullmatch(words[0]) else None
    against = rounds = None
    names: list[str] = []
    while words:
        word = words.pop(0)
        if word == "against":
            if against is not None or not words:
                raise UsageError("`against` needs one commit", place=RUN, next_step="write `against REF` once")
            against = _revision(words.pop(0), name="against", command=RUN)
        elif word.startswith("rounds="):
            number = word.removeprefix("rounds=")
            if rounds is not None or not _ROUNDS.fullmatch(number):
                text = f"`{word}` isn't a number of rounds"
                raise UsageError(
                    text, place=RUN, next_step=f"write `rounds=N` once, N from 1 to {ARTIFACT_LIMITS.command_rounds}"
                )
            rounds = int(number)
        else:
            names.append(_benchmark(word, place=RUN))
    if len(names) > ARTIFACT_LIMITS.command_benchmarks:
        raise UsageError(
            f"{len(names)} benchmarks are named",
            place=RUN,
            next_step=f"name at most {ARTIFACT_LIMITS.command_benchmarks}, or none for all",
        )
    return RunCommand(sha=sha, benchmarks=tuple(dict.fromkeys(names)), against=against, rounds=rounds)


def _accept(rest: str) -> AcceptCommand:
    """Parse `/perf-accept`. In quotes, `all` and the digits of a commit are benchmarks of that name."""
    head, _, after = rest.partition(" ")
    sha = head if FULL_HASH.fullmatch(head) else None
    rest = rest if sha is None else after.strip()
    piece = _PIECE.match(rest)
    reason = rest[piece.end() :] if piece else ""
    if piece is None or not reason.startswith(" ") or not reason.strip():
        raise UsageError(
            "a benchmark and a reason are needed",
            place="/perf-accept",
            next_step="write both, as in `/perf-accept parse the new grammar costs this`; quote a name with spaces",
        )
    reason = reason.strip()
    if len(reason) > ARTIFACT_LIMITS.reason_characters:
        raise UsageError(
            f"the reason has {len(reason):,} characters",
            place="/perf-accept",
            next_step=f"use at most {ARTIFACT_LIMITS.reason_characters}",
        )
    quoted = piece[1] is not None
    name = _unescaped(piece[1]) if quoted else piece[2]
    everything = name == _ALL and not quoted
    benchmark = None if everything else _benchmark(name, place="/perf-accept")
    return AcceptCommand(benchmark=benchmark, reason=reason, sha=sha)


def _alone(command: CommentCommand, name: str, rest: str) -> CommentCommand:
    if rest:
        raise UsageError("takes no options", place=name, next_step=f"write `{name}` alone on the first line")
    return command


_PARSERS: Final[dict[str, Callable[[str], CommentCommand]]] = {
    "/perf-bisect": _bisect,
    "/perf-retry": partial(_alone, RetryCommand(), "/perf-retry"),
    RUN: _run,
    "/perf-accept": _accept,
    "/perf-help": partial(_alone, HelpCommand(), "/perf-help"),
}

OPTIONS: Final = {
    "benchmark": '`benchmark=NAME`, or `benchmark="NAME WITH SPACES"`',
    "metric": "`metric=NAME`",
    "good": "`good=COMMIT`",
    "bad": "`bad=COMMIT`",
    "engine": "`engine=bayes` or `engine=weighted`",
    "jobs": f"`jobs=N` with N from 1 to {ARTIFACT_LIMITS.command_jobs}",
    "budget": (
        f"`budget=N` executions ({_LEAST_EXECUTIONS} to {ARTIFACT_LIMITS.command_executions:,})"
        f" or `budget=Nmin` (1 to {ARTIFACT_LIMITS.command_minutes:,})"
    ),
}


def _words(text: str, *, place: str) -> Iterable[str]:
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        parts = []
        while at < len(text) and not text[at].isspace():
            piece = _PIECE.match(text, at)
            if piece is None:
                raise UsageError(
                    "a quoted part does not end, or a backslash in it precedes neither a quote nor a backslash",
                    place=place,
                    next_step='close it with `"`; inside write `\\"` for a quote and `\\\\` for a backslash',
                )
            parts.append(piece[2] if piece[1] is None else _unescaped(piece[1]))
            at = piece.end()
        yield "".join(parts)


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(r"\1", text)


def _sha(text: str) -> str:
    """Require all 40 digits: seven can be forged by trying commits until they fit."""
    if FULL_HASH.fullmatch(text):
        return text
    if _HASH_LIKE.fullmatch(text):
        raise UsageError(
            f"`{text}` isn't a full commit hash", place="/perf-bisect", next_step="write all 40 digits, in lower case"
        )
    raise UsageError(
        f"`{text}` is neither a commit hash nor an option",
        place="/perf-bisect",
        next_step=f"write the head's 40 digits, or options alone; {_valid('options', OPTIONS, word=text)}",
    )


def _revision(text: str, *, name: str, command: str = "/perf-bisect") -> str:
    # No reader of a thread can tell which commit HEAD would be.
    if not _REVISION.fullmatch(text) or text.endswith("HEAD"):
        raise UsageError(
            f"`{text}` isn't a commit", place=f"{command}, {name}", next_step="write a hash, a tag or a branch"
        )
    return text


def _engine(text: str) -> Engine:
    if text not in list(Engine):
        raise UsageError(f"`{text}` isn't an engine", place="/perf-bisect", next_step=f"write {OPTIONS['engine']}")
    return Engine(text)


def _jobs(text: str) -> int:
    if not _JOBS.fullmatch(text) or int(text) > ARTIFACT_LIMITS.command_jobs:
        raise UsageError(f"`{text}` isn't a number of jobs", place="/perf-bisect", next_step=f"write {OPTIONS['jobs']}")
    return int(text)


def _budget(text: str) -> tuple[int | None, int | None]:
    """Return executions or minutes; the other is None."""
    match = _BUDGET.fullmatch(text)
    number = int(match[1]) if match else 0
    in_minutes = match is not None and match[2] is not None
    least, most = (
        (1, ARTIFACT_LIMITS.command_minutes) if in_minutes else (_LEAST_EXECUTIONS, ARTIFACT_LIMITS.command_executions)
    )
    if not least <= number <= most:
        raise UsageError(f"`{text}` isn't a budget", place="/perf-bisect", next_step=f"write {OPTIONS['budget']}")
    return (None, number) if in_minutes else (number, None)


def _benchmark(text: str, *, place: str) -> str:
    if not text.strip() or len(text) > ARTIFACT_LIMITS.benchmark_characters:
        raise UsageError("the name is empty or too long", place=place, next_step="copy it from the report's table")
    return text


def _valid(noun: str, names: Iterable[str], *, word: str) -> str:
    choices = [f"`{name}`" for name in names]
    listed = f"{noun} are {', '.join(choices[:-1])} and {choices[-1]}"
    hint = did_you_mean(f"`{word}`", choices)
    return f"{hint} The {listed}" if hint else f"the {listed}"
