import json
from typing import Any

import pytest

from perf_culprit.errors import DataError
from perf_culprit.model.reason import Reason, VerdictReason, because, remark
from perf_culprit.model.report import decode_report, encode_report
from perf_culprit.say.reason_text import sentence
from tests.support.reports import every_conclusion

REPORT = every_conclusion()["nothing-seen"]


def decoded(reason: Any) -> Reason:
    """Decode a report whose first finding has this `reason`, and return that reason."""
    file = json.loads(encode_report(REPORT))
    file["findings"][0]["reason"] = reason
    return decode_report(json.dumps(file).encode(), place="report.json").findings[0].reason


def test_a_file_holds_code_arguments_and_for_people_the_sentence() -> None:
    file = json.loads(encode_report(REPORT, sentence=sentence))
    assert file["findings"][0]["reason"] == {
        "code": "excluded",
        "arguments": {"effect": 0.05},
        "text": "a change of 5% is excluded",
    }


def test_the_sentence_in_a_file_decides_nothing() -> None:
    written = {"code": "excluded", "arguments": {"effect": 0.05}, "text": "measured on other hardware"}
    assert decoded(written) == because(VerdictReason.EXCLUDED, effect=0.05)


def test_reports_of_versions_that_wrote_sentences_are_read() -> None:
    assert decoded("within the noise") == remark("within the noise")
    assert decoded({"code": "of_tomorrow", "text": "it rained"}) == remark("it rained")
    assert decoded({"code": "of_tomorrow"}) == remark("of_tomorrow")


@pytest.mark.parametrize(
    "reason", [3, None, {"text": "x"}, {"code": "excluded", "arguments": {"effect": {"x": 1}}}, {"code": "x", "y": 1}]
)
def test_other_forms_are_refused(reason: Any) -> None:
    with pytest.raises(DataError):
        decoded(reason)


def test_whole_numbers_beyond_all_counts_are_no_counts() -> None:
    reason = decoded({"code": "not_yet_refuted", "arguments": {"count": 10**30}})
    assert sentence(reason) == "not yet refuted"
    with pytest.raises(DataError):
        decoded({"code": "not_yet_refuted", "arguments": {"count": 10**400}})


def test_the_report_is_the_same_after_its_file() -> None:
    report = decode_report(encode_report(REPORT, sentence=sentence), place="report.json")
    assert report == REPORT
