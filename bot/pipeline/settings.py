"""The configuration in each stage's own words."""

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import BinaryIO, Final

from bot import detect
from bot.collect import AUTO, Reading
from bot.config import Config
from bot.errors import UsageError, did_you_mean
from bot.model.count import is_count
from bot.model.metric import MetricKey
from bot.model.report import Settings
from bot.model.run import Run

# Where the configuration says nothing. A series tells smaller changes from noise than two runs do: of the steps that
# experts labelled, half are smaller than the 5% of comparisons (docs/detectors/change-point.md).
SERIES_EFFECT: Final = 0.01


def reading(config: Config, *, tool: str = AUTO, stdin: BinaryIO | None = None) -> Reading:
    """How the configured suite's files are read."""
    return Reading(tool=tool, suite=config.suite, directions=config.direction_of, stdin=stdin)


def report_settings(config: Config, *, target: Run) -> Settings:
    """The decision rule, for the report's small print; the detectors are those that had something to judge."""
    counts = target.benchmarks and all(is_count(entry.metric) for entry in target.benchmarks)
    metric = config.counted if counts else config.general
    used = [config.detector] * bool(target.benchmarks) + [config.counter_detector] * bool(target.counters)
    return Settings(
        detector=", ".join(dict.fromkeys(used)),
        alpha=config.alpha,
        false_discovery_rate=config.false_discovery_rate,
        minimum_effect=metric.minimum_effect,
        minimum_samples=config.minimum_samples,
        fail=metric.fail,
    )


def minimum_effects(config: Config) -> Callable[[MetricKey], float]:
    """The configuration's rules by benchmark hold for columns of that name too."""
    stated = "minimum_effect" in config.model_fields_set
    settings = config if stated else config.model_copy(update={"minimum_effect": SERIES_EFFECT})
    return lambda key: settings.of(key).minimum_effect


def is_named(config: Config, key: MetricKey) -> bool:
    """Whether the user's settings are about this metric, not just about all of its benchmark."""
    return any(entry.metric != "*" and fnmatchcase(key.metric, entry.metric) for entry in config.benchmarks)


def with_detector(config: Config, name: str) -> Config:
    """`name` judges what it can: benchmarks, counters or both; the other kind keeps its detector."""
    changes = {
        key: name
        for key, registry in (("detector", detect.DETECTORS), ("counter_detector", detect.COUNTER_DETECTORS))
        if name in registry
    }
    if not changes:
        names = tuple(dict.fromkeys((*detect.DETECTORS, *detect.COUNTER_DETECTORS)))
        hint = did_you_mean(name, names, otherwise="see docs/detectors:")
        raise UsageError(f"there is no detector {name!r}", next_step=f"{hint} there are {', '.join(names)}")
    return config.model_copy(update=changes)


def corrected_for_analyses(config: Config, *, analyses: int) -> Config:
    """Error rates for numbers that are judged up to `analyses` times, at planned moments, until they suffice.

    Each analysis gets an equal share of the error (alpha spending by the union bound, which assumes nothing of how the
    analyses depend on each other), so the rates over all analyses are those of the configuration.
    """
    rates = {"alpha": config.alpha / analyses, "false_discovery_rate": config.false_discovery_rate / analyses}
    return config if analyses == 1 else config.model_copy(update=rates)
