from typing import Any

import pytest

from perf_culprit.github.workflow_runs import ListedArtifact, belongs, json_object, newest_by_name

HEAD = "a" * 40


def artifact(number: int, *, name: str = "results", created_at: str = "2026-01-02T03:04:05Z") -> ListedArtifact:
    return ListedArtifact(id=number, name=name, created_at=created_at, size_bytes=1, expired=False, digest=None)


def test_the_newest_of_one_name_counts() -> None:
    old, new = artifact(9, created_at="2026-01-01T00:00:00Z"), artifact(3, created_at="2026-01-02T00:00:00Z")
    assert newest_by_name([new, old]) == [new]


def test_of_the_same_second_the_later_id_counts() -> None:
    assert newest_by_name([artifact(4), artifact(5), artifact(3)]) == [artifact(5)]


def test_other_names_stay() -> None:
    linux, mac = artifact(1, name="linux"), artifact(2, name="mac")
    assert newest_by_name([linux, mac]) == [linux, mac]


@pytest.mark.parametrize(
    "run", [None, {}, {"id": 55}, {"head_sha": HEAD}, {"id": 56, "head_sha": HEAD}, {"id": 55, "head_sha": "b" * 40}]
)
def test_an_artifact_of_an_unknown_run_does_not_belong(run: dict[str, Any] | None) -> None:
    assert not belongs({"workflow_run": run}, run_id=55, head_sha=HEAD)


def test_an_artifact_of_the_run_belongs() -> None:
    assert belongs({"workflow_run": {"id": 55, "head_sha": HEAD}}, run_id=55, head_sha=HEAD)


@pytest.mark.parametrize(
    ("text", "value"), [('{"a": 1}', {"a": 1}), ("", {}), ("<html>", {}), ("[1]", {}), ("null", {})]
)
def test_an_answer_that_is_no_object_is_empty(text: str, value: dict[str, int]) -> None:
    assert json_object(text) == value
