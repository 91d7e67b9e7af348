"""The message to a webhook: the issues that one job opened or reopened."""

from typing import Literal

import msgspec

from perf_culprit.model.json_files import explicit_default


class NotifiedChange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A benchmark that got worse. `change` is relative to the baseline, if it can be computed."""

    benchmark: str
    metric: str
    change: float | None = None


class NotifiedIssue(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A new finding by its issue. `commit` is where it was seen, `culprit` the commit that introduced it."""

    url: str
    title: str
    commit: str
    culprit: str | None = None
    changes: tuple[NotifiedChange, ...] = ()


class Notification(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    tag_field="format",
    tag="perf-culprit-notification",
):
    """The message that a webhook gets.

    `run_url` is the page of the job's run; `omitted` counts the issues that have no room.
    """

    version: Literal[1] = explicit_default(1)
    repository: str
    run_url: str | None
    issues: tuple[NotifiedIssue, ...]
    omitted: int = explicit_default(0)
