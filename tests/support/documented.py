"""The commands of the documentation, line by line, and a project in which they run unchanged."""

import gzip
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final

from msgspec.structs import replace

from perf_culprit.git.command import Remote
from perf_culprit.model.run_file import encode_run
from perf_culprit.store.opening import open_git_branch
from tests.support.execution_logs import call, log
from tests.support.git_repository import init_repository, run_git
from tests.support.measurements import measured, measured_json
from tests.support.noisy_counters import counter_run
from tests.support.recipes import PROJECT
from tests.support.scenarios import PYTEST
from tests.support.stored_runs import make_run

DOCUMENTS: Final = (
    PROJECT / "README.md",
    PROJECT / ".github" / "CONTRIBUTING.md",
    # The tutorial makes a project of its own: tests/e2e/test_tutorial.py.
    *sorted(set((PROJECT / "docs").rglob("*.md")) - {PROJECT / "docs" / "first-regression.md"}),
)
PROGRAMS: Final = ("perf-culprit", "sh", "bash", "pip", "pytest", "go", "git", "mutmut", "python")
COMMAND: Final = re.compile(rf"^ {{4}}((?:{'|'.join(PROGRAMS)}) (?:\\\n|[^\n])*)", re.MULTILINE)
# A table's cell: the command that leads to the subject of its row.
CELL: Final = re.compile(r" \| `(perf-culprit [^`\n]+)` \| ")
SCRIPT: Final = re.compile(
    r"(?:\bpython |^ *)((?:-m )?(?:benchmarks|tests)[\w./]+|-m perf_culprit[\w.]*)((?: [^\n`]*)?)", re.MULTILINE
)
MENTION: Final = re.compile(r"`(?:sh \.ci/env )?perf-culprit ([a-z][^`\n]*)`")
# Its level is the commit's, its noise from a counter: no clock, and no two executions alike.
BENCH: Final = r"""#!/bin/sh
n=0; test ! -e COUNTER || read -r n < COUNTER; echo $((n + 1)) > COUNTER
read -r value < value
value=$((value * (1000 + (n * 37 + n * n * 11) % 21 - 10)))
echo "[{\"name\": \"parse\", \"unit\": \"ns\", \"value\": $value}]" > "${2:-/dev/stdout}"
"""
SCRIPT_BENCH: Final = """import pathlib

def parse(text):
    return [word.upper() for word in text.split()]

for _ in range(5000):
    parse("one two three " * 50)
counter = pathlib.Path("COUNTER")
n = int(counter.read_text()) if counter.exists() else 0
counter.write_text(str(n + 1))
print(int(pathlib.Path("value").read_text()) * (1000 + (n * 37 + n * n * 11) % 21 - 10))
"""
GO: Final = """#!/bin/sh
for n in 1 2 3 4 5 6 7 8 9 10; do echo "BenchmarkParse-8 \t 1000 \t 10$n ns/op"; done
"""
LEVELS: Final = (1000, 1000, 1000, 1500, 1500, 1500)
TAGS: Final = {"v1.0": 0, "v1.4": 1, "v1.1": 4}
RUNS: Final = 18  # what `changes` needs
SUITE: Final = {"sort": 0.004, "parse": 0.02}


def commands() -> Iterator[tuple[str, str]]:
    """Yield document and command: one line, without its comment."""
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        for command in (*COMMAND.findall(text), *CELL.findall(text)):
            joined = re.sub(r"\s*\\\n\s*", " ", command)
            yield document.relative_to(PROJECT).as_posix(), re.sub(r"  +#.*", "", joined).strip()


def mentions() -> Iterator[tuple[str, str]]:
    """Yield document or module, and a command that one of its sentences names."""
    for source in (*DOCUMENTS, *PROJECT.glob("bot/**/*.py"), *PROJECT.glob("benchmarks/**/*.py")):
        for command in MENTION.findall(source.read_text(encoding="utf-8")):
            yield source.relative_to(PROJECT).as_posix(), command


def lay_out(folder: Path, *, python: str) -> Path:
    """Make the checked-out project; its programs are in `folder/bin`, its history in its remote."""
    project, programs, counter = folder / "project", folder / "bin", folder / "counter"
    programs.mkdir()
    stubs = {"pytest": PYTEST, "go": GO, "make": "#!/bin/sh\n"}
    for name, text in {**stubs, "python": f'#!/bin/sh\nexec "{python}" "$@"\n'}.items():
        executable(programs / name, text.replace("COUNTER", str(counter)))
    remote = init_repository(folder / "remote.git", bare=True)
    init_repository(project)
    run_git(project, "remote", "add", "origin", str(remote))
    for name in ("bench.py", "render.py"):
        (project / name).write_text(SCRIPT_BENCH.replace("COUNTER", str(counter)))
    executable(project / "bench", BENCH.replace("COUNTER", str(counter)))
    for number, level in enumerate(LEVELS):
        (project / "value").write_text(f"{level}\n")
        (project / "number").write_text(f"{number}\n")
        run_git(project, "add", "--all")
        run_git(project, "commit", "--quiet", "--message", f"commit {number}")
    commits = run_git(project, "rev-list", "--reverse", "HEAD").split()
    for tag, number in TAGS.items():
        run_git(project, "tag", tag, commits[number])
    run_git(project, "push", "--quiet", "--set-upstream", "origin", "main")
    with open_git_branch(Remote(url=str(remote))) as history:
        for number in range(RUNS):
            run = measured(SUITE, seed=number, commit=commits[number % len(commits)])
            history.append(replace(run, time=make_run(number).time))
    write_results(project)
    return project


def executable(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def write_results(folder: Path) -> None:
    """Write the files that the commands read: benchmark results, tables, logs, profiles and models."""
    random = Random(1)
    in_turn = [f"{side}-{number}" for side in ("base", "head") for number in range(1, 7)]
    outs = [f"{out}/{name}" for out in ("measured", "out") for name in ("baseline", "target")]
    confirmed = ["out/confirm-baseline", "out/confirm-target"]
    alone = ["bench", "bench-1.0", "bench-1.1", "bench-1.2", "old", "new", "newer", "old-run", "new-run"]
    for name in (*in_turn, *outs, *confirmed, *alone):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / f"{name}.json").write_bytes(measured_json(SUITE, seed=random.randrange(999)))
    (folder / "old.txt").write_text("".join(f"BenchmarkParse-8 \t 1000 \t 10{n} ns/op\n" for n in range(10)))
    calls = [call(f"c{n}", [("1", "Shop.order", 10.0 + n), ("1.1", "Dao.find", 4.0)], second=n) for n in range(9)]
    for name in ("app.log", "server.log"):
        (folder / name).write_bytes(log(execution for executions in calls for execution in executions))
    write_tables(folder, random)
    golden = PROJECT / "tests" / "golden"
    shutil.copy(golden / "diagnosis" / "diagnosis.json", folder)
    (folder / "trace.json.gz").write_bytes(gzip.compress((golden / "profiles" / "viztracer.json").read_bytes()))
    for name in (f"{side}-{number}.json" for side in ("before", "after") for number in range(5)):
        shutil.copy(golden / "profiles" / "pyspy.speedscope.json", folder / name)
    write_designs(folder)


def write_tables(folder: Path, random: Random) -> None:
    for name in ("good-1", "good-2", "good-3", "load-test"):
        rows = (f"{second},{random.gauss(50, 3):.2f},{random.gauss(800, 9):.1f}" for second in range(60))
        (folder / f"{name}.csv").write_text("\n".join(["time,cpu [%],heap [MB]", *rows, ""]))
    for name in ("old", "new"):
        table = counter_run({"cpu": [random.gauss(50, 3) for _ in range(60)]})
        (folder / f"{name}-counters.json").write_bytes(encode_run(table))
    values = [random.gauss(100 if row < 30 else 120, 2) for row in range(60)]
    (folder / "nightly.csv").write_text("\n".join(["mean", *(f"{value:.2f}" for value in values), ""]))
    builds = (f"{row:07x},{value:.2f}" for row, value in enumerate(values))
    (folder / "builds.csv").write_text("\n".join(["sha,p99", *builds, ""]))
    columns = "TraceID,SpanID,ParentID,ServiceName,OperationName,StartTime,Duration\n"
    spans = [
        f"{n},{n}a,,shop,order,{n * 1000},{900 + n}\n{n},{n}b,{n}a,dao,find,{n * 1000 + 9},400\n" for n in range(9)
    ]
    for name in ("before.csv", "after.csv"):
        (folder / name).write_text(columns + "".join(spans))


def write_designs(folder: Path) -> None:
    """Write the examples, cut to minutes; a design that did not change; and one with its measurements."""
    (folder / "docs" / "simulation").mkdir(parents=True)
    for path in (PROJECT / "docs" / "simulation").glob("*.yml"):
        text = re.sub(r"duration: \d+ h", "duration: 1 min", path.read_text(encoding="utf-8"))
        (folder / "docs" / "simulation" / path.name).write_text(text, encoding="utf-8")
    document = (PROJECT / "docs" / "simulation.md").read_text(encoding="utf-8")
    (shop,) = re.findall(r"```yaml\n(name: shop\n.*?)```", document, re.DOTALL)
    (calibration,) = re.findall(r"```text\n(calibration:\n.*?)```", document, re.DOTALL)
    for name, more in (("old-design", ""), ("new-design", "# as it was\n"), ("shop", calibration)):
        (folder / f"{name}.yml").write_text(shop.replace("30 min", "1 min") + more, encoding="utf-8")
    random = Random(2)
    rates = [(random.uniform(1, 6), random.uniform(10, 30)) for _ in range(60)]
    rows = (f"{second},{a:.3f},{b:.3f},{a + b + random.gauss(20, 0.5):.3f}" for second, (a, b) in enumerate(rates))
    (folder / "measured.csv").write_text("\n".join(["time,orders per second,pages per second,cpu busy", *rows, ""]))


def scripts() -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield file, script and options of each mention of our scripts; a script is a path, or `-m` and a module."""
    sources = (*DOCUMENTS, *PROJECT.glob("benchmarks/**/*.md"), *PROJECT.glob("benchmarks/**/*.py"))
    for source in (*sources, *PROJECT.glob("tests/**/*.py"), *PROJECT.glob("bot/**/*.py")):
        for script, rest in SCRIPT.findall(source.read_text(encoding="utf-8")):
            if script.startswith("-m ") or script.endswith(".py"):
                yield (
                    source.relative_to(PROJECT).as_posix(),
                    script,
                    tuple(sorted(set(re.findall(r"(?<!\S)\[?(--[\w-]+)", rest)))),
                )
