"""The benchmarks that a repository's sources declare by name: what a guess must give to stand for the whole suite."""

import re
from collections.abc import Collection
from typing import Final

from perf_culprit.init.repository import Repository

# What runs them, the files that declare them, and the declaration with its name.
_DECLARED: Final = tuple(
    (re.compile(program), re.compile(file), re.compile(name))
    for program, file, name in (
        (r"\bgo test\b", r"_test\.go$", r"(?m)^func (Benchmark\w+)\(\w+ \*testing\.B\)"),
        (r"\bpytest\b", r"(^|/)(test_|bench)[^/]*\.py$|_test\.py$", r"def (test_\w+)\([^)]*\bbenchmark\b"),
        (r"\basv\b", r"benchmarks?/.*\.py$", r"(?m)^ +def ((?:time|mem|peakmem|track)_\w+)\("),
        (
            r"\bcargo\b",
            r"\.rs$",
            r"#\[(?:divan::)?bench[^\]]*\]\s*(?:pub )?fn (\w+)|\bbench(?:_function|mark_group)\(\s*\"([^\"]+)\"",
        ),
        (
            r"\b(npm|pnpm|yarn|bun|node|vitest|deno)\b",
            r"bench[^/]*\.[cm]?[jt]sx?$",
            r"\bbench\(\s*['\"`]([^'\"`$]+)['\"`]",
        ),
        (r"\b(mvnw?|gradlew?|java|sbt)\b", r"\.(java|kt|scala)$", r"@Benchmark\b[^;{]*?\s(\w+)\("),
        (r"\b(cmake|benchmark_\w+)\b", r"\.(cc|cpp|cxx)$", r"\bBENCHMARK(?:_F|_TEMPLATE)?\((\w+)"),
    )
)
# A few benchmarks may be switched off for this system.
_DECLARED_SHARE: Final = 0.9


def lost_names(repository: Repository, commands: Collection[str], results: Collection[str]) -> list[str]:
    """Return the declared benchmarks without a result if too many are; `commands` choose the languages, else all."""
    rows = [row for row in _DECLARED if row[0].search("\n".join(commands))] or _DECLARED
    texts = ((name, repository.read(path)) for _, file, name in rows for path in repository.matching(file))
    declared = {next(filter(None, match.groups())) for name, text in texts for match in name.finditer(text)}
    lost = sorted(name for name in declared if not any(name in result for result in results))
    return lost if len(lost) > (1 - _DECLARED_SHARE) * len(declared) else []
