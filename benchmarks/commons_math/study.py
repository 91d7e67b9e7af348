"""Releases of Apache Commons Math, as in the case study of [H13] 5.2, judged by anova and categories.

    python -m benchmarks.commons_math.study            # judges what was recorded
    python -m benchmarks.commons_math.study --record   # needs Maven and a JDK; 6 minutes of one core
    python -m benchmarks.commons_math.study --diagnose # compares the call trees around the regression

The source bisected weekly commits of 2010; Maven Central has the releases around them. Each release runs the same
tests, 50 repetitions in ten processes that alternate with those of all others.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from tabulate import tabulate

HERE: Final = Path(__file__).parent
RECORDED: Final = HERE / "recorded.json"
RELEASES: Final = ("2.0", "2.1", "2.2", "3.0", "3.1", "3.1.1", "3.2", "3.3", "3.4", "3.5", "3.6.1")
ROUNDS, REPETITIONS, STACKED_SECONDS, STACKED_RUNS = 10, 5, 2, 5
# The test of the source's regression, and the releases around it.
SLOW_TEST, BEFORE, AFTER = "percentile, one value", "2.1", "2.2"
CONFIGURATION: Final = """\
categories: [{name: fast, below: 10 ms}, {name: medium, below: 100 ms}, {name: slow}]
"""
PERF_CULPRIT: Final = (sys.executable, "-m", "perf_culprit")
# release -> test -> round -> milliseconds
Recorded = Mapping[str, Mapping[str, list[list[float]]]]


def java(release: str, folder: Path) -> list[str]:
    """Return the command that runs the study, compiled against a release. Packages were renamed with 3.0."""
    package = "commons-math" if release < "3" else "commons-math3"
    artifact = f"-Dartifact=org.apache.commons:{package}:{release}:jar"
    for goal in (["dependency:get"], ["dependency:copy", f"-DoutputDirectory={folder}"]):
        subprocess.run(["mvn", "-q", "-B", *goal, artifact], check=True)
    jar, source = folder / f"{package}-{release}.jar", folder / release / "Study.java"
    text = (HERE / "Study.java").read_text()
    source.parent.mkdir()
    source.write_text(text if release >= "3" else text.replace("commons.math3", "commons.math"))
    subprocess.run(["javac", "-cp", str(jar), "-d", str(source.parent), str(source)], check=True)
    return ["java", "-cp", f"{source.parent}:{jar}", "Study"]


def record(folder: Path) -> None:
    times: dict[str, dict[str, list[list[float]]]] = {release: {} for release in RELEASES}
    commands = {release: java(release, folder) for release in RELEASES}
    for _ in range(ROUNDS):
        for release, command in commands.items():
            done = subprocess.run([*command, str(REPETITIONS)], check=True, capture_output=True)
            for entry in json.loads(done.stdout):
                (samples,) = entry["primaryMetric"]["rawData"]
                times[release].setdefault(entry["benchmark"], []).append([round(time, 4) for time in samples])
    RECORDED.write_text(json.dumps(times) + "\n")


def diagnose(folder: Path) -> None:
    """Locate the source's regression by the sampled stacks of the releases around it."""
    stacks: dict[str, list[str]] = {BEFORE: [], AFTER: []}
    for release, names in stacks.items():
        command = [*java(release, folder), str(STACKED_SECONDS), SLOW_TEST]
        for number in range(STACKED_RUNS):
            names.append(str(folder / f"{release}-{number}.folded"))
            Path(names[-1]).write_bytes(subprocess.run(command, check=True, capture_output=True).stdout)
    sides = ["--baseline", *stacks[BEFORE], "--target", *stacks[AFTER]]
    subprocess.run([*PERF_CULPRIT, "diagnose", *sides, "--top", "3"], check=True)


def written(recorded: Recorded, folder: Path) -> dict[str, list[str]]:
    """Write a file in JMH's format for each process; return the files by release."""
    files: dict[str, list[str]] = {}
    for release, tests in recorded.items():
        for number in range(ROUNDS):
            path = folder / f"{release}-{number}.json"
            path.write_text(json.dumps([entry(name, rounds[number]) for name, rounds in tests.items()]))
            files.setdefault(release, []).append(str(path))
    return files


def entry(name: str, samples: list[float]) -> dict[str, Any]:
    metric = {"score": sum(samples) / len(samples), "scoreError": "NaN", "scoreUnit": "ms/op", "rawData": [samples]}
    return {"benchmark": name, "mode": "ss", "forks": 1, "primaryMetric": metric}


def changes(files: Mapping[str, list[str]], before: str, after: str, folder: Path) -> Iterator[tuple[str, ...]]:
    """Yield the changes that `compare` reports between two releases."""
    configuration, report = folder / "perf-culprit.yml", folder / "report.json"
    configuration.write_text(CONFIGURATION)
    command = [*PERF_CULPRIT, "compare", "--paired", "--detector", "anova", "--config", str(configuration)]
    command += ["--json", str(report), "--baseline", *files[before], "--target", *files[after]]
    subprocess.run(command, check=False, capture_output=True)
    for finding in json.loads(report.read_text())["findings"]:
        if finding["verdict"] in {"regression", "improvement", "suspected"}:
            change = f"{finding['relative_change']:+.0%}"
            words = (str(finding[name] or "") for name in ("verdict", "severity", "category"))
            yield f"{before} → {after}", finding["benchmark"], change, *words


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "--diagnose" in sys.argv:
            diagnose(folder)
            return
        if "--record" in sys.argv:
            record(folder)
        files = written(json.loads(RECORDED.read_text()), folder)
        rows = [row for before, after in pairwise(RELEASES) for row in changes(files, before, after, folder)]
        print(tabulate(rows, headers=("releases", "test", "change", "verdict", "severity", "category before")))


if __name__ == "__main__":
    main()
