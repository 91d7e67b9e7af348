"""Prepare a release, in steps: number VERSION; prepare VERSION --image DIGEST; notes; pin COMMIT.

The image has only `number`. `prepare` changes the tag's commit: version, changelog, and the image by digest in
action.yml, so that nothing is built in a user's job. `notes` prints the newest section of the changelog. `pin` inserts
the commit into the distributions: a commit cannot contain its own hash. The workflow release.yml calls them all; a test
does so on a copy.
"""

import argparse
import re
import sys
from datetime import UTC, datetime
from pathlib import Path

IMAGE = "docker://ghcr.io/perf-culprit/perf-culprit"
ZEROS = "0" * 40
PINNED_IN = ("README.md", "docs", "bot/perf_culprit/init/templates")
PINNED_KINDS = (".md", ".yml")


def replaced(path: Path, pattern: str, text: str) -> None:
    """Replace the pattern in exactly one place; exit with an error if there is none or there are several."""
    old = path.read_text(encoding="utf-8")
    new, count = re.subn(pattern, lambda _: text, old, flags=re.MULTILINE)
    if count != 1:
        sys.exit(f"{path}: {count} places match {pattern!r}, one is expected")
    path.write_text(new, encoding="utf-8")


def number(root: Path, version: str) -> None:
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        sys.exit(f"{version!r} is no version such as 0.2.0")
    replaced(root / "bot/perf_culprit/__init__.py", r'^__version__ = ".*"$', f'__version__ = "{version}"')
    # The registry of assistants' servers has it three times: for the entry, the package, the package with its extra.
    entry = root / "server.json"
    text = entry.read_text(encoding="utf-8")
    entry.write_text(re.sub(r'(?<="version": ")[^"]*|(?<=\[mcp\]==)[^"]*', version, text), encoding="utf-8")


def prepare(root: Path, version: str, digest: str, day: str) -> None:
    if not re.fullmatch(r"sha256:[0-9a-f]{64}", digest):
        sys.exit(f"{digest!r} is not a digest such as sha256:…")
    changelog = root / "CHANGELOG.md"
    if not re.search(r"^## Unreleased\n+(?!## )\S", changelog.read_text(encoding="utf-8"), re.MULTILINE):
        sys.exit("CHANGELOG.md: nothing stands under Unreleased")
    number(root, version)
    replaced(changelog, r"^## Unreleased$", f"## Unreleased\n\n## {version} - {day}")
    replaced(root / "action.yml", r"^  image: .*$", f"  image: {IMAGE}@{digest}")
    replaced(root / "docs/github.md", r"(?<=perf-culprit==)\S+", version)


def pin(root: Path, commit: str) -> None:
    """Replace the zeros in documents and templates with the commit of this release."""
    if not re.fullmatch(r"[0-9a-f]{40}", commit) or commit == ZEROS:
        sys.exit(f"{commit!r} is not a full hash of a commit")
    replaced(root / "bot/perf_culprit/release.py", r'^COMMIT: Final = "0" \* 40$', f'COMMIT: Final = "{commit}"')
    for name in PINNED_IN:
        path = root / name
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.suffix in PINNED_KINDS:
                file.write_text(file.read_text(encoding="utf-8").replace(ZEROS, commit), encoding="utf-8")


def notes(root: Path) -> str:
    sections = re.split(r"^## ", (root / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    return next(part.partition("\n")[2].strip() for part in sections[1:] if not part.startswith("Unreleased"))


def main() -> None:
    parser = argparse.ArgumentParser(description="prepare a release")
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1])
    steps = parser.add_subparsers(dest="step", required=True)
    steps.add_parser("number").add_argument("version")
    first = steps.add_parser("prepare")
    first.add_argument("version")
    first.add_argument("--image", required=True, metavar="DIGEST")
    first.add_argument("--day", default=datetime.now(UTC).date().isoformat())
    steps.add_parser("pin").add_argument("commit")
    steps.add_parser("notes")
    arguments = parser.parse_args()
    if arguments.step == "number":
        number(arguments.root, arguments.version)
    elif arguments.step == "prepare":
        prepare(arguments.root, arguments.version, arguments.image, arguments.day)
    elif arguments.step == "pin":
        pin(arguments.root, arguments.commit)
    else:
        sys.stdout.write(f"{notes(arguments.root)}\n")


if __name__ == "__main__":
    main()
