"""A repository's files as `init` reads them, and its suggestions of what to run there."""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from perf_culprit.model.file_limits import FILE_LIMITS

SKIPPED: Final = frozenset({".git", ".venv", "node_modules", "target", "vendor", "build", "dist"})
BENCH_FOLDERS: Final = ("bench", "benches", "benchmarks", "tests/bench", "tests/benchmarks")


@dataclass(frozen=True, kw_only=True, slots=True)
class Suggestion:
    """`setup` prepares the machine once, after the workflow's `steps`; `build` prepares a checkout; `run` measures it.

    `format` is the tool of the results, if their content cannot show it. `place` is where this was found. `notes` list
    unknown and omitted parts. `--try` runs `others` if `run` gives no result. `is_sure`: a workflow measures with it.
    `needs` lists what another machine than the usual one has; `lacks` lists expressions without which it cannot run.
    """

    tool: str
    run: str
    setup: str = ""
    build: str = ""
    format: str = ""
    place: str = ""
    notes: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    is_sure: bool = False
    steps: tuple[Mapping[str, Any], ...] = ()
    services: Mapping[str, Any] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    fault: str = ""

    @property
    def program(self) -> str:
        return next(word for word in self.run.split() if "=" not in word)


@dataclass(frozen=True, kw_only=True, slots=True)
class Repository:
    root: Path
    files: tuple[str, ...]

    def has(self, pattern: str) -> bool:
        return any(re.search(pattern, name) for name in self.files)

    def says(self, names: str, text: str) -> bool:
        """Return whether a file whose path matches `names` holds `text`, both regular expressions."""
        return any(re.search(text, self.read(name)) for name in self.files if re.search(names, name))

    def matching(self, pattern: re.Pattern[str]) -> list[str]:
        return [name for name in self.files if pattern.search(name)]

    def read(self, name: str) -> str:
        try:
            with (self.root / name).open("rb") as file:
                return file.read(FILE_LIMITS.init_file_bytes).decode(errors="replace")
        except OSError:
            return ""

    @property
    def bench_folder(self) -> str | None:
        return next((folder for folder in BENCH_FOLDERS if (self.root / folder).is_dir()), None)


def look(root: Path) -> Repository:
    return Repository(
        root=root, files=tuple(name for name, _ in zip(_names(root), range(FILE_LIMITS.init_files), strict=False))
    )


def _names(root: Path) -> Iterator[str]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        yield from ((Path(folder) / name).relative_to(root).as_posix() for name in sorted(names))
