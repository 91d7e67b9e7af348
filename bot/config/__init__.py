"""`.github/perf-culprit.yml` and action inputs -> one frozen `Config`."""

from bot.config.model import (
    BenchmarkConfig,
    BisectConfig,
    CategoryConfig,
    CommentConfig,
    Config,
    HistoryConfig,
    LevelsConfig,
    config_schema,
)
from bot.config.reader import load_config, override, parse_config
from bot.config.units import parse_change, parse_ratio

__all__ = [
    "BenchmarkConfig",
    "BisectConfig",
    "CategoryConfig",
    "CommentConfig",
    "Config",
    "HistoryConfig",
    "LevelsConfig",
    "config_schema",
    "load_config",
    "override",
    "parse_change",
    "parse_config",
    "parse_ratio",
]
