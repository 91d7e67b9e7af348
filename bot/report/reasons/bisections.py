"""The sentences of bisections: what to know of an answer, and what became of the dispatches."""

from collections.abc import Mapping
from typing import Final

from bot.model.reason import ReasonCode
from bot.model.search_reason import Objection, SearchReason

_INTRODUCED: Final = "{commit} introduced the {kind:prose}: {change:+%} ({low:+%} … {high:+%})"

BISECTIONS: Final[Mapping[ReasonCode, str]] = {
    Objection.PULL_REQUEST_CLOSED: "the pull request was closed",
    Objection.HEAD_MOVED: "the head of the pull request has moved on[ from {head}]",
    SearchReason.STILL_THERE: "the regression is still there",
    SearchReason.TIME_SPENT: "the time was spent before the search had ended[; --resume {file:prose} resumes it]",
    SearchReason.DISPATCHES_FRUITLESS: (
        "{count:,} dispatches in a row gave no result; see the log of the bisect workflow"
    ),
    SearchReason.SAME_COUNT: "both ends count the same {count:prose}; search without --metric for a change of times",
    SearchReason.NOT_COUNTED: "{why:prose}; times are measured instead",
    SearchReason.NO_COMMIT_BY_COUNTS: (
        "counts of instructions name no commit[ ({why:prose})]: times are measured instead"
    ),
    SearchReason.TIME_CONFIRMS: (
        "its time ({benchmark}) confirms it: " + _INTRODUCED + "; {executions:# execution} of it and its parent"
    ),
    SearchReason.TIME_UNCHANGED: (
        "by instructions " + _INTRODUCED + "; its time is not seen to change: times are measured instead"
    ),
    SearchReason.ENDS_ALIKE_BY_TIME: (
        "times cannot tell the ends apart in {executions:# execution}[; bad against good: {change:+%} ({low:+%} … "
        "{high:+%})][; a change of {visible:%} would have been seen][; noise of one execution: {spread:%}]"
        "[, autocorrelation from one to the next {autocorrelation:.3g}][; the machine has two states, a factor of "
        "{mode_ratio:.3g} apart, the slow one {slow_share:%} of the time]"
    ),
    SearchReason.RUN_UNKNOWN: (
        "run {run:d} was refused: the stored bisection knows no dispatch {dispatch}; the history branch was "
        "rewritten or put back; start again with a new command, or restore the branch"
    ),
    SearchReason.RUN_OF_OTHER: "run {run:d} was refused: dispatch {dispatch} was sent as run {sent:d}",
    SearchReason.RESULT_REFUSED: "the result of {job} was refused: {why:prose}",
    SearchReason.NOTHING_MEASURED: "{job} measured nothing: {why:prose}",
    SearchReason.ROUNDS_LOST: "{lost:,} of {rounds:,} rounds were lost and will be measured again",
    SearchReason.SENT_LATE: "dispatch {dispatch} was stored and never sent: it is sent now",
    SearchReason.RUN_UNDER_WAY: "run {run:d} is under way",
    SearchReason.BEING_SENT: "dispatch {dispatch} is being sent by another job",
}
