"""The compilers and runtimes of this machine, asked once per process: not in every folder, nor by every fork."""

from functools import cache
from pathlib import Path

from bot.collect import machine
from bot.collect.toolchain import toolchain
from bot.model.environment import Environment


@cache
def installed() -> Environment:
    return toolchain(Path())


vars(machine)["toolchain"] = lambda _: installed()
