"""Versions of the compilers and runtimes on the PATH, as the commands that are measured find them."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from bot.collect.parser import components
from bot.model.environment import Environment

TOOLS: Final[Mapping[str, tuple[str, ...]]] = {
    "gcc": ("gcc", "-dumpfullversion"),
    "clang": ("clang", "-dumpversion"),
    "rust": ("rustc", "--version"),
    "go": ("go", "version"),
    "node": ("node", "--version"),
    "java": ("java", "-version"),
    "dotnet": ("dotnet", "--version"),
    "python": ("python3", "--version"),
}
# Of our environment, which may hold a token, only what finds them; and nothing is downloaded to answer.
PASSED_ON: Final = ("PATH", "HOME", "CARGO_HOME", "RUSTUP_HOME", "JAVA_HOME", "DOTNET_ROOT", "LD_LIBRARY_PATH")
OFFLINE: Final = {"GOTOOLCHAIN": "local", "RUSTUP_AUTO_INSTALL": "0", "DOTNET_CLI_TELEMETRY_OPTOUT": "1"}
LONGEST_ANSWER_S: Final = 5.0
_VERSION: Final = re.compile(r"\d+(?:\.[\w+-]+)+|\b\d+\b")


@cache
def toolchain(folder: Path) -> Environment:
    """Those that answer, asked at once; in `folder`, whose files may choose a version."""
    asked = {name: _asked(words, folder) for name, words in TOOLS.items() if shutil.which(words[0])}
    return components(**{name: None if tool is None else _version(tool) for name, tool in asked.items()})


def _asked(words: tuple[str, ...], folder: Path) -> "subprocess.Popen[str] | None":
    try:
        return subprocess.Popen(
            words,
            cwd=folder,
            env={**{name: os.environ[name] for name in PASSED_ON if name in os.environ}, **OFFLINE},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    except OSError:
        return None


def _version(tool: "subprocess.Popen[str]") -> str | None:
    with tool:
        try:
            text, _ = tool.communicate(timeout=LONGEST_ANSWER_S)
        except subprocess.TimeoutExpired:
            tool.kill()
            return None
    match = _VERSION.search(text.partition("\n")[0])
    return match[0] if match and tool.returncode == 0 else None
