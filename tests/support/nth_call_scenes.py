"""Commands whose n-th call fails: the state before each, and what must be stored after it, once."""

import json
import os
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Final

from perf_culprit.cli import command_functions  # noqa: F401 - imported here, not once more in each child
from perf_culprit.cli.entry import main
from perf_culprit.config.database_url import HISTORY_URL
from tests.support import history_check, postgresql
from tests.support.fault_table import note_figures
from tests.support.git_repository import init_repository, run_git
from tests.support.history_check import Written
from tests.support.measured_repository import COUNTER, RUN, Commit, measured_repository
from tests.support.nth_call import Action, Calls, Ended, chosen, ended, remove_locks, wrong_of

CONFIG: Final = "history: {raw-runs: 2}\n"
EARLIER: Final = 3
COMMITS: Final = 7
STEP: Final = 5
BENCHMARK: Final = "BenchmarkParse"


class Database(ABC):
    """A history in a database, whose state can be kept and put back."""

    url: str

    @abstractmethod
    def files(self) -> dict[str, bytes]: ...

    @abstractmethod
    def keep(self) -> None: ...

    @abstractmethod
    def put_back(self) -> None: ...


class Sqlite(Database):
    def __init__(self, folder: Path) -> None:
        self._file, self._kept = folder / "history.db", folder / "kept.db"
        self.url = f"sqlite:///{self._file}"

    def files(self) -> dict[str, bytes]:
        return history_check.in_sqlite(self._file)

    def keep(self) -> None:
        if self._file.exists():
            shutil.copy(self._file, self._kept)

    def put_back(self) -> None:
        for left in (self._file, self._file.with_name("history.db-journal")):
            left.unlink(missing_ok=True)
        if self._kept.exists():
            shutil.copy(self._kept, self._file)


class PostgreSQL(Database):
    def __init__(self, server: postgresql.Server) -> None:
        self._server, self.url = server, server.fresh("work")

    def files(self) -> dict[str, bytes]:
        return history_check.in_postgresql(self.url)

    def keep(self) -> None:
        self._copy("work", "kept")

    def put_back(self) -> None:
        self._copy("kept", "work")

    def _copy(self, name: str, copy: str) -> None:
        self._server.execute(f"DROP DATABASE IF EXISTS {copy} WITH (FORCE)", f"CREATE DATABASE {copy} TEMPLATE {name}")


@dataclass
class Place:
    """A project, its history and the state of both, to be put back. The history is a branch without `database`."""

    folder: Path
    database: Database | None = None
    commits: list[str] = field(default_factory=list)

    @property
    def work(self) -> Path:
        return self.folder / "work"

    @property
    def project(self) -> Path:
        return self.work / "project"

    @property
    def temporary(self) -> Path:
        return self.work / "temporary"

    def make(self) -> None:
        """Make a project of some commits, with an empty history."""
        self.work.mkdir(parents=True)
        commits = {f"c{at}": Commit(level=1000 if at < STEP else 1600) for at in range(COMMITS)}
        self.commits = list(measured_repository(self.project, commits).values())
        run_git(self.project, "remote", "add", "origin", str(self.work / "origin.git"))
        init_repository(self.work / "origin.git", bare=True)
        (self.project / ".github").mkdir()
        (self.project / ".github" / "perf-culprit.yml").write_text(CONFIG)
        self.temporary.mkdir()

    def keep(self) -> None:
        """Keep the state, to be put back."""
        shutil.copytree(self.work, self.folder / "kept", symlinks=True)
        if self.database:
            self.database.keep()

    def put_back(self) -> None:
        shutil.rmtree(self.work)
        shutil.copytree(self.folder / "kept", self.work, symlinks=True)
        if self.database:
            self.database.put_back()

    def files(self) -> dict[str, bytes]:
        return self.database.files() if self.database else history_check.on_branch(self.work / "origin.git")

    def command(self, *arguments: str) -> Action:
        def action() -> int:
            os.chdir(self.project)
            os.environ |= {"TMPDIR": str(self.temporary), COUNTER: str(self.work / "counter")}
            tempfile.tempdir = str(self.temporary)
            if self.database:
                os.environ[HISTORY_URL] = self.database.url
            return main([*arguments])

        return action

    def do(self, *arguments: str, code: int = 0) -> None:
        done = ended(self.folder, self.command(*arguments))
        assert done.code == code, done.output


class Scene(ABC):
    """A command. `prepare` makes the state before it; `again` is the next run after a disturbed one."""

    name: ClassVar[str]

    def __init__(self, place: Place) -> None:
        self.place = place
        place.make()
        for at in range(COMMITS):
            self.results(at).write_text("".join(f"{BENCHMARK}-8 100 {value} ns/op\n" for value in samples(at)))
        self.prepare()
        self.before = place.files()
        place.keep()

    def prepare(self) -> None:
        for at in range(EARLIER):
            self.place.do("record", str(self.results(at)), "--commit", self.place.commits[at])

    @abstractmethod
    def command(self) -> Sequence[str]: ...

    def again(self) -> Sequence[str]:
        return self.command()

    def written(self, *, is_certain: bool) -> list[Written]:
        earlier = [Written(commit=self.place.commits[at], samples={BENCHMARK: samples(at)}) for at in range(EARLIER)]
        return [*earlier, *self.new(is_certain=is_certain)]

    def new(self, *, is_certain: bool) -> list[Written]:  # noqa: ARG002 - most commands write runs
        return []

    def results(self, at: int) -> Path:
        return self.place.project / f"result-{at}.txt"

    def right(self, *, is_done: bool) -> None:
        """Raise if something is lost, twice or changed; `is_done`: or not there yet."""
        files = self.place.files()
        wrong = list(history_check.faults(files, self.written(is_certain=is_done)))
        assert not wrong, wrong
        for kind in ("accepted/", "bisections/"):
            for path, content in self.before.items():
                assert not path.startswith(kind) or files.get(path) == content, path
        self.others(files, is_done=is_done)

    def others(self, files: Mapping[str, bytes], *, is_done: bool) -> None:  # noqa: ARG002 - most write runs alone
        assert self.count(files, "accepted/") == self.count(self.before, "accepted/")
        assert self.count(files, "bisections/") == 0

    @staticmethod
    def count(files: Mapping[str, bytes], kind: str) -> int:
        return sum(path.startswith(kind) for path in files)


def samples(at: int) -> tuple[float, ...]:
    return tuple(float(1000 * (1 + (at >= STEP)) + 10 * at + n) for n in range(3))


class Record(Scene):
    name = "record"

    def command(self) -> Sequence[str]:
        return ["record", str(self.results(6)), "--commit", self.place.commits[6]]

    def new(self, *, is_certain: bool) -> list[Written]:
        return [Written(commit=self.place.commits[6], samples={BENCHMARK: samples(6)}, is_certain=is_certain)]


class Import(Scene):
    name = "import"

    def prepare(self) -> None:
        super().prepare()
        entries = [
            {
                "commit": {"id": commit, "message": "m", "timestamp": "2026-01-01T00:00:00Z", "url": "u"},
                "date": 1_767_000_000_000 + 60_000 * at,
                "tool": "customSmallerIsBetter",
                "benches": [{"name": "imported", "value": 100.0 + at, "unit": "ns"}],
            }
            for at, commit in enumerate(self.place.commits)
        ]
        data = json.dumps({"entries": {"default": entries}})
        (self.place.project / "data.js").write_text(f"window.BENCHMARK_DATA = {data}")

    def command(self) -> Sequence[str]:
        return ["import", str(self.place.project / "data.js")]

    def new(self, *, is_certain: bool) -> list[Written]:
        return [
            Written(commit=commit, samples={"imported": (100.0 + at,)}, is_certain=is_certain)
            for at, commit in enumerate(self.place.commits)
        ]


class Accept(Scene):
    name = "accept"

    def command(self) -> Sequence[str]:
        return ["accept", BENCHMARK, "--reason", "wanted", "--author", "Ada", "--commit", self.place.commits[2]]

    def others(self, files: Mapping[str, bytes], *, is_done: bool) -> None:
        assert self.count(files, "accepted/") in ((1,) if is_done else (0, 1))


class Compact(Scene):
    name = "compact"

    def prepare(self) -> None:
        super().prepare()
        (self.place.project / ".github" / "perf-culprit.yml").write_text("history: {raw-runs: 1}\n")

    def command(self) -> Sequence[str]:
        return ["history", "compact"]

    def others(self, files: Mapping[str, bytes], *, is_done: bool) -> None:
        super().others(files, is_done=is_done)
        if is_done:
            assert run_git(self.place.work / "origin.git", "rev-list", "--count", "perf-history") == "1"
            assert sum(path.endswith(".summary.json") for path in files) == EARLIER - 1


class Backfill(Scene):
    name = "backfill"

    def prepare(self) -> None:
        pass

    def command(self) -> Sequence[str]:
        options = ("--executions", "2", "--log", str(self.place.work / "backfill.log"))
        return ["backfill", "--since", self.place.commits[4], "--every", "1", "--run", "cat value", *options]

    def written(self, *, is_certain: bool) -> list[Written]:
        return [
            Written(commit=commit, samples={"result": (level, level)}, is_certain=is_certain)
            for commit, level in zip(self.place.commits[4:], (1000.0, 1600.0, 1600.0), strict=True)
        ]


class Bisect(Scene):
    name = "bisect"

    def prepare(self) -> None:
        pass

    @property
    def state(self) -> Path:
        return self.place.work / "state.json"

    def command(self) -> Sequence[str]:
        ends = ("--good", self.place.commits[STEP - 2], "--bad", self.place.commits[-1])
        where = [] if self.place.database else ["--history"]
        options = ("--state", str(self.state), "--prior", "uniform", "--profile-seconds", "0", "--record", *where)
        return ["bisect", *ends, "--run", RUN, *options, "--json", str(self.place.work / "answer.json")]

    def again(self) -> Sequence[str]:
        return [*self.command(), *(["--resume", str(self.state)] if self.state.exists() else [])]

    def right(self, *, is_done: bool) -> None:
        files = self.place.files()
        assert not list(history_check.misnamed(files))
        bisections = [json.loads(content) for path, content in files.items() if path.startswith("bisections/")]
        assert len(bisections) in ((1,) if is_done else (0, 1)), f"{len(bisections)} bisections"
        runs = [json.loads(content) for path, content in files.items() if path.startswith("runs/")]
        commits = [run["commit"] for run in runs]
        assert len(set(commits)) == len(commits), "a commit's runs are there twice"
        for one in bisections:
            results = one["bisection"]["search"]["results"]
            measured = {commit for result in results for commit in result["values"]}
            assert set(commits) <= measured
            if is_done:
                assert set(commits) == measured
        if is_done:
            answer = json.loads((self.place.work / "answer.json").read_text())
            assert [one["commit"] for one in answer["culprits"]] == [self.place.commits[STEP]]


class Measure(Scene):
    name = "measure"
    # The run files that it writes, each for a commit.
    written_names: ClassVar[tuple[str, ...]] = ("baseline", "target")

    def prepare(self) -> None:
        pass

    @property
    def run_files(self) -> list[Path]:
        return [self.place.work / "out" / f"{name}.json" for name in self.written_names]

    def command(self) -> Sequence[str]:
        ends = ("--commits", self.place.commits[STEP - 1], self.place.commits[STEP])
        return ["measure", *ends, "--rounds", "3", "--run", RUN, "--output", str(self.place.work / "out")]

    def again(self) -> Sequence[str]:
        return [*self.command(), *(["--resume"] if all(file.exists() for file in self.run_files) else [])]

    def right(self, *, is_done: bool) -> None:
        runs = [json.loads(file.read_text()) for file in self.run_files if file.exists()]
        for run in runs:
            (benchmark,) = run["benchmarks"]
            rounds = benchmark["rounds"]
            assert len(benchmark["samples"]) == len(rounds) == 2 * len(set(rounds)), rounds
            assert sorted(set(rounds)) == list(range(1, len(set(rounds)) + 1)), rounds
        if is_done:
            assert len(runs) == len(self.run_files)
            assert {len(run["benchmarks"][0]["samples"]) for run in runs} == {6}
        assert self.place.files() == {}


class Verify(Measure):
    name = "verify"
    written_names = ("baseline", "target-1", "target-2")

    def command(self) -> Sequence[str]:
        commits = ("--culprit", self.place.commits[STEP], "--fix", self.place.commits[0])
        return ["verify", *commits, "--rounds", "3", "--run", RUN, "--output", str(self.place.work / "out")]

    def again(self) -> Sequence[str]:
        return self.command()  # it starts again from the first round


def wrong_cells(scene: Scene, calls: Calls) -> dict[str, str]:
    """Return the wrong cells of the command's table: each chosen call, with a fault in turn."""
    return wrong_of(lambda: _table(scene, calls))


def _table(scene: Scene, calls: Calls) -> dict[str, str]:
    scene.place.put_back()
    command = scene.place.command(*scene.command())
    undisturbed, listed = calls.of(command)
    assert undisturbed.code == 0, undisturbed.output
    scene.right(is_done=True)
    cells: dict[str, str] = {}
    for at in chosen(len(listed)):
        scene.place.put_back()
        fault = calls.faults[at % len(calls.faults)]
        result = calls.disturbed(command, listed[at], fault)
        if fault == "killed":
            remove_locks(scene.place.work / "origin.git")
        cells[f"{listed[at]}, {fault}"] = _outcome(scene, calls, result)
    back_end = type(scene.place.database).__name__ if scene.place.database else "branch"
    note_figures(f"{scene.name}, {back_end}, {type(calls).__name__}", f"{len(listed)} calls", cells.values())
    return cells


def _outcome(scene: Scene, calls: Calls, result: Ended) -> str:
    """Classify the result: right at once, reported or killed and right by the next call, or wrong."""
    if "this is a bug" in result.output or "Traceback" in result.output or result.code == 1:
        return f"wrong: exit code {result.code}: {result.output[-500:]}"
    try:
        scene.right(is_done=result.code == 0)
    except AssertionError as error:
        return f"wrong: after exit code {result.code}: {error} {result.output[-300:]}"
    if not result.hit:
        # What a command reads from others does not always come in as many pieces.
        return "not met" if result.code == 0 else f"wrong: {result.code} without a fault: {result.output[-500:]}"
    if result.code is not None and (left := list(scene.place.temporary.iterdir())):
        return f"wrong: left {left}"
    again = ended(calls.folder, scene.place.command(*scene.again()))
    try:
        assert again.code == 0, again.output[-500:]
        scene.right(is_done=True)
    except AssertionError as error:
        return f"wrong: by the next call: {error}"
    return "killed" if result.code is None else "reported" if result.code else "right"
