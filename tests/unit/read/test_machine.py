from pathlib import Path

import pytest

from perf_culprit.read.results import surroundings
from perf_culprit.read.results.surroundings import machine_environment
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
