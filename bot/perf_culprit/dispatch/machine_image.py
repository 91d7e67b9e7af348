"""The runner image of a search: the one that its ends were recorded on, even if `-latest` has moved on."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from perf_culprit.model.bisection import CommitRange
from perf_culprit.model.dispatch import Bisection
from perf_culprit.model.reason import Reason, SearchReason, because
from perf_culprit.model.run import Run

DEFAULT_RUNNER: Final = "ubuntu-24.04"
LATEST: Final = "-latest"  # such labels move from image to image
_IMAGE: Final = re.compile(r"(ubuntu|macos)(\d\d)\b")
_HOSTED: Final = re.compile(r"(ubuntu|macos)-\d\d\b")


def label_of(components: Mapping[str, str]) -> str | None:
    """Return the label of the image that a run recorded. None for self-hosted machines, and if it recorded none."""
    match = _IMAGE.match(components.get("runner_image", ""))
    if match is None:
        return None
    if match[1] == "macos":
        return f"macos-{match[2]}"
    return f"ubuntu-{match[2]}.04" + ("-arm" if components.get("architecture") in {"aarch64", "arm64"} else "")


def chosen_runner(
    configured: str | None, runs: Sequence[Run], commit_range: CommitRange
) -> tuple[str, tuple[Reason, ...]]:
    """Return the label to measure on, and notes about it.

    If the ends differ, use that of the bad one. GitHub retires old images, and the newer commit has the newer one.
    """
    recorded = {run.commit: run.environment.components for run in runs if "runner_image" in run.environment.components}
    ends = [recorded[end] for end in (commit_range.bad, commit_range.good) if end in recorded]
    labels = [label for end in ends if (label := label_of(end)) is not None]
    if configured is not None and not (configured.endswith(LATEST) and labels):
        others = {label for label in labels if _HOSTED.match(configured) and label != configured}
        return configured, _image_notes(others, configured)
    runner = next(iter(labels), DEFAULT_RUNNER)
    return runner, _image_notes({label_of(end) or end["runner_image"] for end in ends} - {runner}, runner)


def _image_notes(images: set[str], runner: str) -> tuple[Reason, ...]:
    if not images:
        return ()
    return (because(SearchReason.OTHER_IMAGE, images=" and ".join(sorted(images)), runner=runner),)


def other_images(bisection: Bisection) -> tuple[Reason, ...]:
    """Report the images that the machines recorded, if they are not the requested image or if there are several."""
    images = {label for environment in bisection.environments if (label := label_of(environment)) is not None}
    if len(images) < 2 and (images <= {bisection.runner} or not _HOSTED.match(bisection.runner)):
        return ()
    names = " and ".join(sorted(images))
    return (because(SearchReason.MEASURED_ON_IMAGES, images=names, runner=bisection.runner),)
