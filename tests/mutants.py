"""A seeded sample of mutants of every module: python -m tests.mutants [--each N] [--seed N] [MODULE...]

Mutmut writes the mutants that pyproject.toml names and records which test reaches which function. All of them would
take it a night. This program judges some of each module, each in a fork of one process that has collected the tests.
The tests that reach a mutant run, the fastest first, until one fails. The same seed and code give the same mutants.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

MUTMUT: Final = str(Path(sys.executable).with_name("mutmut"))
MADE: Final = Path("mutants")
LEARNT: Final = MADE / "mutmut-stats.json"
FOLDERS: Final = ("tests/unit/stats", "tests/unit/judge", "tests/unit/search")
KILLED, SURVIVED, UNTESTED = "killed", "survived", "untested"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--each", type=int, default=3, metavar="N", help="mutants of each module (default: 3)")
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    parser.add_argument("--seconds", type=float, default=60, metavar="N", help="of tests for one mutant (default: 60)")
    parser.add_argument(
        "module", nargs="*", default=["bot."], help="perf_culprit.stats, perf_culprit.judge.policy (default: all)"
    )
    options = parser.parse_args()
    # It writes the mutants and records the tests that reach them before it finds that none has this name.
    subprocess.run([MUTMUT, "run", "--max-children", "1", "none"], check=False, capture_output=True)
    if not LEARNT.exists():
        sys.exit("mutmut made no mutants: `mutmut run` says why")
    names = sample(mutants(tuple(options.module)), each=options.each, seed=options.seed)
    learnt = json.loads(LEARNT.read_bytes())
    judge = Judge(names=names, reached_by=learnt["tests_by_mangled_function_name"], took=learnt["duration_by_test"])
    judge.seconds = options.seconds
    os.chdir(MADE)
    os.environ["MUTANT_UNDER_TEST"] = ""
    arguments = ("-q", "-s", "--assert=plain", "-p", "no:cacheprovider", "-m", "not slow")
    pytest.main([*arguments, *FOLDERS], plugins=[judge])
    sys.stdout.write(f"{table(judge.became)}\n")
    os.chdir("..")
    for name, status in judge.became.items():
        if status != KILLED:
            # Its first line is the name with mutmut's own status, which differs from ours.
            shown = subprocess.run([MUTMUT, "show", name], check=True, capture_output=True, text=True).stdout
            _, _, difference = shown.partition("\n")
            sys.stdout.write(f"# {name}: {status}\n{difference}")
    return 0


def mutants(modules: tuple[str, ...]) -> Iterator[Sequence[str]]:
    """Yield the mutants of each module whose name begins with one of these words."""
    for path in sorted(MADE.rglob("*.meta")):
        if ".".join(path.relative_to(MADE).parts).startswith(modules):
            yield sorted(json.loads(path.read_bytes())["exit_code_by_key"])


def sample(modules: Iterator[Sequence[str]], *, each: int, seed: int) -> list[str]:
    """Draw `each` mutants of every module, or all that it has; the choice depends on no other module."""
    drawn = (Random(f"{seed} {own[0]}").sample(own, min(each, len(own))) for own in modules if own)
    return [name for names in drawn for name in sorted(names)]


@dataclass(kw_only=True)
class Judge:
    """Pytest's loop: run the collected tests that reach a mutant, in a fork in which it is active."""

    names: Sequence[str]
    reached_by: Mapping[str, Sequence[str]]
    took: Mapping[str, float]
    seconds: float = 60
    became: dict[str, str] = field(default_factory=dict)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        for name in self.names:
            tests = [test for test in self.reached_by.get(name.rpartition("__mutmut_")[0], ()) if test in items]
            self.became[name] = self.judged(name, [items[test] for test in self.chosen(tests)]) if tests else UNTESTED
        return True

    def chosen(self, tests: Sequence[str]) -> list[str]:
        total, chosen = 0.0, list[str]()
        for test in sorted(tests, key=lambda test: self.took[test]):
            total += self.took[test]
            if chosen and total > self.seconds:
                break
            chosen.append(test)
        return chosen

    def judged(self, name: str, items: Sequence[pytest.Item]) -> str:
        if child := os.fork():
            return SURVIVED if os.waitpid(child, 0)[1] == 0 else KILLED
        try:
            os.environ["MUTANT_UNDER_TEST"] = name
            os.dup2(os.open(os.devnull, os.O_RDWR), 1)
            os.dup2(1, 2)
            # One that never ends is killed, too.
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(int(60 + 6 * self.seconds))
            for item, following in zip(items, [*items[1:], None], strict=True):
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            os._exit(0)
        finally:
            os._exit(1)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            os._exit(1)


def table(became: Mapping[str, str]) -> str:
    counts = defaultdict[str, Counter[str]](Counter)
    for name, status in became.items():
        counts[".".join(name.split(".")[:2])][status] += 1
    rows = [*sorted(counts.items()), ("all", sum(counts.values(), Counter[str]()))]
    return "\n".join(
        f"{package}: {sum(count.values())} mutants, {count[KILLED]} killed, {count[SURVIVED]} survived, "
        f"{count[UNTESTED]} reached by no test"
        for package, count in rows
    )


if __name__ == "__main__":
    sys.exit(main())
