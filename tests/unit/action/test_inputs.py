"""Every input of the action is checked like the configuration file, and the message names the input."""

import pytest

from perf_culprit.action.inputs import WrittenInputs, read_inputs
from perf_culprit.errors import EXIT_USAGE, BotError
from perf_culprit.model.bisection import Engine

WRONG = {
    "mode": "watch",
    "name": "x" * 101,
    "detector": "anowa",
    "minimum-effect": "150%",
    "history-branch": "--upload-pack=x",
    "bisect-engine": "git",
    "alert-threshold": "5%",
    "fail-threshold": "twice",
    "run-id": "first",
    "alert-comment-cc-users": "octocat",
    "report-directory": "../out",
    "measure-workflow": "perf",
    "comment-always": "maybe",
    "comment-on-alert": "maybe",
    "auto-push": "maybe",
    "save-data-file": "maybe",
    "summary-always": "maybe",
    "fail-on-alert": "maybe",
    "config": "none.yml",
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_input_is_a_usage_error(name: str) -> None:
    with pytest.raises(BotError) as raised:
        read_inputs({f"INPUT_{name.upper()}": WRONG[name]})
    assert raised.value.exit_code == EXIT_USAGE
    assert raised.value.next_step
    if name != "config":
        assert raised.value.place == f"input {name}"


def test_thresholds_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(BotError, match="nothing would ever only warn") as raised:
        read_inputs({"INPUT_ALERT-THRESHOLD": "200%", "INPUT_FAIL-THRESHOLD": "150%"})
    assert raised.value.place == "input fail-threshold"


def test_what_is_right_reaches_the_configuration() -> None:
    given = {
        "name": "nightly",
        "detector": "change_point",
        "unit": "sample",
        "minimum-effect": "2%",
        "history-branch": "perf/nightly",
        "bisect-engine": "weighted",
        "alert-threshold": "150%",
        "fail-threshold": "300%",
        "alert-comment-cc-users": "@octocat, @octo-org/perf",
    }
    assert set(given) == {field.option.form for field in WrittenInputs.fields() if field.option.key}
    config = read_inputs({f"INPUT_{name.upper()}": text for name, text in given.items()}).config
    assert (config.detector, config.unit) == ("change_point", "sample")
    assert (config.suite, config.minimum_effect, config.history.branch) == ("nightly", 0.02, "perf/nightly")
    assert config.bisect.engine is Engine.WEIGHTED
    assert (config.levels.warn, config.levels.fail) == (0.5, 2.0)
    assert config.comment.mention == ("@octocat", "@octo-org/perf")
