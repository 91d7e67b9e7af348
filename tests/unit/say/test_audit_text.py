import json
from dataclasses import replace
from pathlib import Path

from perf_culprit.model.accuracy import Recommendation, TrialKind
from perf_culprit.say.audit_text import audit_json, render_audit
from tests.support.audits import made_audit

GOLDEN = Path(__file__).parents[2] / "golden" / "audit" / "audit.txt"
HOSTILE = "::error::x\x1b[2J\r\n::add-mask::y ##[command]z \u202e"


def test_the_whole_text() -> None:
    assert render_audit(made_audit()) == GOLDEN.read_text()


def test_splits_are_called_splits_and_no_advice_is_said() -> None:
    audit = replace(
        made_audit(),
        kind=TrialKind.SPLIT_RUNS,
        recommendation=Recommendation(
            detector="median_interval",
            profile=None,
            counter_detector=None,
            minimum_effect=None,
            reasons=(),
        ),
    )
    text = render_audit(audit)
    assert "wrong in 1 of 28 random splits of the samples within a run (" in text
    assert "Recommendation: detector median_interval, no minimum effect helps\n" in text
    assert "Hardest to judge by median_interval:\n- nothing: no metric is without a finding" in text


def test_foreign_text_controls_neither_terminal_nor_runner() -> None:
    text = render_audit(made_audit(suite=HOSTILE, benchmark=HOSTILE, note=HOSTILE))
    assert not set(text) & set("\x1b\r\u202e")
    assert "##[" not in text
    assert not [line for line in text.splitlines() if line.lstrip().startswith("::")]


def test_json_holds_every_number() -> None:
    data = json.loads(audit_json(made_audit()))
    assert (data["format"], data["version"], data["kind"]) == ("perf-culprit-audit", 2, "stored_runs")
    assert data["detectors"][0]["alarms"] == {"count": 1, "trials": 28, "low": 0.0009, "high": 0.1835}
    assert data["detectors"][0]["limits"][0]["effect"] is None
    assert data["counters"][0]["found"] == [[0.1, 0.25], [0.5, None]]
    assert data["detectors"][0]["power"][1] == {"effect": 0.05, "proven": 0.31, "suspected": 0.62}
    assert (data["stated"], data["recommendation"]["profile"]) == ([0.01, 0.1], "strict")
