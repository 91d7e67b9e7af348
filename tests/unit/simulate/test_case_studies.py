"""METHODS 7. Both case studies of the source [F11, 4.3]: its published figures by name, and the claims of its text."""

from functools import cache
from pathlib import Path

import pytest

from perf_culprit.commands.analysis_requests import Simulate
from perf_culprit.flows.simulations import simulate_design
from perf_culprit.model.simulation import Layer, Simulation, SimulationReport
from perf_culprit.simulate.design_file import load_design
from perf_culprit.simulate.replication import replicate, simulation
from perf_culprit.simulate.studies import combinations, level_among, saturation, sweep

EXAMPLES = Path(__file__).parents[3] / "docs" / "simulation"


def simulated(name: str, *, duration_s: float | None = None, **parameters: str) -> Simulation:
    design = load_design(EXAMPLES / f"{name}.yml", parameters)
    scenario = next(iter(design.scenario))
    if duration_s is not None:
        shorter = design.scenario[scenario].model_copy(update={"duration": duration_s})
        design = design.model_copy(update={"scenario": {scenario: shorter}})
    return simulation(design, scenario, [replicate(design, scenario, 1, 0)], seed=1)


def mean(result: Simulation, of: str, output: str) -> float:
    value = result.mean(of, output)
    assert value is not None
    return value


@pytest.mark.slow  # three half hours
def test_rss_cloud_bends_at_17_requests_per_second_with_cpu_full_and_threads_and_ram_below_half() -> None:
    below, at, above = (simulated("rss-cloud", rate=rate, duration_s=1800) for rate in ("13/s", "17/s", "22/s"))
    assert mean(below, "notification", "throughput") == pytest.approx(13, rel=0.03)
    assert mean(above, "notification", "throughput") == pytest.approx(17, rel=0.01)
    assert mean(at, "rss-server", "cpu utilisation") > 98
    assert mean(above, "rss-server", "cpu utilisation") == pytest.approx(100, abs=0.1)
    for entry in (at, above):
        assert mean(entry, "rss-server", "threads utilisation") < 50
        assert mean(entry, "rss-server", "ram utilisation") < 50
    assert mean(above, "notification", "response time") > 10 * mean(below, "notification", "response time")
    assert above.bottleneck is not None
    assert (above.bottleneck.component, above.bottleneck.resource) == ("rss-server", "cpu")
    assert not below.overloaded
    assert above.overloaded


@pytest.mark.slow  # about six simulated quarters of an hour with some 17 requests per second
def test_rss_cloud_saturation_is_found_at_17() -> None:
    design = load_design(EXAMPLES / "rss-cloud.yml")
    quarter = design.scenario["hour"].model_copy(update={"duration": 900.0})
    design = design.model_copy(update={"scenario": {"hour": quarter}})
    limit = saturation(design, "hour", seed=0, tell=lambda _: None)
    assert limit.error < 0.02
    assert limit.rate * limit.stable == pytest.approx(17, rel=limit.error + 0.005)
    assert limit.stable < limit.saturated <= limit.stable * 1.01
    assert limit.bottleneck is not None
    assert limit.bottleneck.resource == "cpu"


def test_one_blog_and_one_user_are_served_and_timed() -> None:
    """[F11, 4.3.1.5]: all requests are served, and each takes its 2 s plus its transmission."""
    text = (EXAMPLES / "rss-cloud.yml").read_text(encoding="utf-8")
    one = text.replace("normal(20, 4)", "1").replace("loss: 1%", "loss: 0%")
    from perf_culprit.simulate.design_file import parse_design

    design = parse_design(one.encode(), {"rate": "1/min"}, place="one.yml")
    result = simulation(design, "hour", [replicate(design, "hour", 0, 0)], seed=0)
    # 2 s of processing, 50 ms from the blog, and to a user of either continent 95 ms and 5 KB at 1 or 2 Mbit/s.
    assert mean(result, "notification", "response time") == pytest.approx(2.05 + 0.095 + 0.03, abs=0.03)


@cache
def monitor_sweep() -> SimulationReport:
    """The sweep over forty minutes instead of eight hours, which has the same winners."""
    text = (EXAMPLES / "performance-monitor.yml").read_text(encoding="utf-8")
    path = Path("shorter.yml")
    from perf_culprit.simulate.design_file import parse_design

    data = text.replace("duration: 8 h", "duration: 40 min").encode()
    design = parse_design(data, {}, place=str(path))
    designs = [parse_design(data, values, place=str(path)) for values in combinations(design)]
    swept = sweep(designs, "workday", seed=0, replications=1, tell=lambda _: None)
    return SimulationReport(configurations=swept, swept=("frequency", "period"))


@pytest.mark.slow  # fifteen configurations
def test_table_4_8_winners_per_layer() -> None:
    from perf_culprit.say.simulation_text import winners

    results = {(value, layer): one.simulation.parameters["period"] for value, layer, one in winners(monitor_sweep())}
    assert [results["0.1/s", layer] for layer in Layer] == ["1 s", "1 s", "1 s"]
    assert [results["0.2/s", layer] for layer in Layer] == ["1 s", "1 s", "7 s"]
    assert [results["0.3/s", layer] for layer in Layer] == ["1 s", "1 s", "3 s"]


def monitor(frequency: str, period: str) -> tuple[float, ...]:
    """Table 4-8's columns: response time, cost, threads, CPU, RAM."""
    one = next(
        each.simulation
        for each in monitor_sweep().configurations
        if each.simulation.parameters == {"frequency": frequency, "period": period}
    )
    used = (mean(one, "monitor", f"{resource} utilisation") for resource in ("threads", "cpu", "ram"))
    return (mean(one, "collect", "response time"), mean(one, "agent → monitor", "cost per message"), *used)


@pytest.mark.slow  # the same sweep
def test_table_4_8_directions_of_every_column() -> None:
    # More collections: longer response, the same cost per transmission, more of every resource.
    rows = [monitor(frequency, "1 s") for frequency in ("0.1/s", "0.2/s", "0.3/s")]
    for column in (0, 2, 3, 4):
        assert rows[0][column] < rows[1][column] < rows[2][column]
    assert [round(row[1], 1) for row in rows] == [5.0, 5.0, 5.0]
    # The winner by all layers instead of the world view's: longer response, no lower cost, less of every resource.
    for frequency, period in (("0.2/s", "7 s"), ("0.3/s", "3 s")):
        first, best = monitor(frequency, "1 s"), monitor(frequency, period)
        assert best[0] > first[0]
        assert best[1] >= first[1]
        assert all(after < before for after, before in zip(best[2:], first[2:], strict=True))
    assert [row[0] for row in rows] == pytest.approx([6.8, 7.7, 8.9], abs=0.8)
    assert rows[2][3] == pytest.approx(64.4, abs=5)


@pytest.mark.slow  # the same sweep, and three more
def test_table_4_9_directions_of_every_column() -> None:
    results = [
        simulated("performance-monitor-original", duration_s=7200, frequency=each)
        for each in ("0.1/s", "0.2/s", "0.3/s")
    ]
    rows = [
        (
            mean(one, "report", "response time"),
            mean(one, "unit → inbox", "cost per message"),
            *(mean(one, "monitor", f"{resource} utilisation") for resource in ("threads", "cpu", "ram")),
        )
        for one in results
    ]
    for column in range(5):
        assert rows[0][column] < rows[1][column] < rows[2][column]
    # Published: 0.2, 0.3 and 0.4 s; $2.2, $2.7 and $3.1.
    assert [row[0] for row in rows] == pytest.approx([0.2, 0.3, 0.4], abs=0.12)
    assert [row[1] for row in rows] == pytest.approx([2.2, 2.7, 3.1], abs=0.25)
    assert rows[2][3] == pytest.approx(86.6, abs=1.5)
    assert rows[2][4] == pytest.approx(59.2, abs=1.5)
    for frequency, row in zip(("0.1/s", "0.2/s", "0.3/s"), rows, strict=True):
        distributed = monitor(frequency, "1 s")
        # Shorter response and cheaper transmissions; more threads, CPU and RAM.
        assert row[0] < distributed[0]
        assert row[1] < distributed[1]
        assert all(own > other for own, other in zip(row[2:], distributed[2:], strict=True))


def test_score_of_the_sources_example() -> None:
    """5.61 s x 46% CPU x $10 -> 28.05 [METHODS 7, F11 4.3.2.3.1]."""
    assert 5.61 * level_among(0.46, (0.3, 0.6, 0.75)) * 10 == pytest.approx(28.05)


@pytest.mark.parametrize(
    ("value", "expected"), [(0.2, 0.25), (0.25, 0.25), (0.3, 0.5), (0.6, 0.75), (0.75, 1), (0.9, 1)]
)
def test_tables_4_6_levels(value: float, expected: float) -> None:
    assert level_among(value, (0.3, 0.6, 0.75)) == expected


def test_partial_layers_give_partial_outputs_and_scores(tmp_path: Path) -> None:
    text = """
name: sketch
world-view:
  components:
    clients: {}
    server: { placeholder: { processing: exponential(100 ms), concurrent: 2 } }
scenario:
  rush:
    arrivals: [{ from: clients, to: server, request: job, rate: 10/s }]
    duration: 10 min
score:
  - { of: job, output: response time }
  - { of: server, output: cpu utilisation, levels: [30%, 60%, 75%] }
"""
    path = tmp_path / "sketch.yml"
    path.write_text(text)
    result = simulate_design(Simulate(model=path, replications=3), tell=lambda _: None).report
    one = result.configurations[0]
    assert list(one.scores) == [Layer.WORLD_VIEW]
    assert one.simulation.mean("server", "places utilisation") == pytest.approx(50, abs=3)
    assert one.simulation.mean("server", "cpu utilisation") is None
