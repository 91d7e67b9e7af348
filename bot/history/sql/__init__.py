"""A history in a database: SQLite's file or PostgreSQL, by SQLAlchemy Core; loaded when one is opened."""

from typing import TYPE_CHECKING

from bot.lazy import front_door

if TYPE_CHECKING:
    from bot.history.sql.store import open_database as open_database
    from bot.history.sql.store import prepare as prepare
else:
    __getattr__ = front_door(__name__)
