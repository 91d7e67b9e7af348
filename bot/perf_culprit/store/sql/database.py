"""A history in a database: connection, transactions, tables, and errors without secrets.

Migrations create the tables (`migrations/versions`); a test compares the two.
Every entry has the path and content that it would have on the history branch, compressed by zlib as git does it. Runs
and accepted changes are only ever added; a bisection is replaced, version by version.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

from sqlalchemy import (
    URL,
    Column,
    Connection,
    Engine,
    Index,
    LargeBinary,
    MetaData,
    Table,
    Text,
    column,
    create_engine,
    event,
    inspect,
    select,
    table,
)
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError

from perf_culprit.config.database_url import DatabaseUrl
from perf_culprit.errors import ConfigError, InfrastructureError
from perf_culprit.model.text_limits import TEXT_LIMITS

# The newest is last; earlier versions can be migrated.
VERSIONS: Final = ("0001",)
VERSION_TABLE: Final = "perf_culprit_version"

METADATA: Final = MetaData()


def _append_table(name: str) -> Table:
    """A table of added rows. `key` survives compaction, `path` has the run's time and size, `suite` is a folder."""
    return Table(
        f"perf_culprit_{name}",
        METADATA,
        Column("key", Text, primary_key=True),
        Column("path", Text, nullable=False),
        Column("suite", Text, nullable=False),
        Column("commit", Text, nullable=False),
        Column("content", LargeBinary, nullable=False),
        Index(f"perf_culprit_{name}_suite", "suite", "commit"),
    )


RUNS_TABLE: Final = _append_table("runs")
ACCEPTANCES_TABLE: Final = _append_table("acceptances")
BISECTIONS_TABLE: Final = Table(
    "perf_culprit_bisections",
    METADATA,
    Column("key", Text, primary_key=True),
    Column("path", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("content", LargeBinary, nullable=False),
)
# Keyed by the first folder of a path.
TABLES: Final[Mapping[str, Table]] = {"runs": RUNS_TABLE, "accepted": ACCEPTANCES_TABLE, "bisections": BISECTIONS_TABLE}


MIGRATE_STEP: Final = "let a role that may create tables run: perf-culprit history migrate"


_T = TypeVar("_T")

SQLITE_WAIT_SECONDS: Final = 30.0
# Rows per statement: a run of 1,000 benchmarks is a quarter of a megabyte.
_ROWS_PER_STATEMENT: Final = 50
# libpq's options. They detect a lost host, even within a transaction. No prepared statements: a pooler keeps none.
POSTGRESQL_OPTIONS: Final = {"connect_timeout": "10", "tcp_user_timeout": "60000", "application_name": "perf-culprit"}
# Set so that libpq looks for no secrets: an empty password, and no password file.
NO_SECRETS: Final = {"password": "", "passfile": os.devnull}
# A driver's message -> the user's next step. Another attempt would fail in the same way.
PERMANENT: Final = (
    ("authentication failed", "give the password in PERF_CULPRIT_HISTORY_URL or PGPASSWORD"),
    ("no password supplied", "give the whole URL in PERF_CULPRIT_HISTORY_URL, or set PGHOST and PGPASSWORD"),
    ("no pg_hba.conf entry", "let the server accept this user, database and machine (pg_hba.conf)"),
    ("permission denied for schema", MIGRATE_STEP),
    ("permission denied", "grant this role what docs/history.md lists for readers and writers"),
    ("resolve host", "check the host's name and the network"),
    ("translate host name", "check the host's name and the network"),
    ("does not exist", "create the database and the role, or check their names"),
    ("server does not support SSL", "let the server offer TLS, or choose another sslmode"),
    ("certificate", "check the server's certificate and sslrootcert"),
    ("unable to open database file", "make its folder, and let this user write there"),
    ("readonly database", "let this user write the file and its folder"),
    ("not a database", "name another file"),
    ("malformed", "put back a copy of the file"),
    ("database is locked", f"another program locked it for {SQLITE_WAIT_SECONDS:g} s: end it, then run again"),
    ("disk is full", "free disk space, then run again"),
    ("No space left", "free disk space on the server, then run again"),
)
# An execution option of statements that read contents as bytes.
AS_BYTES: Final = "as_bytes"
_ENGINE_OPTIONS: Final[Mapping[str, Any]] = {"hide_parameters": True, "insertmanyvalues_page_size": _ROWS_PER_STATEMENT}


class TransientError(InfrastructureError):
    """Worth another attempt: another writer, the server or the network failed, not the request."""


class Database:
    """A database connection, opened at its first use and closed by `close`."""

    def __init__(self, url: DatabaseUrl) -> None:
        self.place = url.shown
        self._file = Path(url.database).absolute() if url.dialect == "sqlite" else None
        self._password = url.password
        self._engine = _sqlite(self._file) if self._file else _postgresql(url)

    def read(self, action: Callable[[Connection], _T], *, empty: _T) -> _T:
        """Return the result of `action`; `empty` if nothing was ever written. Neither a file nor tables are created."""
        with self._told():
            if self._file and not self._file.exists():
                return empty
            with self._engine.connect() as connection:
                return empty if is_empty(connection, place=self.place) else action(connection)

    def write(self, action: Callable[[Connection], _T]) -> _T:
        """Return the result of `action`, run in one transaction. First create or migrate the tables where necessary."""
        with self._writing() as connection:
            if not _are_tables_current(connection, place=self.place):
                _migrate(connection, place=self.place)
            return action(connection)

    def prepare(self) -> bool:
        """Create or migrate the tables. False if they were current."""
        with self._writing() as connection:
            return _migrate(connection, place=self.place)

    def close(self) -> None:
        self._engine.dispose()

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with self._told(), self._engine.begin() as connection:
            if self._file:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            yield connection

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as error:
            raise self._translated(error) from None

    def _translated(self, error: SQLAlchemyError) -> InfrastructureError:
        cause = error.orig if isinstance(error, DBAPIError) else error
        lines = [line.strip() for line in str(cause).splitlines() if line.strip()]
        text = " | ".join(lines)[: TEXT_LIMITS.output_characters] or type(cause).__name__
        if self._password:
            text = text.replace(self._password, "***")
        step = next((step for part, step in PERMANENT if part in text), None)
        # SQLite reports every error as operational. For PostgreSQL it means the server or the connection to it.
        lost = self._file is None and isinstance(error, OperationalError | InterfaceError)
        kind = TransientError if lost and step is None else InfrastructureError
        return kind(text, place=self.place, next_step=step or "check the database, then run again")


def _sqlite(file: Path) -> Engine:
    url = URL.create("sqlite", database=str(file))
    engine = create_engine(url, connect_args={"timeout": SQLITE_WAIT_SECONDS}, **_ENGINE_OPTIONS)

    @event.listens_for(engine, "connect")
    def _begin_by_ourselves(connection: Any, _: object) -> None:
        # The driver would begin a transaction late, and end it before a table is created.
        connection.isolation_level = None

    return engine


def _postgresql(url: DatabaseUrl) -> Engine:
    from psycopg.pq import Format

    place = URL.create(
        "postgresql+psycopg",
        username=url.user,
        password=url.password,
        host=url.host,
        port=url.port,
        database=url.database,
        query=dict(url.parameters),
    )
    options = {name: value for name, value in POSTGRESQL_OPTIONS.items() if name not in url.parameters}
    if not url.gets_secrets:
        options |= NO_SECRETS
    engine = create_engine(place, connect_args={**options, "prepare_threshold": None}, **_ENGINE_OPTIONS)

    @event.listens_for(engine, "before_cursor_execute")
    def _ask_for_bytes(_: object, cursor: Any, *rest: Any) -> None:
        # Text would be twice as long and took five times as long. Not everywhere: reflection expects text.
        if rest[-2].execution_options.get(AS_BYTES):
            cursor.format = Format.BINARY

    return engine


MIGRATIONS: Final = Path(__file__).parent / "migrations"
# The key of a PostgreSQL advisory lock: any number, but always the same.
_UPGRADE_LOCK: Final = 7_064_312_019


def _are_tables_current(connection: Connection, *, place: str) -> bool:
    """Whether the tables exist and are current. Raise a ConfigError if a newer program made them."""
    if (version := _version(connection)) is not None and version not in VERSIONS:
        raise ConfigError(
            f"its tables have version {version[:20]!r}; this program knows {VERSIONS[-1]!r}",
            place=place,
            next_step="upgrade perf-culprit to the version that wrote the history",
        )
    return version == VERSIONS[-1]


def is_empty(connection: Connection, *, place: str) -> bool:
    """Return whether there are no tables yet. Raise a ConfigError if they are of another version."""
    if _are_tables_current(connection, place=place):
        return False
    if (version := _version(connection)) is None:
        return True
    raise ConfigError(
        f"its tables have the older version {version!r}", place=place, next_step=f"record a run, or {MIGRATE_STEP}"
    )


def _migrate(connection: Connection, *, place: str) -> bool:
    """Create or upgrade the tables in the connection's transaction. False if they were current.

    PostgreSQL's lock admits one migration at a time; one that waited finds the work done. SQLite locks the whole file.
    """
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_UPGRADE_LOCK})")
    if _are_tables_current(connection, place=place):
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
