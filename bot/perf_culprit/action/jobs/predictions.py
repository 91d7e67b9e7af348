"""git -> simulate -> judge: predictions by the model files that a pull request changes."""

from collections.abc import Callable, Sequence
from pathlib import Path

from perf_culprit import git
from perf_culprit.config.policy_settings import matches_any
from perf_culprit.config.settings import Config
from perf_culprit.errors import BotError, DataError
from perf_culprit.flows.simulations import judge_designs
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.report import Prediction
from perf_culprit.model.work_limits import WORK_LIMITS
from perf_culprit.simulate.design import Design
from perf_culprit.simulate.design_file import parse_design


def predict(
    repository: Path, models: Sequence[git.FileChange], *, config: Config, tell: Callable[[str], None]
) -> tuple[Prediction, ...]:
    """Predict each scenario that both sides of a changed model have. `tell` gets what cannot be simulated and why."""
    predictions: list[Prediction] = []
    for change in models:
        if change.old_blob is None or change.blob is None:
            tell(f"{change.path} is new: a prediction needs the design before the change")
            continue
        try:
            old, new = (_design(repository, blob, f"{change.path}") for blob in (change.old_blob, change.blob))
            for scenario in (name for name in new.scenario if name in old.scenario):
                if len(predictions) == WORK_LIMITS.scenarios:
                    tell(f"{change.path}, scenario {scenario}: not simulated, {WORK_LIMITS.scenarios} scenarios are")
                    continue
                predictions.append(_predict(old, new, scenario, path=change.path, config=config, tell=tell))
        except BotError as error:
            tell(f"no prediction: {error}")
    return tuple(predictions)


def _predict(
    old: Design, new: Design, scenario: str, *, path: str, config: Config, tell: Callable[[str], None]
) -> Prediction:
    report = judge_designs(old, new, scenario, seed=0, replications=None, config=config, tell=lambda _: None)
    tell(f"simulated: {path}, scenario {scenario}")
    return Prediction(
        model=path,
        scenario=scenario,
        conclusion=report.conclusion,
        findings=report.findings,
        detectable_effect=report.detectable_effect,
    )


def _design(repository: Path, blob: str, place: str) -> Design:
    (data,) = git.read_blobs(repository, [blob])
    if len(data) > FILE_LIMITS.model_bytes:
        raise DataError(
            f"holds more than {FILE_LIMITS.model_bytes >> 10} KiB", place=place, next_step="split the design"
        )
    return parse_design(data, {}, place=place)


def changed_files(repository: Path, *, base: str, head: str, patterns: Sequence[str]) -> tuple[git.FileChange, ...]:
    """Return the files that changed between the commits, match a pattern and still exist."""
    return tuple(
        change
        for change in git.file_changes(repository, base, head)
        if change.blob is not None and matches_any(change.path, patterns)
    )
