import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from perf_culprit.model.run import Benchmark, Environment, MetricKey, Run, Summary
from perf_culprit.say.reason_text import sentence
from perf_culprit.wire.checked_json import decode, encode
from perf_culprit.wire.report_json import ReportFile, encode_report
from perf_culprit.wire.run_json import encode_run
from perf_culprit.wire.schemas import SCHEMAS, schema_text, write_schemas
from tests.support.reports import TIME_MS, every_conclusion

DOCS = Path(__file__).parents[3] / "docs"
REPORTS = every_conclusion()


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_published_schema_is_current(name: str) -> None:
    published = (DOCS / f"{name}.schema.json").read_text(encoding="utf-8")
    assert published == schema_text(name), "run `python -m perf_culprit.wire.schemas`"


def test_schemas_are_written_under_their_names(tmp_path: Path) -> None:
    write_schemas(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        "run-v1.schema.json",
        "acceptance-v1.schema.json",
        "report-v1.schema.json",
        "bisection-v1.schema.json",
        "bisect-session-v1.schema.json",
        "bisect-request-v1.schema.json",
        "bisect-job-v1.schema.json",
        "stored-bisection-v1.schema.json",
        "releases-v1.schema.json",
        "trace-v1.schema.json",
        "simulation-v1.schema.json",
        "diagnosis-v1.schema.json",
        "tree-comparison-v1.schema.json",
    }


@pytest.mark.parametrize("name", REPORTS)
def test_reports_are_valid(name: str) -> None:
    schema = json.loads(schema_text("report-v1"))
    jsonschema.Draft202012Validator(schema).validate(json.loads(encode_report(REPORTS[name])))


@pytest.mark.parametrize("name", REPORTS)
def test_findings_are_written_as_the_checked_file_is(name: str) -> None:
    data = encode_report(REPORTS[name], sentence=sentence)
    checked = decode(ReportFile, data, place=name, what="report-v1")
    assert data == encode(checked, indent=1, context={"sentence": sentence})


def test_what_the_quick_writer_cannot_write_is_written_all_the_same() -> None:
    report = REPORTS["no-change"]
    finding = report.findings[0]
    named = replace(
        finding, evidence=replace(finding.evidence, key=MetricKey("caf\udce9", "time")), q_value=np.float64(0.5)
    )
    (entry,) = json.loads(encode_report(replace(report, findings=(named,))))["findings"]
    assert (entry["benchmark"], entry["q_value"]) == ("caf?", 0.5)


def test_runs_are_valid() -> None:
    run = Run(
        benchmarks=(
            Benchmark(name="a", metric=TIME_MS, samples=(1.0, 2.0), group_sizes=(1, 1)),
            Benchmark(name="b", metric=TIME_MS, summary=Summary(value=1.0, confidence_interval=(0.9, 1.1))),
        ),
        environment=Environment(components={"cpu": "c"}),
        commit="abc",
    )
    schema = json.loads(schema_text("run-v1"))
    jsonschema.Draft202012Validator(schema).validate(json.loads(encode_run(run)))


def test_a_broken_report_is_not_valid() -> None:
    schema = json.loads(schema_text("report-v1"))
    broken = json.loads(encode_report(REPORTS["no-change"])) | {"conclusion": "fine"}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema).validate(broken)
