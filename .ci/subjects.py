"""Check the subjects of the commits after FIRST: "area: imperative", at most 72 characters (.github/CONTRIBUTING.md).

python .ci/subjects.py [FIRST]
"""

import re
import subprocess
import sys
from collections.abc import Iterable

FIRST = "c620181636f67146f0614a0ced5a13232c9ceab2"
LONGEST = 72
SUBJECT = re.compile(r"[a-z][\w./-]*(, [a-z][\w./-]*)*: (?P<verb>\S+)( .*\S)?")
# "Added", "fixes", "adding"; not imperatives with the same endings.
NOT_IMPERATIVE = re.compile(r"(?!(bring|embed|feed|need|seed|speed)$)\w+(ed|ing|[^s]s)", re.IGNORECASE)


def faults(subject: str) -> list[str]:
    found = []
    if len(subject) > LONGEST:
        found.append(f"{len(subject)} characters, {LONGEST} are the most")
    if subject.startswith("Revert "):
        return found
    if (match := SUBJECT.fullmatch(subject)) is None:
        found.append("begins with no area, such as `measure: write results after every round`")
    elif NOT_IMPERATIVE.fullmatch(match["verb"]):
        found.append(f"`{match['verb']}` is no imperative")
    return found


def remarks(commits: Iterable[str]) -> list[str]:
    """Return the faults of commits, given as lines of a hash and a subject."""
    return [f"{commit}: {fault}" for commit in commits for fault in faults(commit.partition(" ")[2])]


def main(first: str) -> None:
    if subprocess.run(["git", "cat-file", "-e", f"{first}^{{commit}}"], capture_output=True, check=False).returncode:
        sys.stdout.write(f"commit {first[:8]} is not here (a shallow clone?): subjects are not checked\n")
        return
    log = ["git", "log", "--no-merges", "--format=%h %s", f"{first}..HEAD"]
    found = remarks(subprocess.run(log, capture_output=True, text=True, check=True).stdout.splitlines())
    sys.stdout.writelines(f"{remark}\n" for remark in found)
    sys.exit(bool(found))


if __name__ == "__main__":
    main(*sys.argv[1:] or [FIRST])
