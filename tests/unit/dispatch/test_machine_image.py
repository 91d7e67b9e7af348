"""The image on which a search measures, and the note in its answer if that is not the image of the ends."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from perf_culprit.dispatch.machine_image import chosen_runner, label_of, other_images
from perf_culprit.model.bisection import CommitRange
from perf_culprit.model.bisection_files import decode_stored
from perf_culprit.model.run import Environment, Run
from perf_culprit.say.reason_text import sentence

GOLDEN = Path(__file__).parents[2] / "golden"
RANGE = CommitRange(good="g", bad="b", commits=("a", "b"), parents=((), (0,)))


def recorded(commit: str, image: str | None) -> Run:
    return Run(
        benchmarks=(), commit=commit, environment=Environment(components={"runner_image": image} if image else {})
    )


@pytest.mark.parametrize(
    ("components", "label"),
    [
        ({"runner_image": "ubuntu24 20261101.1.0"}, "ubuntu-24.04"),
        ({"runner_image": "ubuntu26", "architecture": "x86_64"}, "ubuntu-26.04"),
        ({"runner_image": "ubuntu24 20261101.1.0", "architecture": "aarch64"}, "ubuntu-24.04-arm"),
        ({"runner_image": "macos15 20261101"}, "macos-15"),
        ({"runner_image": "self-hosted"}, None),
        ({}, None),
    ],
)
def test_the_label_of_a_recorded_image(components: dict[str, str], label: str | None) -> None:
    assert label_of(components) == label


@pytest.mark.parametrize(
    ("configured", "good", "bad", "runner", "told"),
    [
        (None, None, None, "ubuntu-24.04", None),
        (None, "ubuntu22 1", "ubuntu22 2", "ubuntu-22.04", None),
        ("ubuntu-latest", "ubuntu24 1", None, "ubuntu-24.04", None),
        ("ubuntu-latest", None, None, "ubuntu-latest", None),
        ("perf-box", "self-hosted", "self-hosted", "perf-box", None),
        ("ubuntu-26.04", "ubuntu26 1", "ubuntu26 1", "ubuntu-26.04", None),
        (None, "ubuntu24 1", "ubuntu26 1", "ubuntu-26.04", "recorded on ubuntu-24.04, the search measures on"),
        ("ubuntu-26.04", "ubuntu24 1", "ubuntu24 1", "ubuntu-26.04", "recorded on ubuntu-24.04, the search measures"),
        (None, "self-hosted", "self-hosted", "ubuntu-24.04", "recorded on self-hosted, the search measures on"),
    ],
)
def test_a_search_stays_on_the_image_of_its_ends_or_says_that_it_does_not(
    configured: str | None, good: str | None, bad: str | None, runner: str, told: str | None
) -> None:
    chosen, notes = chosen_runner(configured, [recorded("g", good), recorded("b", bad)], RANGE)
    assert chosen == runner
    assert [told in sentence(note).replace('"', "`") for note in notes if told] == [True] * bool(told)
    assert bool(notes) == bool(told)


@pytest.mark.parametrize(
    ("runner", "images", "told"),
    [
        ("ubuntu-24.04", ("ubuntu24 1", "ubuntu24 2"), None),
        ("perf-box", ("ubuntu24 1",), None),
        ("ubuntu-24.04", ("ubuntu26 1",), "the machines ran ubuntu-26.04, where ubuntu-24.04 was asked for"),
        ("perf-box", ("ubuntu24 1", "ubuntu26 1"), "the machines ran ubuntu-24.04 and ubuntu-26.04, where perf-box"),
    ],
)
def test_machines_of_other_images_are_told(runner: str, images: tuple[str, ...], told: str | None) -> None:
    stored = decode_stored((GOLDEN / "version1/stored-bisection.json").read_bytes(), place="golden")
    environments = tuple({"runner_image": image} for image in images)
    notes = other_images(replace(stored, runner=runner, environments=environments))
    assert [sentence(note)[: len(told or "")] for note in notes] == ([told] if told else [])
