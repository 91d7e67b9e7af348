"""Files of version 1 are still read in full, and those of a later version are refused with that reason."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
import pytest

from perf_culprit.errors import DataError, NewerVersionError
from perf_culprit.flows.published_schemas import SCHEMA_KINDS, schema_text
from perf_culprit.flows.site import restored
from perf_culprit.model.bisection_files import (
    BisectionFile,
    decode_job_result,
    decode_request,
    decode_session,
    decode_stored,
    encode_job_result,
    encode_request,
    encode_session,
    encode_stored,
)
from perf_culprit.model.call_tree import Diagnosis, decode_costs, decode_profile
from perf_culprit.model.finding import decode_acceptance
from perf_culprit.model.json_files import decode, encode
from perf_culprit.model.report import decode_report, decode_tree_comparison
from perf_culprit.model.run_file import decode_run, encode_run
from perf_culprit.model.series import DeviationMatrix, Manifest
from perf_culprit.model.simulation import SimulationReport
from perf_culprit.say.reason_text import sentence

GOLDEN = Path(__file__).parents[2] / "golden/version1"


class Form(NamedTuple):
    read: Callable[..., Any]
    write: Callable[[Any], bytes] = partial(encode, sentence=sentence)


FORMS = {
    "run": Form(decode_run, encode_run),
    "report": Form(decode_report),
    "acceptance": Form(decode_acceptance),
    "stored-bisection": Form(decode_stored, encode_stored),
    "bisect-session": Form(decode_session, encode_session),
    "bisect-request": Form(decode_request, encode_request),
    "bisect-job": Form(decode_job_result, encode_job_result),
    "bisection": Form(partial(decode, BisectionFile)),
    "diagnosis": Form(partial(decode, Diagnosis)),
    "tree-comparison": Form(decode_tree_comparison),
    "trace": Form(decode_profile),
    "releases": Form(partial(decode, DeviationMatrix)),
    "simulation": Form(partial(decode, SimulationReport)),
    "dashboard": Form(partial(decode, Manifest)),
}
FILES = sorted(path.name for path in GOLDEN.glob("*.json"))


def form_of(name: str) -> str:
    """The kind of a golden file: `report-bare.json` is a report."""
    stem = name.removesuffix(".json")
    return max((kind for kind in FORMS if stem.startswith(kind)), key=len)


def content(value: Any) -> Any:
    """Return a file's content without empty values and without the sentences of reasons, which decide nothing.

    `mean_verdict` was added later, and defaults to "no change". So was the `answer` of compared trees, which is
    computed from the answers of their services.
    """
    if isinstance(value, dict):
        silent = {"format", "version", "text", "mean_verdict"} | ({"answer"} if "services" in value else set())
        kept = {name: content(one) for name, one in value.items() if name not in silent}
        return {name: one for name, one in kept.items() if one not in (None, [], {}, 0, False)}
    return [content(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", [name for name in FILES if form_of(name) != "report"])
def test_a_file_of_version_1_is_read_whole(name: str) -> None:
    data = (GOLDEN / name).read_bytes()
    form = FORMS[form_of(name)]
    again = form.write(form.read(data, place=name))
    assert content(json.loads(again)) == content(json.loads(data))
    assert content(json.loads(data)) != {}


OF_FINDINGS = ("verdict", "reason", "evidence_reason", "rate", "precision", "q_value", "samples_needed", "more_samples")


def without(members: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in members.items() if name not in names}


@pytest.mark.parametrize("name", [name for name in FILES if form_of(name) == "report"])
def test_a_report_of_version_1_keeps_what_still_is(name: str) -> None:
    old = json.loads((GOLDEN / name).read_bytes())
    new = json.loads(encode(decode_report(json.dumps(old).encode(), place=name), sentence=sentence))
    assert (new["version"], new["settings"]["proven"], new["settings"]["suspected"]) == (2, 0.01, 0.1)
    assert new["settings"]["minimum_effect"] == old["settings"]["minimum_effect"]
    apart = ("findings", "settings", "predictions")
    assert content(without(new, *apart)) == content(without(old, *apart))
    for before, after in zip(old["findings"], new["findings"], strict=True):
        assert content(without(after, *OF_FINDINGS)) == content(without(before, *OF_FINDINGS))
        assert after["rate"] == before["q_value"]
        for name in ("reason", "evidence_reason"):
            assert (after[name] or {}).get("text") == (before[name] or {}).get("text")
        unknown = {"visible_change": None, "rounds_to_prove": None}
        assert after["precision"] == unknown | {"rounds": before["precision"]["rounds"]}


def read_again(report: dict[str, Any]) -> dict[str, Any]:
    return dict(json.loads(encode(decode_report(json.dumps(report).encode(), place="report.json"))))


@pytest.mark.parametrize(
    ("verdict", "code", "now"),
    [
        ("regression", "significant", "regression"),
        ("improvement", "exact_difference", "improvement"),
        ("no_change", "excluded", "unchanged"),
        ("no_change", "exactly_equal", "unchanged"),
        ("no_change", "below_minimum_effect", "unchanged"),
        ("no_change", "nothing_seen", "not_seen"),
        ("inconclusive", "looks_worse_rounds", "suspected"),
        ("inconclusive", "lone_run", "suspected"),
        ("inconclusive", "blind", "untested"),
    ],
)
def test_a_verdict_of_version_1_has_its_heir(verdict: str, code: str, now: str) -> None:
    report = json.loads((GOLDEN / "report.json").read_bytes())
    report["findings"][0] |= {"verdict": verdict, "reason": {"code": code, "text": "as it was told"}}
    assert read_again(report)["findings"][0]["verdict"] == now


@pytest.mark.parametrize(
    ("conclusion", "code", "now"),
    [
        ("machine_changed", "blind", "suspected"),
        ("inconclusive", "blind", "inconclusive"),
        ("inconclusive", "looks_worse", "suspected"),
        ("no_change", "blind", "no_change"),
    ],
)
def test_a_conclusion_of_version_1_has_its_heir(conclusion: str, code: str, now: str) -> None:
    report = json.loads((GOLDEN / "report.json").read_bytes())
    (*_, finding) = report["findings"]
    finding |= {"verdict": "inconclusive", "reason": {"code": code}}
    prediction = {"model": "m", "scenario": "s", "conclusion": conclusion, "findings": [finding]}
    again = read_again(report | {"conclusion": conclusion, "findings": [finding], "predictions": [prediction]})
    assert (again["conclusion"], again["predictions"][0]["conclusion"]) == (now, now)


@pytest.mark.parametrize("findings", [3, [3], {"a": 1}])
def test_what_is_no_list_of_findings_is_refused_with_its_place(findings: object) -> None:
    with pytest.raises(DataError, match="at `findings`"):
        decode_report(changed("report", findings=findings), place="f.json")


def test_every_kind_has_a_file_of_version_1() -> None:
    assert {form_of(name) for name in FILES} == FORMS.keys()


@pytest.mark.parametrize("name", [name for name in FILES if form_of(name) not in {"dashboard", "report"}])
def test_a_file_of_version_1_is_valid_by_its_schema(name: str) -> None:
    schema = json.loads(schema_text(f"{form_of(name)}-v1"))
    jsonschema.Draft202012Validator(schema).validate(json.loads((GOLDEN / name).read_bytes()))


def test_numbers_of_a_dashboard_of_version_1_are_read() -> None:
    manifest = decode(Manifest, (GOLDEN / "dashboard.json").read_bytes(), place="manifest.json")
    (entry,) = manifest.panels
    panel = restored(entry, [(GOLDEN / f"{name}.js").read_bytes() for name in entry.chunks])
    assert panel.series[0].values == (1.0, None)


def test_costs_are_read_of_a_diagnosis_of_version_1() -> None:
    costs = decode_costs((GOLDEN / "diagnosis.json").read_bytes(), place="diagnosis.json")
    assert (costs.methods, costs.services, costs.suspects[0].method) == (3, 2, "OrderDao.find")


def changed(kind: str, **members: Any) -> bytes:
    return json.dumps(json.loads((GOLDEN / f"{kind}.json").read_bytes()) | members).encode()


@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize("more", [{}, {"of_tomorrow": [1]}], ids=["same shape", "other shape"])
def test_a_later_version_is_refused_as_such(kind: str, more: dict[str, Any]) -> None:
    with pytest.raises(NewerVersionError) as caught:
        FORMS[kind].read(changed(kind, version=9, **more), place="f.json")
    noun = kind.replace("-", " ")
    newest = 2 if kind == "report" else 1
    assert caught.value.message == f"written by a newer perf-culprit ({noun} version 9; this one reads up to {newest})"
    assert caught.value.place == "f.json"
    assert caught.value.next_step is not None
    assert caught.value.next_step.startswith("upgrade to ")


@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"format": "perf-culprit-other", "version": 9}, "perf-culprit-other"),
        ({"of_tomorrow": 1}, "unknown field `of_tomorrow`"),
        ({"version": 0}, "at `version`"),
        ({"version": "1"}, "at `version`"),
    ],
)
def test_what_is_no_such_file_is_broken(kind: str, members: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        FORMS[kind].read(changed(kind, **members), place="f.json")
    assert type(caught.value) is DataError
    assert caught.value.message.startswith(f"not a valid {kind}-v{2 if kind == 'report' else 1}: ")


@pytest.mark.parametrize("kind", FORMS)
def test_a_file_without_its_format_is_none(kind: str) -> None:
    file = json.loads((GOLDEN / f"{kind}.json").read_bytes())
    del file["format"]
    with pytest.raises(DataError, match="no `format`"):
        FORMS[kind].read(json.dumps(file).encode(), place="f.json")


@pytest.mark.parametrize("kind", ["run", "report"])
def test_what_has_a_form_of_its_own_is_refused_with_its_place(kind: str) -> None:
    with pytest.raises(DataError, match=r"length <= 1000 at `\[\.\.\.\]` at `environment`"):
        FORMS[kind].read(changed(kind, environment={"cpu": "x" * 1001}), place="f.json")


def test_a_reason_is_refused_with_its_place() -> None:
    notes = [{"code": "lone_run"}, {"code": 3}]
    with pytest.raises(DataError, match=r"got `int` at `code` at `notes\[1\]`"):
        decode_report(changed("report", notes=notes), place="f.json")


def test_schemas_refuse_what_the_reader_refuses() -> None:
    for name in SCHEMA_KINDS:
        schema = json.loads(schema_text(name))
        top = schema["$defs"][schema["$ref"].rpartition("/")[2]]
        assert top["additionalProperties"] is False
        assert {"format", "version"} <= set(top["required"])
