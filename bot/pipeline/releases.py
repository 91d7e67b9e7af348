"""collect or history -> detect -> report: how released versions differ from one to the next."""

from collections.abc import Sequence
from pathlib import Path

from bot import git
from bot.collect import collect, named_alike
from bot.config import Config
from bot.detect.deviation_matrix import deviation_matrix
from bot.errors import DataError, UsageError
from bot.model.deviation import DeviationMatrix, Version
from bot.pipeline.line import stored_line

EXAMPLE = "such as: perf-culprit changes --releases v1.0=old.json v1.1=new.json"


def releases_in_files(named: Sequence[str], *, config: Config) -> DeviationMatrix:
    """`named`: NAME=FILE, the oldest first; several files of one name are one version."""
    paths: dict[str, list[str]] = {}
    for entry in named:
        name, separator, path = entry.partition("=")
        if not (name and separator and path):
            raise UsageError(f"{entry!r} is no NAME=FILE", place="--releases", next_step=EXAMPLE)
        paths.setdefault(name, []).append(path)
    if len(paths) < 2:
        raise UsageError("one version has nothing to be compared with", place="--releases", next_step=EXAMPLE)
    *former, newest = map(collect, paths.values())
    before, last = named_alike(former, newest)
    versions = [Version(name=name, run=run) for name, run in zip(paths, (*before, last), strict=True)]
    return deviation_matrix(versions, minimum_effect=config.minimum_effect)


def releases_in_history(repository: Path, *, config: Config, history_url: str | None = None) -> DeviationMatrix:
    """Of the tags whose commits have stored runs; many a release is of a branch that was merged."""
    line, place = stored_line(repository, config=config, history_url=history_url, merged=True)
    names = {commit: name for name, commit in git.tags(repository).items()}
    runs = {names[run.commit]: run for run in line.runs if run.commit in names}
    if len(runs) < 2:
        raise DataError(
            f"holds runs of {len(runs)} of HEAD's {len(names):,} tagged commits; two are compared",
            place=place,
            next_step="record runs of the tags, or give their files: " + EXAMPLE.removeprefix("such as: "),
        )
    versions = [Version(name=name, run=run) for name, run in runs.items()]
    return deviation_matrix(versions, minimum_effect=config.minimum_effect)
