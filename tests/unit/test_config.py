"""The configuration file: the values that it accepts, and mistakes, which are reported with their line."""

import contextlib
import json
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf_culprit.config.reader import load_config, parse_config, with_detector
from perf_culprit.config.settings import Config, config_schema
from perf_culprit.config.units import parse_ratio
from perf_culprit.errors import ConfigError, UsageError
from perf_culprit.judge.rule_options import RuleOptions, rule_options
from perf_culprit.model.detectors import BENCHMARK_DETECTORS, COUNTER_DETECTORS
from perf_culprit.model.run import MetricKey

SCHEMA = Path(__file__).parents[2] / "docs" / "config.schema.json"

FULL = """\
suite: parser
detector: anova
profile: strict
suspected: 5%
minimum-effect: 3%
levels: {warn: 3%, fail: 10%}
categories:
  - {name: fast, below: 5 ms}
  - {name: slow}
benchmarks:
  - match: "parse_*"
    minimum-effect: 1%
    category: fast
    levels: {fail: 2%}
  - match: "*"
    metric: "allocs*"
    ignore: true
history: {branch: perf/data, window: 12, raw-runs: 40, size-limit: 64 MiB}
comment: {when: change, mention: ["@octo-org/perf"]}
ignore-environment: true
"""


def test_every_key_is_read() -> None:
    config = parse_config(FULL.encode(), place="f.yml")
    assert config.suite == "parser"
    assert (config.proven, config.suspected) == (0.001, 0.05)
    assert config.levels.fail == pytest.approx(0.10)
    assert [category.below for category in config.categories] == [5.0, None]
    assert config.benchmarks[0].minimum_effect == pytest.approx(0.01)
    assert config.benchmarks[1].ignore
    assert config.history.size_limit == 64 << 20
    assert config.comment.mention == ("@octo-org/perf",)
    assert config.ignore_environment


def test_a_wrong_detector_is_told_beside_all_else_that_is_wrong() -> None:
    text = "suite: a\ndetector: anowa\ncounter-detector: anova\nlevels: {warn: 150%}"
    with pytest.raises(ConfigError) as caught:
        parse_config(text.encode(), place="f.yml")
    first, second, third = str(caught.value).removesuffix(f"\nNext: {caught.value.next_step}").split("\n")
    assert first.startswith("f.yml:2: detector: ")
    assert first.endswith("; did you mean anova?")
    assert second.startswith("f.yml:3: counter-detector: Input should be 'control_chart' or 'rule_ensemble'")
    assert third.startswith("f.yml:4: levels.warn: ")


def test_the_names_of_detectors_are_those_of_the_registries() -> None:
    keys = Config.model_fields
    assert get_args(keys["detector"].annotation) == tuple(dict.fromkeys((*BENCHMARK_DETECTORS, *COUNTER_DETECTORS)))
    assert get_args(keys["counter_detector"].annotation) == tuple(COUNTER_DETECTORS)


@pytest.mark.parametrize("key", ["alpha: 1%", "false-discovery-rate: 1%", "minimum-samples: 6"])
def test_a_key_of_the_rule_before_is_refused_with_what_says_the_same_now(key: str) -> None:
    with pytest.raises(ConfigError, match=rf"^f\.yml:1: {key.split(':', maxsplit=1)[0]} is gone: ."):
        parse_config(key.encode(), place="f.yml")


@pytest.mark.parametrize(
    ("text", "rates"),
    [
        ("", (0.01, 0.10)),
        ("profile: strict", (0.001, 0.01)),
        ("profile: balanced", (0.01, 0.10)),
        ("profile: sensitive", (0.05, 0.25)),
        ("profile: sensitive\nproven: 2%", (0.02, 0.25)),
    ],
)
def test_a_profile_sets_what_is_not_set(text: str, rates: tuple[float, float]) -> None:
    config = parse_config(text.encode(), place="f.yml")
    assert (config.proven, config.suspected) == pytest.approx(rates)


def test_what_is_proven_is_suspected_first() -> None:
    with pytest.raises(ConfigError, match="suspected is lower than proven"):
        parse_config(b"proven: 5%\nsuspected: 1%", place="f.yml")


def test_empty_file_is_the_defaults() -> None:
    assert parse_config(b"# nothing\n", place="f.yml") == Config()


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        pytest.param("detektor: anova", 1, "did you mean detector?", id="misspelt key"),
        pytest.param("suite: a\nminimum-effect: 0.05", 2, "such as 5%", id="fraction instead of percentage"),
        pytest.param("levels:\n  warn: 150%", 2, "50%, not 150%", id="ratio instead of change"),
        pytest.param("levels:\n  warn: 10%\n  fail: 5%", 1, "fail is lower than warn", id="fail below warn"),
        pytest.param("a: &x 1\nb: *x", 2, "aliases are not supported", id="alias"),
        pytest.param("suite: a\nsuite: b", 2, "set twice", id="repeated key"),
        pytest.param("history:\n  window: 0", 2, "greater than or equal to 1", id="window of none"),
        pytest.param("benchmarks:\n  - match: x\n  - metric: y", 3, "benchmarks.1.match", id="entry without match"),
        pytest.param("rule-ensemble:\n  confidence-change: 25%", 2, "valid number", id="distance as a percentage"),
        pytest.param("rule-ensemble:\n  confidence-change: 1.5", 2, "less than 1", id="more than any distance"),
        pytest.param("rule-ensemble:\n  support: 0%", 2, "greater than 0", id="rules of nothing"),
        pytest.param("rule-ensemble:\n  intervals: 5", 2, "greater than or equal to 10", id="too few intervals"),
        pytest.param("rule-ensemble: {warm-up: 60%, cool-down: 40%}", 1, "leave nothing", id="no test left"),
        pytest.param("x: !!python/object/apply:os.system [ls]", 1, "not YAML", id="code in a tag"),
        pytest.param("suite: [1,", 1, "not YAML", id="broken YAML"),
        pytest.param("? [a]\n: b", 1, "", id="list as key"),
        pytest.param("comment: {mention: ['@a b']}", 1, "mention", id="mention with a blank"),
        pytest.param("categories:\n  - {name: a, below: 9 ms}\n  - {name: b, below: 5 ms}", 1, "fastest", id="order"),
        pytest.param(
            "benchmarks:\n  - {match: x, category: medium-rare}", 1, "none of fast, medium, slow", id="category"
        ),
        pytest.param("suite: a\nalpha: 5%", 2, "alpha is gone: `proven: 1%` says", id="a rate of old"),
        pytest.param("minimum-samples: 5", 1, "minimum-samples is gone: samples of one file", id="samples of old"),
        pytest.param("profile: loud", 1, "profile", id="no such profile"),
        pytest.param("proven: 20%", 1, "suspected is lower than proven", id="proven above suspected"),
        pytest.param("history: {branch: '../x'}", 1, "branch", id="branch outside"),
    ],
)
def test_mistakes_name_line_and_remedy(text: str, line: int, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_config(text.encode(), place="f.yml")
    assert caught.value.exit_code == 2
    assert (caught.value.place or "").startswith(f"f.yml:{line}")
    assert message in caught.value.message
    assert caught.value.next_step


@pytest.mark.parametrize("data", [b"\xff\xfe\xfa", b"\x00", b"[" * 20_000, b"suite: 2020-99-01"])
def test_hostile_bytes_are_a_config_error(data: bytes) -> None:
    with pytest.raises(ConfigError):
        parse_config(data, place="f.yml")


@given(st.text(max_size=200))
def test_any_text_is_a_config_or_a_config_error(text: str) -> None:
    with contextlib.suppress(ConfigError):
        assert isinstance(parse_config(text.encode("utf-8", "surrogatepass"), place="f.yml"), Config)


def test_missing_file_is_told_only_when_it_was_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_config(None) == Config()
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config(Path("absent.yml"))


def test_too_large_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "large.yml"
    path.write_text("#" * (256 * 1024 + 1))
    with pytest.raises(ConfigError, match="larger than 262,144 bytes"):
        load_config(path)


def test_ratio_is_the_form_of_github_action_benchmark() -> None:
    assert parse_ratio("150%", name="alert-threshold") == pytest.approx(0.5)
    with pytest.raises(ConfigError, match="not a ratio above 100%"):
        parse_ratio("5%", name="alert-threshold")


def test_published_schema_is_current() -> None:
    assert json.loads(SCHEMA.read_text()) == config_schema(), "write it again: perf-culprit schema config"


def test_detectors_have_keys_of_their_own() -> None:
    text = """\
detector: median_interval
counter-detector: rule_ensemble
ruler: {benchmark: spin}
control-chart: {limits: 1/99, drop-idle-time: false}
rule-ensemble: {ensemble: bagging, warm-up: 10%, weights: {abc: 2}}
"""
    config = parse_config(text.encode(), place="f.yml")
    assert config.ruler is not None
    assert config.ruler.key == MetricKey("spin", "time")
    assert (config.control_chart.limits, config.control_chart.drop_idle_time) == ("1/99", False)
    assert config.rule_ensemble.ensemble == "bagging"
    assert config.rule_ensemble.warm_up == pytest.approx(0.1)
    assert config.rule_ensemble.weights == {"abc": 2.0}


def test_the_thresholds_of_rules_can_be_set() -> None:
    text = "rule-ensemble: {confidence-change: 0.4, support: 20%, confidence: 70%, intervals: 60}"
    rules = rule_options(parse_config(text.encode(), place="f.yml").rule_ensemble)
    assert (rules.confidence_change, rules.intervals) == (0.4, 60)
    assert (rules.mining.minimum_support, rules.mining.minimum_confidence) == pytest.approx((0.2, 0.7))
    assert rule_options(Config().rule_ensemble) == RuleOptions()


def test_a_changed_copy_resolves_its_own_values() -> None:
    config = Config()
    assert config.general.minimum_effect == 0.05
    assert config.model_copy(update={"minimum_effect": 0.1}).of(MetricKey("a", "b")).minimum_effect == 0.1


def test_a_detector_is_chosen_by_name_for_what_it_can_judge() -> None:
    both = with_detector(Config(), "control_chart", place="--detector")
    assert (both.detector, both.counter_detector) == ("control_chart", "control_chart")
    counters = with_detector(Config(), "rule_ensemble", place="--detector")
    assert (counters.detector, counters.counter_detector) == ("anova", "rule_ensemble")
    with pytest.raises(UsageError, match="no detector 'oracle'"):
        with_detector(Config(), "oracle", place="--detector")
