"""Draw the repositories on which `init` is judged: hash order over public listings, conditions checked by a program.

The rule, written before any of them was looked at:

1. `listings.txt` has repositories by the name of a workflow file.
   It is what a public index of GitHub repositories lists with that file.
   The last two names have more; their first hundred count.
2. Repositories named in `docs/evidence/init.md` before the draw's own heading are left out, and those of the same name.
   The rest is ordered by the SHA-256 of the draw's salt and the name.
3. In this order, a repository is taken if a snapshot can be had and `ecosystem` finds all conditions met.
   One of an owner and one of a name are taken (forks share it), and at most `MOST_ALIKE` of an ecosystem.

    python -m benchmarks.init.draw_repositories DRAW            the order of draw 1 or 2, to fetch snapshots by
    python -m benchmarks.init.draw_repositories DRAW SNAPSHOTS  the thirty, from SNAPSHOTS/OWNER+NAME/repo
"""

import re
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Final

# Salt of each draw, and its heading in the page of evidence.
DRAWS: Final = {
    "1": ("perf-culprit init, thirty:", "# Thirty repositories"),
    "2": ("perf-culprit init, thirty, second draw:", "# Thirty more"),
}
WANTED: Final = 30
MOST_ALIKE: Final = 8
HERE: Final = Path(__file__).parent
EVIDENCE: Final = HERE.parents[1] / "docs" / "evidence" / "init.md"
# A team's project, not an exercise.
LEAST_COMMITS: Final = 100
LEAST_AUTHORS: Final = 3
# Tools with named benchmarks, so that what ran can be compared with what the repository names.
TOOLS: Final = re.compile(
    r"cargo (\+\S+ )?(bench|criterion|codspeed)|go test [^\n]*-bench|-bench[= ]|pytest[^\n]*(bench|codspeed)|\basv\b"
    r"|vitest bench|\bjmh\b|benchmark_(out|format|filter)|hyperfine|(npm|pnpm|yarn|bun)( run)? [\w:-]*bench"
    r"|github-action-benchmark|codspeedhq/action|make [\w-]*bench|mvn[^\n]*bench",
    re.IGNORECASE,
)
# The first file at the top decides the ecosystem; these can be built on the machine of the trials.
ECOSYSTEMS: Final = (
    ("Rust", ("Cargo.toml",)),
    ("Go", ("go.mod",)),
    ("Python", ("pyproject.toml", "setup.py")),
    ("JVM", ("pom.xml", "build.gradle", "build.gradle.kts")),
    ("C and C++", ("CMakeLists.txt",)),
    ("JavaScript", ("package.json",)),
)


def order(draw: str) -> list[str]:
    salt, heading = DRAWS[draw]
    earlier = EVIDENCE.read_text().partition(heading)[0]
    named = {name.lower() for name in re.findall(r"[\w.-]+/([\w.-]+)", earlier)}
    names = {name for line in (HERE / "listings.txt").read_text().splitlines() for name in line.split()[1:]}
    new = (name for name in names if name.partition("/")[2].lower() not in named)
    return sorted(new, key=lambda name: sha256(f"{salt}{name}".encode()).hexdigest())


def git(snapshot: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", snapshot, *words], capture_output=True, check=False)
    return done.stdout.decode(errors="replace")


def ecosystem(snapshot: Path) -> str:
    """The ecosystem of a snapshot that meets all conditions, else an empty text."""
    top = set(git(snapshot, "ls-tree", "--name-only", "HEAD").split("\n"))
    kind = next((kind for kind, files in ECOSYSTEMS if top & set(files)), "")
    authors = set(git(snapshot, "log", "--format=%ae", "HEAD").split())
    workflows = git(snapshot, "ls-tree", "--name-only", "HEAD", ".github/workflows/").split()
    measures = any(TOOLS.search(git(snapshot, "show", f"HEAD:{name}")) for name in workflows)
    commits = int(git(snapshot, "rev-list", "--count", "HEAD") or 0)
    return kind if measures and commits >= LEAST_COMMITS and len(authors) >= LEAST_AUTHORS else ""


def drawn(draw: str, snapshots: Path) -> list[tuple[str, str, str]]:
    """Repository, ecosystem and commit of each that is taken."""
    taken: list[tuple[str, str, str]] = []
    used: set[str] = set()
    for repository in order(draw):
        owner, _, name = repository.partition("/")
        snapshot = snapshots / f"{owner}+{name}" / "repo"
        if len(taken) == WANTED or not snapshot.is_dir() or used & {owner.lower(), name.lower()}:
            continue
        kind = ecosystem(snapshot)
        if kind and sum(one[1] == kind for one in taken) < MOST_ALIKE:
            used |= {owner.lower(), name.lower()}
            taken.append((repository, kind, git(snapshot, "rev-parse", "--short=8", "HEAD").strip()))
    return taken


if __name__ == "__main__":
    if len(sys.argv) > 2:
        taken = drawn(sys.argv[1], Path(sys.argv[2]))
        print(*(f"{number} {' '.join(one)}" for number, one in enumerate(taken, 1)), sep="\n")
    else:
        print(*order(sys.argv[1]), sep="\n")
