import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from msgspec.structs import replace

from perf_culprit.flows.published_schemas import SCHEMA_KINDS, schema_text
from perf_culprit.model.report import encode_report
from perf_culprit.model.run import Benchmark, Environment, Run, Summary
from perf_culprit.model.run_file import encode_run
from tests.support.reports import TIME_MS, every_conclusion

DOCS = Path(__file__).parents[3] / "docs"
REPORTS = every_conclusion()


@pytest.mark.parametrize("name", SCHEMA_KINDS)
def test_the_published_schema_is_current(name: str) -> None:
    published = (DOCS / f"{name}.schema.json").read_text(encoding="utf-8")
    assert published == schema_text(name), "run `python -m perf_culprit.flows.published_schemas`"


def test_every_file_has_its_schema() -> None:
    assert SCHEMA_KINDS.keys() == {
        "run-v1",
        "acceptance-v1",
        "report-v2",
        "bisection-v1",
        "bisect-session-v1",
        "bisect-request-v1",
        "bisect-job-v1",
        "stored-bisection-v1",
        "releases-v1",
        "trace-v1",
        "simulation-v1",
        "diagnosis-v1",
        "tree-comparison-v1",
        "notification-v1",
    }


@pytest.mark.parametrize("name", REPORTS)
def test_reports_are_valid(name: str) -> None:
    schema = json.loads(schema_text("report-v2"))
    jsonschema.Draft202012Validator(schema).validate(json.loads(encode_report(REPORTS[name])))


def test_names_that_were_no_utf_8_and_numbers_of_numpy_are_written() -> None:
    report = REPORTS["no-change"]
    finding = report.findings[0]
    named = replace(finding, benchmark="caf\udce9", rate=np.float64(0.5))
    (entry,) = json.loads(encode_report(replace(report, findings=(named,))))["findings"]
    assert (entry["benchmark"], entry["rate"]) == ("caf?", 0.5)


def test_runs_are_valid() -> None:
    run = Run(
        benchmarks=(
            Benchmark.of(name="a", metric=TIME_MS, samples=(1.0, 2.0), group_sizes=(1, 1)),
            Benchmark.of(name="b", metric=TIME_MS, summary=Summary(value=1.0, confidence_interval=(0.9, 1.1))),
        ),
        environment=Environment(components={"cpu": "c"}),
        commit="abc",
    )
    schema = json.loads(schema_text("run-v1"))
    jsonschema.Draft202012Validator(schema).validate(json.loads(encode_run(run)))


def test_a_broken_report_is_not_valid() -> None:
    schema = json.loads(schema_text("report-v2"))
    broken = json.loads(encode_report(REPORTS["no-change"])) | {"conclusion": "fine"}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema).validate(broken)
