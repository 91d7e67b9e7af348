"""The action's image, built from the real Dockerfile."""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.container.base import base_image, ensure_base
from tests.support.container.podman import image_exists, podman, require_podman

ACTION_TAG = "localhost/perf-culprit-action"


def build_action_image(project: Path) -> str:
    """Build the Dockerfile of `project` (cached by podman) and return the image's id.

    PERF_CULPRIT_IMAGE names another image to test, for example a published release.
    """
    require_podman()
    if published := os.environ.get("PERF_CULPRIT_IMAGE"):
        pulled = podman("pull", "--quiet", published)
        assert pulled.returncode == 0, pulled.stderr
        return published
    dockerfile = project / "Dockerfile"
    image = base_image(dockerfile.read_text())
    tag = image.partition("@")[0]
    with _one_at_a_time():
        if not (is_pulled := image_exists(image)):
            ensure_base(tag)
        stand_in = [] if is_pulled else [f"--from={tag}"]
        built = podman("build", "--quiet", *stand_in, "--tag", ACTION_TAG, "--file", str(dockerfile), str(project))
    if built.returncode != 0:
        raise AssertionError(f"the Dockerfile does not build:\n{built.stdout[-2000:]}\n{built.stderr[-4000:]}")
    return built.stdout.split()[-1]


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Parallel test processes would bootstrap the same base image twice."""
    with Path(tempfile.gettempdir(), "perf-culprit-image.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
