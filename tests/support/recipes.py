"""The YAML blocks of the documentation: the tests run what people paste."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import yaml

PROJECT: Final = Path(__file__).parents[2]
DOCUMENTS: Final = (PROJECT / "README.md", *sorted((PROJECT / "docs").rglob("*.md")))
BLOCK: Final = re.compile(r"(?:^`\.github/workflows/([\w-]+\.yml)`\n\n)?^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ONE_FILE: Final = "docs/github.md"
BACKFILL: Final = "docs/history.md"
SPLIT: Final = "docs/workflows.md"


@dataclass(frozen=True, kw_only=True)
class Block:
    """`file` is the workflow file that the text above the block says to write it to."""

    document: str
    file: str | None
    text: str

    @property
    def id(self) -> str:
        return f"{self.document}:{self.file or self.text.splitlines()[0][:30]}"

    @property
    def value(self) -> Any:
        return yaml.safe_load(self.text)

    @cached_property
    def _keys(self) -> list[str] | None:
        """The keys of a mapping, parsed once; None for a list."""
        value = self.value
        return list(value) if isinstance(value, Mapping) else None

    @property
    def is_steps(self) -> bool:
        return self._keys is None

    @property
    def is_design(self) -> bool:
        return self._keys is not None and "world-view" in self._keys

    @property
    def is_environment(self) -> bool:
        """Whether the block is the environment of a step, or the secrets for a called workflow."""
        return self._keys in (["env"], ["secrets"])


BLOCKS: Final = tuple(
    Block(document=str(document.relative_to(PROJECT)), file=file or None, text=text)
    for document in DOCUMENTS
    for file, text in BLOCK.findall(document.read_text(encoding="utf-8"))
)
WORKFLOWS: Final = tuple(block for block in BLOCKS if block.file)


def workflows(document: str) -> dict[str, Any]:
    """Return the parsed workflow files of a document by name without suffix, fresh at each call."""
    return {
        block.file.removesuffix(".yml"): block.value for block in WORKFLOWS if block.document == document and block.file
    }
