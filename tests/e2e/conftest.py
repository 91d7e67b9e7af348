"""The action's image, once per session."""

import os
from pathlib import Path

import pytest

from tests.support.container.image import build_action_image
from tests.support.container.podman import ContainersUnavailableError

PROJECT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def action_image() -> str:
    """The image of the real Dockerfile; skips where containers cannot run, unless REQUIRE_CONTAINERS forbids that."""
    try:
        return build_action_image(PROJECT)
    except ContainersUnavailableError as error:
        if os.environ.get("REQUIRE_CONTAINERS") == "true":
            raise
        pytest.skip(f"no containers here: {error}")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder
