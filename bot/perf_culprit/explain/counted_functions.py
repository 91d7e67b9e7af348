"""Find the functions that cause one revision's additional instructions, from Callgrind's exact counts."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from perf_culprit.explain.method_names import match_method
from perf_culprit.explain.suspects import code_of
from perf_culprit.model.call_tree import Touched
from perf_culprit.model.report import ChangeCause, ComparedSuspect, NodeAmount, ScoreParts, SuspectReason
from perf_culprit.read.profiles.call_graph_formats import read_graph
from perf_culprit.read.profiles.profile_file import Intake, opened
from perf_culprit.read.profiles.profile_tree import SERVICE

UNIT: Final = "instructions"
LEAST_SHARE_OF_CHANGE: Final = 0.02  # share of the change below which a function is not reported
NO_SYMBOL: Final = "0x"
# Callgrind numbers the levels of a recursion: print_value'2.
_LEVEL: Final = re.compile(r"'\d+$")


@dataclass(kw_only=True, slots=True)
class _Function:
    """A function over all processes. `below`: instructions of its callees. `callers`: its calls by caller's name."""

    own: float = 0.0
    below: float = 0.0
    file: str | None = None
    callers: Counter[str] = field(default_factory=Counter)

    @property
    def amount(self) -> NodeAmount:
        return NodeAmount(elapsed=self.own + self.below, self_time=self.own, calls=float(self.callers.total()) or None)


def costly_functions(
    before: Sequence[Path], after: Sequence[Path], *, touched: Touched | None = None
) -> tuple[ComparedSuspect, ...]:
    """Find the functions whose own instructions changed in the direction of the whole, largest first.

    The inputs are Callgrind files, one per process of a side. `score` is the share of the change.
    """
    old, new = _functions(before), _functions(after)
    whole = sum(one.own for one in new.values()) - sum(one.own for one in old.values())
    gains = {name: new[name].own - old[name].own for name in {**old, **new}} if whole else {}
    shares = {name: gain / whole for name, gain in gains.items() if gain / whole >= LEAST_SHARE_OF_CHANGE}
    return tuple(
        _suspect(name, share, old.get(name), new.get(name), touched)
        for name, share in sorted(shares.items(), key=lambda item: (-item[1], item[0]))
    )


def _functions(files: Sequence[Path]) -> defaultdict[str, _Function]:
    functions: defaultdict[str, _Function] = defaultdict(_Function)
    for name in files:
        with opened(str(name), intake=Intake()) as file:
            graph, _ = read_graph(file)
        names = [_LEVEL.sub("", frame.method) for frame in graph.frames]
        for caller, frame, own, callees in zip(names, graph.frames, graph.self_cost, graph.callees, strict=True):
            functions[caller].own += own
            functions[caller].file = functions[caller].file or frame.file
            for callee, edge in callees.items():
                if names[callee] != caller:
                    functions[caller].below += edge.inclusive
                    functions[names[callee]].callers[caller] += round(edge.calls)
    return functions


def _suspect(
    name: str, share: float, before: _Function | None, after: _Function | None, touched: Touched | None
) -> ComparedSuspect:
    old, new = before or _Function(), after or _Function()
    file = new.file or old.file
    match = None if touched is None else match_method(name, touched=touched, file=file)
    reasons = [SuspectReason.ADDED] if not old.own else [SuspectReason.OWN_TIME] if new.own > old.own else []
    if match is not None:
        reasons.append(SuspectReason.TOUCHED)
    more_calls = new.callers - old.callers
    named = [one for one in more_calls or new.callers or old.callers if not one.startswith(NO_SYMBOL)]
    caller = max(named, key=lambda name: (new.callers[name], name), default=None)
    return ComparedSuspect(
        method=name,
        score=share,
        parts=ScoreParts(own_time=share, origin=0.0, branch=0.0, slowdown=share, touched=float(match is not None)),
        reasons=tuple(reasons),
        service=SERVICE,
        unit=UNIT,
        path=(name,) if caller is None else (caller, name),
        baseline=old.amount if old.own else None,
        target=new.amount if new.own else None,
        relative_change=new.own / old.own - 1 if old.own else None,
        cause=_cause(old, new),
        touched=code_of(match),
        file=file,
    )


def _cause(old: _Function, new: _Function) -> ChangeCause | None:
    calls = old.callers.total(), new.callers.total()
    if not all((*calls, old.own, new.own)):
        return None
    if calls[0] == calls[1]:
        return ChangeCause.TIME_PER_CALL
    return ChangeCause.MORE_CALLS if calls[1] * old.own == calls[0] * new.own else ChangeCause.BOTH
