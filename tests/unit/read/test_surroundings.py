"""This machine, and the files that its environment may complete."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from perf_culprit.model.run import Benchmark, Direction, Environment, Metric
from perf_culprit.read.results import surroundings
from perf_culprit.read.results.collect import Reading, collect
from perf_culprit.read.results.parsed import Parsed
from perf_culprit.read.results.surroundings import elsewhere, machine_environment
from tests.support.counter_tables import table_of
from tests.support.installed import asked_toolchain

CPU = "processor\t: 0\nmodel name\t: AMD EPYC 7763\n\nprocessor\t: 1\nmodel name\t: other\n"


@pytest.fixture
def facts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(surroundings, "CPU_FACTS", tmp_path / "cpuinfo")
    monkeypatch.setattr(surroundings, "MEMORY_FACTS", tmp_path / "meminfo")
    return tmp_path


def test_facts_are_read_from_the_kernel(facts: Path) -> None:
    (facts / "cpuinfo").write_text(CPU)
    (facts / "meminfo").write_text("MemTotal:       16374560 kB\nMemFree: 1 kB\n")
    components = machine_environment({"ImageOS": "ubuntu24", "ImageVersion": "20260101.1.0"}).components
    assert components["cpu"] == "AMD EPYC 7763"
    assert components["memory"] == "16 GiB"
    assert components["runner_image"] == "ubuntu24 20260101.1.0"
    assert components["os"] == "Linux"


def test_what_is_not_known_is_left_out(facts: Path) -> None:
    (facts / "meminfo").write_text("MemTotal: many\n")
    components = machine_environment({}).components
    assert not {"cpu", "memory", "runner_image"} & components.keys()
    assert all(components.values())


def test_runners_of_ones_own_say_so(facts: Path) -> None:
    (facts / "cpuinfo").write_text("Model : Raspberry Pi 5\n")
    components = machine_environment({"RUNNER_ENVIRONMENT": "self-hosted"}).components
    assert components["runner_image"] == "self-hosted"
    assert components["cpu"] == "Raspberry Pi 5"


def test_a_workflow_may_say_what_a_container_cannot_see() -> None:
    told = "gcc=14.2.0\nos_release = 6.8.0-azure\n=odd\nnothing\n"
    components = machine_environment({"PERF_CULPRIT_ENVIRONMENT": told}).components
    assert (components["gcc"], components["os_release"]) == ("14.2.0", "6.8.0-azure")
    assert "nothing" not in components


def test_compilers_are_asked_without_our_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, script in {
        "gcc": "echo 14.2.0",
        "rustc": 'echo "rustc 1.91.0$TOKEN (f8297e351)"',
        "node": "exit 1",
    }.items():
        (tools / name).write_text(f"#!/bin/sh\n{script}\n")
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tools))
    monkeypatch.setenv("TOKEN", "secret")
    asked_toolchain.cache_clear()
    assert asked_toolchain(tmp_path).components == {"gcc": "14.2.0", "rust": "1.91.0"}
    asked_toolchain.cache_clear()


NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


NOON_S = NOW.timestamp()


MACHINE = Environment(
    components={
        "cpu": "AMD EPYC 7763 64-Core Processor",
        "cpu_count": "4",
        "architecture": "x86_64",
        "os": "Linux",
        "host": "runner-1.example.org",
    }
)


MS = Metric(name="time", unit="ms", direction=Direction.LOWER_IS_BETTER)


TIMES = (Benchmark.of(name="sort", metric=MS, samples=(1.0, 2.0)),)


COUNTERS = Path(__file__).parents[2] / "golden" / "counters"


def of(components: dict[str, str], *, time: datetime | None = None) -> Parsed:
    return Parsed(benchmarks=TIMES, environment=Environment(components=components), time=time)


@pytest.mark.parametrize(
    "components",
    [
        pytest.param({}, id="silent"),
        pytest.param({"cpu": "AMD EPYC 7763"}, id="the processor's short name"),
        pytest.param({"cpu": "AMD EPYC(TM) 7763 CPU @ 2.45GHz"}, id="and its long one"),
        pytest.param({"architecture": "amd64", "os": "linux"}, id="go"),
        pytest.param({"architecture": "X64"}, id="dotnet"),
        pytest.param({"host": "RUNNER-1", "cpu_count": "4"}, id="short host name"),
        pytest.param({"python": "3.13", "memory": "64 GB"}, id="what does not tell machines apart"),
    ],
)
def test_a_file_of_this_machine_is_of_this_machine(components: dict[str, str]) -> None:
    assert elsewhere(of(components), MACHINE, now=NOW) is None


@pytest.mark.parametrize(
    ("components", "why"),
    [
        ({"os": "Windows", "host": "runner-1"}, "os: Windows"),
        ({"cpu": "AMD EPYC 9V74"}, "cpu: AMD EPYC 9V74"),
        ({"architecture": "arm64"}, "architecture: arm64"),
        ({"host": "db-7"}, "host: db-7"),
        ({"cpu_count": "8"}, "cpu_count: 8"),
    ],
)
def test_what_contradicts_this_machine_was_measured_elsewhere(components: dict[str, str], why: str) -> None:
    assert elsewhere(of(components), MACHINE, now=NOW) == why


@pytest.mark.parametrize(("age", "is_old"), [(timedelta(hours=5), False), (timedelta(hours=7), True)])
def test_what_is_older_than_a_job_was_measured_by_another(age: timedelta, is_old: bool) -> None:
    assert (elsewhere(of({}, time=NOW - age), MACHINE, now=NOW) is not None) is is_old
    assert (elsewhere(of({}, time=NOW + age), MACHINE, now=NOW) is not None) is is_old
    table = table_of(times_s=[NOON_S - 90_000, NOON_S - age.total_seconds()], cpu=[1, 2])
    assert (elsewhere(Parsed(counters=(table,)), MACHINE, now=NOW) is not None) is is_old


def test_a_clock_that_counts_from_the_start_has_no_date() -> None:
    assert elsewhere(Parsed(counters=(table_of(times_s=[0, 60], cpu=[1, 2]),)), MACHINE, now=NOW) is None


def test_in_a_container_counters_that_name_a_host_may_be_a_servers() -> None:
    nameless = Environment(components={"os": "Linux"})
    named = Environment(components={"host": "db-7", "os": "Linux"})
    table = table_of(times_s=[0, 60], cpu=[1, 2])
    assert elsewhere(Parsed(counters=(table,), environment=named), nameless, now=NOW) == "host: db-7"
    assert elsewhere(Parsed(benchmarks=TIMES, environment=named), nameless, now=NOW) is None


def test_a_container_has_no_machines_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(surroundings, "CONTAINER_MARKS", (tmp_path / "none",))
    assert "host" in machine_environment({}).components
    monkeypatch.setattr(surroundings, "CONTAINER_MARKS", (tmp_path,))
    assert "host" not in machine_environment({}).components


def test_a_windows_log_that_is_collected_on_linux_gets_no_processor() -> None:
    run = collect([str(COUNTERS / "perfmon" / "relog.csv")], Reading(environment=MACHINE))
    assert run.environment.components["os"] == "Windows"
    assert not {"cpu", "architecture", "cpu_count"} & run.environment.components.keys()
    assert any("not measured by this job (os: Windows)" in note for note in run.notes)


def test_one_foreign_file_keeps_the_whole_run_from_being_completed(tmp_path: Path) -> None:
    (tmp_path / "loop.txt").write_text("1.5\n1.6\n")
    files = [str(tmp_path / "loop.txt"), str(COUNTERS / "sadf" / "activities.json")]
    assert collect(files[:1], Reading(environment=MACHINE)).environment == MACHINE
    assert "cpu" not in collect(files, Reading(environment=MACHINE)).environment.components


def test_a_file_of_an_environment_holds_the_machine_before_its_packages() -> None:
    many = {f"npm:p{number}": "1" * 90 for number in range(5_000)} | {"cpu": "EPYC"}
    kept = Environment(components=many).bounded.components
    assert kept["cpu"] == "EPYC"
    assert 900 < len(kept) < 2_000
    assert sum(map(len, (*kept, *kept.values()))) <= 100_000
