"""The compilers and runtimes of this machine, queried once per process: not in every folder or fork."""

from functools import cache
from pathlib import Path

from perf_culprit.model.run import Environment
from perf_culprit.read.results import surroundings

# The original query of the programs, for the tests of it.
asked_toolchain = surroundings.toolchain


@cache
def installed() -> Environment:
    return asked_toolchain(Path())


vars(surroundings)["toolchain"] = lambda _: installed()
