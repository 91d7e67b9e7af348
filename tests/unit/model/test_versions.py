"""Files of version 1 are read as they were written, and those of a later version are refused as such."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
import pytest

from perf_culprit.errors import DataError, NewerVersionError
from perf_culprit.flows.published_schemas import SCHEMAS, schema_text
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
    """A file's content without what says nothing, and without the sentences of reasons, which decide nothing."""
    if isinstance(value, dict):
        kept = {name: content(one) for name, one in value.items() if name not in {"format", "version", "text"}}
        return {name: one for name, one in kept.items() if one not in (None, [], {}, 0, False)}
    return [content(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_version_1_is_read_whole(name: str) -> None:
    data = (GOLDEN / name).read_bytes()
    form = FORMS[form_of(name)]
    again = form.write(form.read(data, place=name))
    assert content(json.loads(again)) == content(json.loads(data))
    assert content(json.loads(data)) != {}


def test_every_kind_has_a_file_of_version_1() -> None:
    assert {form_of(name) for name in FILES} == FORMS.keys()


@pytest.mark.parametrize("name", [name for name in FILES if form_of(name) != "dashboard"])
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
    assert caught.value.message == f"written by a newer perf-culprit ({noun} version 9; this one reads up to 1)"
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
    assert caught.value.message.startswith(f"not a valid {kind}-v1: ")


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
    for name in SCHEMAS:
        schema = json.loads(schema_text(name))
        top = schema["$defs"][schema["$ref"].rpartition("/")[2]]
        assert top["additionalProperties"] is False
        assert {"format", "version"} <= set(top["required"])
