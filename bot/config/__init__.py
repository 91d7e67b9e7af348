"""`.github/perf-culprit.yml` and action inputs -> one frozen `Config`."""

from typing import TYPE_CHECKING

from bot.lazy import front_door

if TYPE_CHECKING:
    from bot.config.database import DatabaseUrl as DatabaseUrl
    from bot.config.design import Design as Design
    from bot.config.design import design_schema as design_schema
    from bot.config.design_file import load_design as load_design
    from bot.config.design_file import parse_design as parse_design
    from bot.config.model import BisectConfig as BisectConfig
    from bot.config.model import CommentConfig as CommentConfig
    from bot.config.model import Config as Config
    from bot.config.model import HistoryConfig as HistoryConfig
    from bot.config.model import config_schema as config_schema
    from bot.config.policy import BenchmarkConfig as BenchmarkConfig
    from bot.config.policy import CategoryConfig as CategoryConfig
    from bot.config.policy import LevelsConfig as LevelsConfig
    from bot.config.reader import load_config as load_config
    from bot.config.reader import override as override
    from bot.config.reader import parse_config as parse_config
    from bot.config.reader import with_database as with_database
    from bot.config.units import parse_change as parse_change
    from bot.config.units import parse_ratio as parse_ratio
else:
    __getattr__ = front_door(__name__)
