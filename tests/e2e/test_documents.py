"""Links between documents lead somewhere."""

import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
DOCUMENTS = sorted([*PROJECT.glob("*.md"), *PROJECT.glob("docs/**/*.md"), *PROJECT.glob(".github/*.md")])
_LINK = re.compile(r"\]\((?![a-z]+:)([^)#\s]*)(#[^)\s]*)?\)")
_HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)


def anchors(document: Path) -> set[str]:
    """Return headings as GitHub anchors them: lower case, without punctuation, spaces become hyphens."""
    headings = _HEADING.findall(document.read_text(encoding="utf-8"))
    return {"#" + re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(PROJECT)))
def test_links_lead_somewhere(document: Path) -> None:
    broken = []
    for path, anchor in _LINK.findall(document.read_text(encoding="utf-8")):
        target = document.parent / path if path else document
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            broken.append(path + anchor)
    assert broken == []


def test_the_readme_gives_the_commands_that_ci_runs() -> None:
    readme = (PROJECT / "README.md").read_text(encoding="utf-8")
    for command in ("sh .ci/env perf-culprit demo", "sh .ci/env pytest"):
        assert re.search(rf"^ +{re.escape(command)}$", readme, flags=re.MULTILINE), command
