"""Why an execution gave no numbers."""

from bot.errors import DataError
from bot.model.bisection import FailureKind


class ExecutionError(DataError):
    """A build or a run that failed, or that measured nothing. For `measure` an error, for a search a fact."""

    def __init__(self, kind: FailureKind, message: str, *, place: str, next_step: str) -> None:
        super().__init__(message, place=place, next_step=next_step)
        self.kind = kind
