"""The command `simulate`: its output and files, and the judgement of a changed design."""

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from perf_culprit.cli.entry import main

DOCS = Path(__file__).parents[3] / "docs"
MODEL = """\
name: shop
parameters: {{ service: {service} }}
world-view:
  components: {{ clients: {{}}, shop: {{}} }}
component:
  shop: {{ threads: 3, requests: {{ order: {{ processing: "exponential(${{service}})" }} }} }}
scenario:
  day:
    arrivals: [{{ from: clients, to: shop, request: order, rate: 2/s }}]
    duration: 400 s
sweep:
  service: [500 ms, 1 s]
calibration:
  - {{ component: shop, resource: threads, counter: busy, rates: {{ order: orders }} }}
"""


@pytest.fixture(autouse=True)
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("old.yml").write_text(MODEL.format(service="1 s"))
    Path("same.yml").write_text("# a comment\n" + MODEL.format(service="1 s"))
    Path("tiny.yml").write_text(MODEL.format(service="1.001 s"))
    Path("slower.yml").write_text(MODEL.format(service="1.2 s"))
    Path("huge.yml").write_text(MODEL.format(service="1000 s"))


def test_it_says_what_each_layer_does_and_names_the_bottleneck(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "old.yml", "--json", "out.json"]) == 0
    out, err = capsys.readouterr()
    assert "shop, scenario day" in out
    assert "Bottleneck: threads of shop, asked for 66.7" in out
    assert "replications" in err  # the progress
    written = json.loads(Path("out.json").read_text())
    jsonschema.validate(written, json.loads((DOCS / "simulation-v1.schema.json").read_text()))
    outputs = {each["output"]["metric"]["name"] for each in written["configurations"][0]["simulation"]["estimates"]}
    assert outputs == {"response time", "throughput", "queue length", "threads utilisation"}


def test_an_unstable_scenario_is_reported_as_such(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "old.yml", "--set", "service=2 s", "--replications", "2"]) == 0
    out = capsys.readouterr().out
    assert "Unstable: threads of shop, asked for 133" in out
    assert "Its queue grows as long as this lasts" in out


def test_it_stops_when_the_chosen_outputs_are_known(capsys: pytest.CaptureFixture[str]) -> None:
    """The throughput is precise long before the response time."""
    counts = []
    for output in ("throughput", "response time"):
        chosen = f"precision: 5%\n    precise: [{{ of: order, output: {output} }}]"
        Path("chosen.yml").write_text(MODEL.format(service="1 s").replace("400 s", f"400 s\n    {chosen}"))
        assert main(["simulate", "chosen.yml", "--json", "out.json"]) == 0
        document = json.loads(Path("out.json").read_text())["configurations"][0]["simulation"]
        counts.append(document["replications"])
        assert document["is_precise"] or counts[-1] == 30
    assert 5 <= counts[0] < counts[1]
    assert "replications" in capsys.readouterr().out


def test_a_design_that_did_not_change_is_quiet_and_one_that_did_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "same.yml", "--against", "old.yml"]) == 0
    assert "4 metrics unchanged within 5%" in capsys.readouterr().out
    assert main(["simulate", "tiny.yml", "--against", "old.yml"]) == 0
    assert "4 metrics unchanged within 5%" in capsys.readouterr().out
    assert main(["simulate", "slower.yml", "--against", "old.yml", "--json", "report.json"]) == 1
    assert "1 benchmark got slower, 1 worse in other metrics" in capsys.readouterr().out
    report = json.loads(Path("report.json").read_text())
    jsonschema.validate(report, json.loads((DOCS / "report-v2.schema.json").read_text()))
    assert report["conclusion"] == "regression"
    assert main(["simulate", "old.yml", "--against", "slower.yml"]) == 0
    assert "1 benchmark got faster, 1 better in other metrics" in capsys.readouterr().out


def test_an_enormous_change_is_found_where_almost_nothing_is_answered(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "huge.yml", "--against", "old.yml"]) == 1
    out = capsys.readouterr().out
    assert "unstable: it asks for" in " ".join(out.split())
    assert "shop · queue length" in out
    assert "order · throughput" in out


def test_other_seeds_are_no_change(capsys: pytest.CaptureFixture[str]) -> None:
    for seed in ("0", "1"):
        assert main(["simulate", "old.yml", "--seed", seed, "--replications", "12", "--run", f"{seed}.json"]) == 0
    assert main(["compare", "--paired", "--baseline", "0.json", "--target", "1.json"]) == 0
    assert "got worse" not in capsys.readouterr().out


def test_runs_and_counter_tables_are_judged_by_compare(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("old", "slower"):
        files = ["--run", f"{name}.json", "--counters", f"{name}-counters.json"]
        assert main(["simulate", f"{name}.yml", "--replications", "12", *files]) == 0
    capsys.readouterr()
    assert main(["compare", "--paired", "--baseline", "old.json", "--target", "slower.json"]) == 1
    assert "shop · threads utilisation" in capsys.readouterr().out
    for detector in ("control_chart", "rule_ensemble"):
        ends = ["--baseline", "old-counters.json", "--target", "slower-counters.json"]
        assert main(["compare", "--paired", *ends, "--detector", detector, "--json", "report.json"]) in {0, 1}
        assert json.loads(Path("report.json").read_text())["settings"]["detector"] == detector


def test_a_sweep_is_ranked_and_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "old.yml", "--sweep", "--html", "page.html"]) == 0
    assert "2 configurations of shop" in capsys.readouterr().out
    page = Path("page.html").read_text()
    assert page.count("<svg") == 4
    assert "order response time (s)" in page


def test_demands_are_fitted_to_measured_counters(capsys: pytest.CaptureFixture[str]) -> None:
    """The busy share of three threads is 0.8 thread seconds per order plus a constant 0.3 threads and some noise."""
    rng = np.random.default_rng(0)
    orders = rng.uniform(0.5, 1.5, 120)
    busy = (orders * 0.8 + 0.3 + rng.normal(0, 0.02, 120)) / 3 * 100
    rows = "\n".join(
        f"{1700000000 + 10 * k},{a:.6f},{b:.6f}" for k, (a, b) in enumerate(zip(orders, busy, strict=True))
    )
    Path("measured.csv").write_text(f"time,orders,busy\n{rows}\n")
    assert main(["simulate", "old.yml", "--calibrate", "measured.csv", "--json", "demands.json"]) == 0
    document = json.loads(Path("demands.json").read_text())["demands"][0]
    assert abs(document["demand"] - 0.8) <= 2 * document["half_width"]
    assert document["half_width"] < 0.05
    assert document["modelled"] == 1
    assert "threads" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.yml"], "cannot be read"),
        (["old.yml", "--scenario", "night"], "use one of: day"),
        (["old.yml", "--set", "service"], "is not NAME=VALUE"),
        (["old.yml", "--set", "service=1"], "old.yml:6: component.shop.requests.order.processing"),
        (["old.yml", "--sweep", "--saturation"], "not allowed with"),
        (["old.yml", "--sweep", "--run", "run.json"], "are of one model"),
    ],
)
def test_mistakes_are_usage_errors(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", *arguments]) == 2
    assert message in capsys.readouterr().err
