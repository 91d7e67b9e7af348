"""`.github/perf-culprit.yml` and action inputs -> one frozen `Config`."""

# mypy: implicit-reexport

from typing import TYPE_CHECKING

from bot.lazy import front_door

if TYPE_CHECKING:
    from bot.config.database import DatabaseUrl
    from bot.config.design import Design, design_schema
    from bot.config.design_file import load_design, parse_design
    from bot.config.model import BisectConfig, CommentConfig, Config, HistoryConfig, config_schema
    from bot.config.policy import BenchmarkConfig, CategoryConfig, LevelsConfig
    from bot.config.reader import load_config, override, parse_config, with_database
    from bot.config.units import parse_change, parse_ratio
else:
    __getattr__ = front_door(__name__)
