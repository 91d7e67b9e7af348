"""A history in a database: permissions, creation of tables, a lost server, and secrets that are never printed."""

import itertools
import shutil
import sqlite3
import threading
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from msgspec import structs
from sqlalchemy import Connection, create_engine, event, text

from perf_culprit.config.database_url import DatabaseUrl, parse_database
from perf_culprit.errors import ConfigError, InfrastructureError
from perf_culprit.store.opening import open_sql, prepare_database
from perf_culprit.store.protocol import NamedRun, Store
from perf_culprit.store.retention import Patience
from perf_culprit.store.sql import database
from perf_culprit.store.sql.database import METADATA, MIGRATIONS, VERSION_TABLE, Database, TransientError
from perf_culprit.store.sql.sql_store import SqlHistory
from tests.support import postgresql
from tests.support.postgresql import PASSWORD, Server
from tests.support.runner_pool import new_bisection
from tests.support.stored_runs import make_run

COMMIT = f"{1:040x}"
READER = (
    "GRANT SELECT ON perf_culprit_version, perf_culprit_runs, perf_culprit_acceptances, perf_culprit_bisections TO "
)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with postgresql.running() as started:
        yield started


@pytest.fixture
def url(server: Server) -> DatabaseUrl:
    return parse_database(server.fresh(), with_secret=True)


@pytest.fixture
def file(tmp_path: Path) -> DatabaseUrl:
    return parse_database(f"sqlite:///{tmp_path / 'history.db'}")


@pytest.fixture(params=["url", "file"])
def place(request: pytest.FixtureRequest) -> DatabaseUrl:
    url: DatabaseUrl = request.getfixturevalue(request.param)
    return url


def stored(history: Store) -> list[int]:
    """The numbers of the stored runs of the first commits."""
    commits = [f"{number:040x}" for number in range(1, 50)]
    runs = [entry.run for entry in history.runs("default", commits) if isinstance(entry, NamedRun)]
    return [int(str(run.commit), 16) for run in runs]


def test_the_migrations_make_the_tables_that_are_used(place: DatabaseUrl) -> None:
    assert prepare_database(place)
    assert not prepare_database(place)

    def differences(connection: Connection) -> list[object]:
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
        return list(compare_metadata(context, METADATA))

    no_tables: list[object] = ["no tables"]
    with closing(Database(place)) as database:
        assert database.read(differences, empty=no_tables) == []


def test_racing_writers_make_the_tables_once_and_lose_nothing(place: DatabaseUrl) -> None:
    together = threading.Barrier(6)

    def write(number: int) -> str:
        with open_sql(place) as history:
            together.wait()
            history.append(make_run(number % 3 + 1))  # each of three runs twice
            return history.append(make_run(number + 10))

    with ThreadPoolExecutor(6) as pool:
        names = set(pool.map(write, range(6)))
    assert len(names) == 6
    with open_sql(place) as history:
        assert stored(history) == [1, 2, 3, *range(10, 16)]


def test_who_only_reads_makes_nothing(place: DatabaseUrl) -> None:
    with open_sql(place) as history:
        assert (stored(history), history.accepted("default"), history.paths()) == ([], (), ())
    if place.dialect == "sqlite":
        assert not Path(place.database).exists()
    else:
        assert prepare_database(place)


@contextmanager
def next_version(folder: Path, upgrade: str) -> Iterator[None]:
    """Add a further version with this migration to the program within the context."""
    migrations = folder / "migrations"
    shutil.copytree(MIGRATIONS, migrations)
    (migrations / "versions" / "0002_next.py").write_text(
        "import sqlalchemy as sa\nfrom alembic import op\nrevision, down_revision = '0002', '0001'\n"
        f"def upgrade():\n    {upgrade}\n"
    )
    with patch.multiple(database, MIGRATIONS=migrations, VERSIONS=("0001", "0002")):
        yield


def test_older_tables_are_migrated_by_the_next_writer_and_refused_by_readers(
    place: DatabaseUrl, tmp_path: Path
) -> None:
    with open_sql(place) as history:
        history.append(make_run(1))
    upgrade = "op.add_column('perf_culprit_runs', sa.Column('note', sa.Text))"
    with next_version(tmp_path, upgrade), open_sql(place) as history:
        with pytest.raises(ConfigError, match="older version '0001'") as caught:
            history.commits("default")
        assert "perf-culprit history migrate" in str(caught.value)
        history.append(make_run(2))
        assert stored(history) == [1, 2]
    with open_sql(place) as history:
        with pytest.raises(ConfigError, match="version '0002'; this program knows '0001'"):
            history.commits("default")
        with pytest.raises(ConfigError, match="version '0002'"):
            history.append(make_run(3))


def test_a_failed_migration_leaves_the_tables_as_they_were(place: DatabaseUrl, tmp_path: Path) -> None:
    with open_sql(place) as history:
        history.append(make_run(1))
    upgrade = "op.drop_table('perf_culprit_runs'), op.execute('nonsense')"
    with (
        next_version(tmp_path, upgrade),
        open_sql(place) as history,
        pytest.raises(InfrastructureError, match="nonsense"),
    ):
        history.append(make_run(2))
    with open_sql(place) as history:
        assert stored(history) == [1]


def test_roles_need_what_is_documented_and_no_more(server: Server, url: DatabaseUrl) -> None:
    grants = documented_grants()
    for role in ("perf_reader", "perf_writer"):
        server.execute(f"DROP ROLE IF EXISTS {role}", f"CREATE ROLE {role} LOGIN PASSWORD 'other'")
    reader, writer = (replace(url, user=f"perf_{role}", password="other") for role in ("reader", "writer"))
    with (
        open_sql(writer) as history,
        pytest.raises(InfrastructureError, match="permission denied for schema") as caught,
    ):
        history.append(make_run(1))
    assert "let a role that may create tables run: perf-culprit history migrate" in str(caught.value)
    assert prepare_database(url)
    with open_sql(writer) as history, pytest.raises(InfrastructureError, match="permission denied for table"):
        history.append(make_run(1))
    server.execute(*grants, database=url.database)
    with open_sql(writer) as history:
        history.append(make_run(1))
        version = history.store(new_bisection(size=4), expected=None)
        history.store(structs.replace(new_bisection(size=4), fruitless=1), expected=version)
    with open_sql(reader) as history:
        assert stored(history) == [1]
        assert len(history.paths()) == 2
        with pytest.raises(InfrastructureError, match="permission denied for table") as caught:
            history.append(make_run(2))
        assert "docs/history.md" in str(caught.value)
        with pytest.raises(InfrastructureError, match="permission denied for table"):
            history.store(structs.replace(new_bisection(size=4), id="9"), expected=None)
    engine = create_engine(server.url(url.database, user="perf_writer", password="other").replace("://", "+psycopg://"))
    for statement in ("DELETE FROM perf_culprit_runs", "UPDATE perf_culprit_runs SET content = ''"):
        with engine.connect() as connection, pytest.raises(Exception, match="permission denied"):
            connection.execute(text(statement))
    engine.dispose()


def documented_grants() -> list[str]:
    lines = (Path(__file__).parents[2] / "docs" / "history.md").read_text(encoding="utf-8").splitlines()
    return [line.strip() for line in lines if line.startswith("    GRANT ")]


@pytest.mark.slow  # the server is killed and started again at every statement of a write
def test_a_server_that_dies_in_mid_write_leaves_nothing_half_written(server: Server, url: DatabaseUrl) -> None:
    with open_sql(url) as history:
        history.append(make_run(1))
    for step in range(1, 30):
        statements = iter(range(1, 1000))
        connection = Database(url)

        def die(*_: object, at: int = step, count: Iterator[int] = statements) -> None:
            if next(count) == at:
                server.stop()
                server.start()

        for moment in ("before_cursor_execute", "commit"):
            event.listen(connection._engine, moment, die)
        patience = Patience(attempts=5, first_pause_seconds=0.01)
        history = SqlHistory(connection, patience=patience, random=Random(step))
        names = history.append_all([make_run(number) for number in (step * 2, step * 2 + 1)])
        with open_sql(url) as after:
            assert stored(after) == list(range(1, step * 2 + 2))
        assert len(set(names)) == 2
        connection.close()
        if next(statements) <= step:
            break
    assert 5 < step < 29


def test_a_write_whose_answer_was_lost_is_repeated_and_changes_nothing(
    file: DatabaseUrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, answers = Database.write, itertools.count()

    def lose_every_other_answer(database: Database, action: Callable[[Connection], Any]) -> Any:
        result = write(database, action)
        if next(answers) % 2 == 0:
            raise TransientError("server closed the connection unexpectedly")
        return result

    monkeypatch.setattr(Database, "write", lose_every_other_answer)
    with closing(Database(file)) as database:
        history = SqlHistory(database, sleep=lambda _: None)
        assert history.append(make_run(1)) == history.append(make_run(1))
        version = history.store(new_bisection(size=4), expected=None)
        history.store(structs.replace(new_bisection(size=4), fruitless=1), expected=version)
        assert stored(history) == [1]
    assert next(answers) == 8


def test_wanted_a_job_without_end_by_a_locked_file_got_an_error(
    file: DatabaseUrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite has waited by itself; each of 30 attempts would wait as long again."""
    monkeypatch.setattr("perf_culprit.store.sql.database.SQLITE_WAIT_SECONDS", 0.1)
    waits: list[float] = []
    with closing(Database(file)) as database, closing(sqlite3.connect(file.database)) as other:
        history = SqlHistory(database, sleep=waits.append)
        history.append(make_run(1))
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(InfrastructureError, match="database is locked") as caught:
            history.append(make_run(2))
        assert "end it, then run again" in str(caught.value.next_step)
        assert waits == []
        other.rollback()
        history.append(make_run(2))
        assert stored(history) == [1, 2]


def test_a_server_that_is_gone_is_given_up_with_nothing_secret(
    url: DatabaseUrl, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = replace(url, port=1)
    with closing(Database(gone)) as connection:
        history = SqlHistory(connection, patience=Patience(attempts=2), sleep=lambda _: None)
        with pytest.raises(InfrastructureError, match="no run was recorded after 2 attempts") as caught:
            history.append(make_run(1))
    wrong = replace(url, password="not p@ss")
    with open_sql(wrong) as refused, pytest.raises(InfrastructureError, match="authentication failed") as denied:
        refused.commits("default")
    absent = replace(url, database="nowhere")
    with open_sql(absent) as refused, pytest.raises(InfrastructureError, match="does not exist") as unknown:
        refused.commits("default")
    for error in (caught.value, denied.value, unknown.value):
        shown = f"{error} {error!r} {url!r} {url.shown}"
        assert PASSWORD not in shown
        assert "not p@ss" not in shown
        assert error.__cause__ is None
        assert error.next_step
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    with open_sql(replace(url, password=None)) as history_by_libpq:
        assert history_by_libpq.commits("default") == {}


def test_a_damaged_or_foreign_file_is_told_and_left_alone(file: DatabaseUrl, tmp_path: Path) -> None:
    path = Path(file.database)
    path.write_bytes(b"not a database at all, but somebody's notes" * 99)
    before = path.read_bytes()
    with open_sql(file) as history:
        with pytest.raises(InfrastructureError, match="not a database"):
            history.commits("default")
        with pytest.raises(InfrastructureError, match="not a database") as caught:
            history.append(make_run(1))
    assert "name another file" in str(caught.value)
    assert path.read_bytes() == before
    nowhere = parse_database(f"sqlite:///{tmp_path / 'none' / 'history.db'}")
    with open_sql(nowhere) as history, pytest.raises(InfrastructureError, match="unable to open") as caught:
        history.append(make_run(1))
    assert "make its folder" in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"x", "bomb"])
def test_a_damaged_run_is_named_and_not_fatal(file: DatabaseUrl, content: bytes | str) -> None:
    damaged = zlib.compress(b" " * (51 << 20)) if content == "bomb" else content
    with open_sql(file) as history:
        history.append(make_run(1))
        history.append(make_run(2))
    engine = create_engine(f"sqlite:///{file.database}")
    with engine.begin() as connection:
        damage = text('UPDATE perf_culprit_runs SET content = :content WHERE "commit" = :commit')
        connection.execute(damage, {"content": damaged, "commit": COMMIT})
    engine.dispose()
    with open_sql(file) as history:
        broken, whole = history.runs("default", [COMMIT, f"{2:040x}"])
        assert not isinstance(broken, NamedRun)
        assert isinstance(whole, NamedRun)
