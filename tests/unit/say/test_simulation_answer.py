"""Names from a model file in a simulation's text and page."""

from perf_culprit.model.run import Direction, Metric
from perf_culprit.model.simulation import (
    Configuration,
    Demanded,
    Estimate,
    Layer,
    OfferedLoad,
    Output,
    Saturation,
    Simulation,
    SimulationReport,
)
from perf_culprit.say.simulation_text import simulation_html, simulation_text

HOSTILE = "::error::<script>x</script>\x1b[2J\r\n::add-mask::y ##[command]z \u202e"
TIME = Metric(name="response time", unit="s", direction=Direction.LOWER_IS_BETTER)


def configured(mean: float, value: str) -> Configuration:
    output = Output(of=HOSTILE, metric=TIME, layer=Layer.WORLD_VIEW)
    simulated = Simulation(
        design=HOSTILE,
        scenario=HOSTILE,
        parameters={HOSTILE: value, "size": HOSTILE},
        seed=0,
        replications=5,
        simulated_s=3600,
        estimates=(Estimate(output=output, mean=mean, half_width=mean / 10),),
        offered=(OfferedLoad(component=HOSTILE, resource=HOSTILE, share=mean),),
        is_precise=True,
    )
    return Configuration(simulation=simulated, scores={Layer.WORLD_VIEW: mean}, scored=(output.key,))


def shown(*configurations: Configuration, swept: tuple[str, ...] = ()) -> tuple[str, str]:
    demand = Demanded(
        component=HOSTILE, resource=HOSTILE, request=HOSTILE, demand=1, half_width=0.1, modelled=1, explained=0.9
    )
    bottleneck = OfferedLoad(component=HOSTILE, resource=HOSTILE, share=1)
    report = SimulationReport(
        configurations=configurations,
        swept=swept,
        saturation=Saturation(stable=1, saturated=2, rate=10, error=0.01, bottleneck=bottleneck),
        demands=(demand,),
    )
    return simulation_text(report), simulation_html(report)


def test_foreign_names_stay_inert_in_both_media() -> None:
    one, other = configured(0.5, "1 s"), configured(1.5, "2 s")
    for text, page in (shown(other), shown(one, other, swept=(HOSTILE, "size"))):
        assert not set(text + page) & set("\x1b\r\u202e")
        assert "##[" not in text
        assert not [line for line in text.splitlines() if line.lstrip().startswith("::")]
        assert "<script>x" not in page
        assert "Saturates between 10.0 and 20.0 requests/s" in text
        assert "<th" in page


def test_a_sweep_names_its_columns_in_two_lines_and_draws_on_the_page_alone() -> None:
    text, page = shown(configured(0.5, "1 s"), configured(1.5, "2 s"), swept=(HOSTILE, "size"))
    assert any(line.rstrip().endswith("response time (s)") for line in text.splitlines())
    assert "world view score" in text
    assert "<svg" not in text
    assert page.count("<svg") == 1
