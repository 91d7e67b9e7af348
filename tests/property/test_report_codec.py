import pytest
from hypothesis import given

from perf_culprit.model.report import Report, decode_report, encode_report
from tests.support.hostile import reports


# Whole reports of nasty strings take some 40 ms each to make.
@pytest.mark.slow
@given(report=reports())
def test_a_report_survives_its_file(report: Report) -> None:
    assert decode_report(encode_report(report), place="report.json") == report
