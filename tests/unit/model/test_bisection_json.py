"""The answer as JSON: complete and valid under its schema."""

import json
from pathlib import Path

import jsonschema

from perf_culprit.model.bisection_files import encode_bisection
from perf_culprit.say.bisection_words import reason_of
from perf_culprit.say.reason_text import sentence
from tests.support.bisections import REPORT, SECOND

DOCS = Path(__file__).parents[3] / "docs"


def test_the_whole_answer() -> None:
    answer = json.loads(encode_bisection(REPORT, headline=reason_of, sentence=sentence))
    jsonschema.validate(answer, json.loads((DOCS / "bisection-v1.schema.json").read_text()))
    assert answer["outcome"] == "culprit"
    assert answer["definite"] is True
    assert answer["culprits"] == [
        {
            "commit": SECOND,
            "subject": "Fold accents, so that café finds cafe",
            "posterior": 0.994,
            "relative_change": 0.604,
            "confidence_interval": {"low": 0.55, "high": 0.66, "level": 0.95},
            "log_bayes_factor": 9.5,
            "improvement": False,
            "rates": None,
            "updates": [],
            "executed": [],
        }
    ]
    assert [entry["executions"] for entry in answer["measured"]] == [16, 1, 14, 16]
    assert answer["measured"][1]["failures"] == ["the build ended with exit code 2"]
    assert (answer["executions"], answer["candidates"], answer["seed"]) == (57, 3, 3)
    assert answer["noise"] == {
        "standard_deviation": 0.031,
        "autocorrelation": 0.28,
        "mode_ratio": 1.52,
        "slow_share": 0.6,
    }
    assert answer["command"] == REPORT.command
