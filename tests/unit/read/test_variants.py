"""Distinct trees counted in constant memory."""

import hashlib

import pytest

from perf_culprit.read.logs.service_calls import KEPT, count, smallest


def digests(first: int, last: int) -> list[bytes]:
    return [hashlib.blake2b(str(i).encode(), digest_size=8).digest() for i in range(first, last)]


def test_few_are_counted_exactly() -> None:
    assert count(smallest(digests(0, 1_000) * 2)) == 1_000
    assert count(frozenset()) == 0


def test_many_are_estimated_and_merge_as_if_seen_at_once() -> None:
    whole = smallest(digests(0, 20_000))
    assert len(whole) == KEPT
    assert count(whole) == pytest.approx(20_000, rel=0.06)
    assert smallest(smallest(digests(0, 12_000)) | smallest(digests(9_000, 20_000))) == whole
