"""Errors of tracing. They are no BotError, because this package works alone inside the traced program."""


class TraceError(RuntimeError):
    """`next_step` is the user's next action."""

    def __init__(self, message: str, *, next_step: str) -> None:
        super().__init__(f"{message}\nNext: {next_step}")
        self.message = message
        self.next_step = next_step


class SamplesOnlyError(TraceError):
    """The interpreter cannot be traced level by level; its stacks can be sampled."""
