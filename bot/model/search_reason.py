"""The codes of reasons that speak of a bisection."""

from enum import StrEnum


class Objection(StrEnum):
    """Why nothing more may be measured for a pull request's bisection."""

    PULL_REQUEST_CLOSED = "pull_request_closed"
    HEAD_MOVED = "head_moved"


class SearchReason(StrEnum):
    """What to know of a bisection's answer, what became of its dispatches, and what it waits for."""

    STILL_THERE = "still_there"
    TIME_SPENT = "time_spent"
    DISPATCHES_FRUITLESS = "dispatches_fruitless"
    SAME_COUNT = "same_count"
    NOT_COUNTED = "not_counted"
    NO_COMMIT_BY_COUNTS = "no_commit_by_counts"
    TIME_CONFIRMS = "time_confirms"
    TIME_UNCHANGED = "time_unchanged"
    ENDS_ALIKE_BY_TIME = "ends_alike_by_time"
    RUN_UNKNOWN = "run_unknown"
    RUN_OF_OTHER = "run_of_other"
    RESULT_REFUSED = "result_refused"
    NOTHING_MEASURED = "nothing_measured"
    ROUNDS_LOST = "rounds_lost"
    SENT_LATE = "sent_late"
    RUN_UNDER_WAY = "run_under_way"
    BEING_SENT = "being_sent"
