"""The function of each command: the public one that takes its options."""

from collections.abc import Callable, Mapping
from inspect import isfunction
from typing import Any, Final

from perf_culprit.cli import analysis_commands, history_commands, judge_commands, measure_commands, setup_commands
from perf_culprit.commands.declared import Command

COMMAND_FUNCTIONS: Final[Mapping[type[Command], Callable[[Any], int]]] = {
    function.__annotations__["options"]: function
    for module in (analysis_commands, history_commands, judge_commands, measure_commands, setup_commands)
    for name, function in vars(module).items()
    if isfunction(function) and function.__module__ == module.__name__ and not name.startswith("_")
}
