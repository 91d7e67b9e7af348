"""A folder in which every module that a Python of ours could import has a stand-in that tells on itself."""

import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import entry_points, packages_distributions
from pathlib import Path
from typing import Final

(_PROGRAM,) = entry_points(group="console_scripts", name="perf-culprit")
PACKAGE: Final = _PROGRAM.module.partition(".")[0]
SPY: Final = """import sys
with open({record!r}, "a") as file:
    print({name!r}, "in", sys.orig_argv, file=file)
raise ImportError("a spy")
"""


def importable() -> set[str]:
    """The top level of the standard library and of all that is installed, of what this process has, and ours.

    Also what `site` looks for: sitecustomize, usercustomize.
    """
    loaded = {name.partition(".")[0] for name in sys.modules}
    names = {PACKAGE, "sitecustomize", "usercustomize", *sys.stdlib_module_names, *packages_distributions(), *loaded}
    return {name for name in names if name.isidentifier()} - {"__main__"}


def imported_by_python_itself() -> set[str]:
    """What `python -m PACKAGE` takes from the folder it is called in, if it is there, before any code of ours runs."""
    code = "import runpy, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    return {PACKAGE, *(name.partition(".")[0] for name in done.stdout.split())}


def write_spies(folder: Path, names: Iterable[str], *, record: Path) -> None:
    """A spy appends its name and the process's command to `record`, and fails."""
    record.touch()
    for name in names:
        (folder / f"{name}.py").write_text(SPY.format(record=str(record), name=name))
    (folder / "spy.pth").write_text(f"import {min(names)}\n")
