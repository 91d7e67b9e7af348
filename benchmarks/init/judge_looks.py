"""Judge what `init` did on the drawn repositories by two lists: what ran, and what the repository names.

The repository names what its benchmark workflow selects: declarations in its sources, narrowed by the packages,
targets, paths and patterns that the workflow's commands state. If no workflow measures, all declarations count.
This script reads workflow and sources as text and uses nothing of `init`.

- right: `init` wrote a file whose command ran here, and nine of ten of the names that the repository has have results
- wrong: it wrote a file and fewer have results, or none is declared and what ran is one nameless time
- refused: it wrote nothing, or a file marked "not tried"

    python -m benchmarks.init.judge_looks LOOKS CHECKOUTS < drawn.txt   (LOOKS/out-N.json, CHECKOUTS/t-OWNER+NAME)
"""

import json
import re
import sys
from pathlib import Path
from typing import Any, Final

ENOUGH: Final = 0.9
SKIPPED: Final = re.compile(r"(^|/)(\.git|node_modules|target|vendor|\.venv|build|dist)/")
# How a tool's benchmarks are declared: path, pattern of the name.
DECLARED: Final = (
    (r"_test\.go$", r"(?m)^func (Benchmark\w+)\(\w+ \*testing\.B\)"),
    (r"(^|/)(test_|bench)[^/]*\.py$|_test\.py$", r"def (test_\w+)\([^)]*\bbenchmark\b"),
    (r"benchmarks?/[^ ]*\.py$", r"(?m)^ +def ((?:time|mem|peakmem|track)_\w+)\("),
    (r"\.rs$", r"#\[(?:divan::)?bench[^\]]*\]\s*(?:pub )?fn (\w+)|(?:bench_function|benchmark_group)\(\s*\"([^\"]+)\""),
    (r"\.bench\.[cm]?[jt]sx?$|bench[^/]*\.[cm]?[jt]s$", r"\bbench(?:\.\w+)?\(\s*['\"`]([^'\"`$]+)['\"`]"),
    (r"\.(java|kt|scala)$", r"@Benchmark\b[^;{]*?\s(\w+)\("),
    (r"\.(cc|cpp|cxx)$", r"\bBENCHMARK(?:_F|_TEMPLATE)?\((\w+)"),
)
MEASURES: Final = re.compile(
    r"cargo (?:\+\S+ )?(?:bench|codspeed)|go test[^\n]*-bench|pytest|\basv\b|vitest bench|jmh|npm run|pnpm|mvn"
)


def named(checkout: Path) -> set[str]:
    files = [
        path.relative_to(checkout).as_posix()
        for path in checkout.rglob("*")
        if path.is_file() and not path.is_symlink()
    ]
    files = [name for name in files if not SKIPPED.search(name)]
    commands = "\n".join(
        line
        for name in files
        if re.fullmatch(r"\.github/workflows/[^/]*(bench|perf)[^/]*\.ya?ml", name) and "perf-culprit" not in name
        for line in (checkout / name).read_text(errors="replace").replace("\\\n", " ").splitlines()
        if MEASURES.search(line) and not line.lstrip().startswith(("#", "- name:", "name:"))
    )
    declared: set[str] = set()
    for name in files:
        for path, pattern in DECLARED:
            if re.search(path, name) and selected(name, commands):
                text = (checkout / name).read_text(errors="replace")
                declared |= {next(filter(None, match.groups())) for match in re.finditer(pattern, text)}
    if wanted := re.findall(r"go test[^\n]*?-bench[= ]['\"]?([^'\"\s]+)", commands):
        patterns = [one for one in wanted if "$" not in one.rstrip("$")]
        declared = {name for name in declared if not patterns or any(re.search(one, name) for one in patterns)}
    return declared


def selected(name: str, commands: str) -> bool:
    """Whether the workflow's commands reach the file."""
    if name.endswith(".rs") and (targets := re.findall(r"--bench[= ](\w[\w-]*)", commands)):
        return any(f"benches/{target}" in name for target in targets)
    if name.endswith("_test.go") and re.search(r"go test", commands) and "./..." not in commands:
        folders = [one.strip("./") for one in re.findall(r"\s(\./[\w./-]*|\.)(?=\s|$)", commands)]
        return not folders or name.rpartition("/")[0] in folders
    if name.endswith(".py") and (paths := re.findall(r"pytest\s[^\n]*?([\w.-]+/[\w./-]+)", commands)):
        return any(name.startswith(path.strip("./")) for path in paths)
    return True


def judged(look: dict[str, Any], expected: set[str]) -> tuple[str, str]:
    ran = look["ran"]
    files = "".join(look["written"].values())
    if not look["written"] or "not tried: needs" in files or not ran:
        return "refused", reason(look)
    seen = {name for name in expected if any(name in one for one in ran)}
    if not expected:
        named_ones = [one for one in ran if one not in ("result", "real", "user", "sys")]
        return ("wrong" if len(named_ones) < 2 else "right"), f"{len(ran)} ran; the sources declare none"
    verdict = "right" if len(seen) >= ENOUGH * len(expected) else "wrong"
    return verdict, f"{len(ran)} ran; {len(seen)} of {len(expected)} that it names"


def reason(look: dict[str, Any]) -> str:
    told = [line.strip() for line in look["told"].splitlines()]
    marks = ("error:", "not tried:", "the benchmark ", "the build ", "dropped:")
    lines = [line for mark in marks for line in told if line.startswith(mark)]
    return lines[0][:200] if lines else "".join(told[-1:])[:200]


if __name__ == "__main__":
    looks, checkouts = Path(sys.argv[1]), Path(sys.argv[2])
    for row in sys.stdin.read().splitlines():
        number, repository, *words, commit = row.split()
        kind = " ".join(words)
        file = looks / f"out-{number}.json"
        if not file.is_file():
            print(f"| {number} | {repository} | {kind} | `{commit}` | not looked at | |")
            continue
        about = json.loads(file.read_text())
        verdict, why = judged(about, named(checkouts / f"t-{repository.replace('/', '+')}"))
        print(f"| {number} | {repository} | {kind} | `{commit}` | {verdict} | {why} |")
