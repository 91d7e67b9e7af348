"""Which version the tables have, and how they get the newest: once, whoever else wants to do it at the same time."""

from pathlib import Path
from typing import Final

from sqlalchemy import Connection, column, inspect, select, table

from bot.errors import ConfigError
from bot.history.sql.tables import VERSION_TABLE, VERSIONS

MIGRATIONS: Final = Path(__file__).parent / "migrations"
# Of PostgreSQL's advisory locks: any number, always the same.
LOCK: Final = 7_064_312_019
MIGRATE_STEP: Final = "let a role that may create tables run: perf-culprit history migrate"


def is_current(connection: Connection, *, place: str) -> bool:
    """False where there are no tables yet, or older ones; a ConfigError where a newer program made them."""
    version = _version(connection)
    if version is not None and version not in VERSIONS:
        raise ConfigError(
            f"its tables have version {version[:20]!r}; this program knows {VERSIONS[-1]!r}",
            place=place,
            next_step="upgrade perf-culprit to the version that wrote the history",
        )
    return version == VERSIONS[-1]


def is_empty(connection: Connection, *, place: str) -> bool:
    """True where there are no tables yet; a ConfigError where they are not of this program's version."""
    if is_current(connection, place=place):
        return False
    if (version := _version(connection)) is None:
        return True
    raise ConfigError(
        f"its tables have the older version {version!r}", place=place, next_step=f"record a run, or {MIGRATE_STEP}"
    )


def migrate(connection: Connection, *, place: str) -> bool:
    """Within the connection's transaction: the tables of the newest version; False where they were there.

    One at a time: who waited here finds that it is done. SQLite's transaction holds the whole file already.
    """
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({LOCK})")
    if is_current(connection, place=place):
        return False
    from alembic import command
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    command.upgrade(config, "head")
    return True


def _version(connection: Connection) -> str | None:
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    version: str | None = connection.scalar(select(column("version_num")).select_from(table(VERSION_TABLE)))
    return version
