"""Runs, accepted changes and bisections in a database. A write is one transaction: it is stored whole or not at all.

A row is added if its key is missing; a bisection is replaced if its version is the expected one. So repeating a write
whose answer was lost finds that it is done.
"""

import hashlib
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any, Final, TypeVar, Unpack

from sqlalchemy import Connection, Table, delete, select, update
from sqlalchemy.dialects import postgresql, sqlite

from perf_culprit.config.database_url import DatabaseUrl
from perf_culprit.errors import InfrastructureError
from perf_culprit.git.objects import TreeEntry
from perf_culprit.model.artifact_limits import ARTIFACT_LIMITS
from perf_culprit.model.bisection_files import decode_stored, encode_stored
from perf_culprit.model.dispatch import Bisection
from perf_culprit.model.finding import Acceptance, encode_acceptance
from perf_culprit.model.run import Run
from perf_culprit.store.branch_files import (
    BisectionConflictError,
    acceptance_path,
    bisection_path,
    readable,
    superfluous,
)
from perf_culprit.store.protocol import LoadedBisection, Options, RunReader, new_run_file
from perf_culprit.store.retention import Retention
from perf_culprit.store.run_names import RunFile, read_names, stored_key, suite_slug
from perf_culprit.store.sql.database import (
    ACCEPTANCES_TABLE,
    AS_BYTES,
    BISECTIONS_TABLE,
    RUNS_TABLE,
    TABLES,
    Database,
    TransientError,
)

_T = TypeVar("_T")

INSERTS: Final[Mapping[str, Callable[[Table], Any]]] = {"postgresql": postgresql.insert, "sqlite": sqlite.insert}


class SqlHistory(RunReader):
    """A whole history in `database`. Only `retention`'s limits per file apply; rows are never compacted or dropped."""

    def __init__(self, database: Database, **options: Unpack[Options]) -> None:
        super().__init__(**options)
        self._database = database
        self._seen: dict[str, tuple[RunFile, ...]] = {}
        self._expected: dict[str, str] = {}

    @property
    def place(self) -> str:
        return self._database.place

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(file.path for files in self._seen.values() for file in files)

    def expect(self, names: Iterable[str]) -> None:
        self._expected |= {key: name for name in names if (key := stored_key(name)) is not None}

    def suites(self) -> frozenset[str]:
        query = select(RUNS_TABLE.c.suite).distinct()
        return self._read_by(lambda connection: frozenset(connection.scalars(query)), empty=frozenset())

    def append_all(self, runs: Sequence[Run]) -> tuple[str, ...]:
        entries = [(file.path, content) for file, content in (new_run_file(run, self._retention) for run in runs)]
        keys = [str(stored_key(path)) for path, _ in entries]
        self.expect(self.names)

        def append(connection: Connection) -> dict[str, str]:
            _add(connection, entries)
            suites = {path.split("/")[1] for path in (*self._expected.values(), *dict(entries))}
            query = select(RUNS_TABLE.c.key, RUNS_TABLE.c.path).where(RUNS_TABLE.c.suite.in_(suites))
            return {row.key: row.path for row in connection.execute(query)}

        stored = self._write(append, failure="no run was recorded")
        self._lost |= {path: None for key, path in self._expected.items() if key not in stored}
        self._expected.clear()
        self._seen.clear()
        return tuple(stored[key] for key in keys)

    def accepted(self, suite: str) -> tuple[Acceptance, ...]:
        query = select(ACCEPTANCES_TABLE.c.path, ACCEPTANCES_TABLE.c.content).where(
            ACCEPTANCES_TABLE.c.suite == suite_slug(suite)
        )
        query = query.order_by(ACCEPTANCES_TABLE.c.path).limit(ARTIFACT_LIMITS.acceptances)
        rows: Sequence[Any] = self._read_by(lambda connection: connection.execute(query).all(), empty=())
        return readable(suite, ((path, self._unpacked(content)) for path, content in rows))

    def accept(self, acceptances: Sequence[Acceptance]) -> bool:
        entries = [(acceptance_path(acceptance), encode_acceptance(acceptance)) for acceptance in acceptances]
        return self._write(lambda connection: _add(connection, entries), failure="the acceptance was not stored") > 0

    def load(self, bisection_id: str) -> LoadedBisection | None:
        path = bisection_path(bisection_id)
        query = select(BISECTIONS_TABLE.c.version, BISECTIONS_TABLE.c.content).where(BISECTIONS_TABLE.c.key == path)
        row = self._read_by(lambda connection: connection.execute(query).one_or_none(), empty=None)
        if row is None:
            return None
        bisection = decode_stored(self._unpacked(row.content), place=f"{self.place}: {path}")
        return LoadedBisection(bisection=bisection, version=row.version)

    def store(self, bisection: Bisection, *, expected: str | None) -> str:
        path, content = bisection_path(bisection.id), encode_stored(bisection)
        row = _row(path, content)

        def replace(connection: Connection) -> None:
            if expected is None:
                changed = _add(connection, [(path, content)])
            else:
                there = (BISECTIONS_TABLE.c.key == path) & (BISECTIONS_TABLE.c.version == expected)
                changed = connection.execute(update(BISECTIONS_TABLE).where(there).values(row)).rowcount
            version = connection.scalar(select(BISECTIONS_TABLE.c.version).where(BISECTIONS_TABLE.c.key == path))
            if not changed and version != row["version"]:
                raise BisectionConflictError(is_there=version is not None, place=f"{self.place}: {path}")
            if old := superfluous(connection.scalars(select(BISECTIONS_TABLE.c.path)), keep=path):
                connection.execute(delete(BISECTIONS_TABLE).where(BISECTIONS_TABLE.c.path.in_(old)))

        self._write(replace, failure="the bisection was not stored")
        return str(row["version"])

    def paths(self) -> tuple[str, ...]:
        def listed(connection: Connection) -> tuple[str, ...]:
            paths = (path for table in TABLES.values() for path in connection.scalars(select(table.c.path)))
            return tuple(filter(stored_key, paths))

        return self._read_by(listed, empty=())

    def contents(self, paths: Sequence[str]) -> tuple[bytes, ...]:
        keys = {path: stored_key(path) for path in paths}

        def read(connection: Connection) -> dict[str, bytes]:
            return {
                path: content
                for table in TABLES.values()
                for path, content in connection.execute(
                    select(table.c.path, table.c.content).where(table.c.key.in_(keys.values())),
                    execution_options={AS_BYTES: True},
                )
            }

        contents: Mapping[str, bytes] = self._read_by(read, empty={})
        return tuple(self._unpacked(contents.get(path, b"")) for path in paths)

    def adopt(self, entries: Sequence[tuple[str, bytes]]) -> None:
        self._write(lambda connection: _add(connection, entries), failure="nothing was copied")
        self._seen.clear()

    def _suite_files(self, suite: str) -> Sequence[RunFile]:
        slug = suite_slug(suite)
        if slug not in self._seen:
            query = select(RUNS_TABLE.c.path).where(RUNS_TABLE.c.suite == slug)
            paths: Sequence[str] = self._read_by(lambda connection: connection.scalars(query).all(), empty=())
            self._seen[slug] = read_names(TreeEntry(path=path, blob="") for path in paths)
        return self._seen[slug]

    def _read(self, files: Sequence[RunFile]) -> Sequence[bytes]:
        return self.contents([file.path for file in files])

    def _unpacked(self, content: bytes) -> bytes:
        """Decompress the content. Empty if it is damaged, or larger than anything that this program stores."""
        limit = self._retention.file_bytes
        unpacking = zlib.decompressobj()
        try:
            data = unpacking.decompress(content, limit)
        except zlib.error:
            return b""
        return data if unpacking.eof else b""

    def _read_by(self, action: Callable[[Connection], _T], *, empty: _T) -> _T:
        return self._patiently(
            lambda: self._database.read(action, empty=empty), failure="the history could not be read", writes=False
        )

    def _write(self, action: Callable[[Connection], _T], *, failure: str) -> _T:
        return self._patiently(lambda: self._database.write(action), failure=failure)

    def _is_transient(self, error: InfrastructureError) -> bool:
        return isinstance(error, TransientError)


def _add(connection: Connection, entries: Iterable[tuple[str, bytes]]) -> int:
    """Add the entries whose keys are missing, and return their number."""
    rows: dict[str, list[dict[str, object]]] = {}
    for path, content in entries:
        rows.setdefault(path.partition("/")[0], []).append(_row(path, content))
    added = 0
    for kind, values in rows.items():
        table = TABLES[kind]
        insert = INSERTS[connection.dialect.name](table).on_conflict_do_nothing().returning(table.c.key)
        added += len(connection.scalars(insert, values).all())
    return added


def _row(path: str, content: bytes) -> dict[str, object]:
    parts = path.split("/")
    packed = zlib.compress(content)
    if len(parts) == 2:
        version = hashlib.sha256(content).hexdigest()[:40]
        return {"key": path, "path": path, "version": version, "content": packed}
    return {"key": stored_key(path), "path": path, "suite": parts[1], "commit": parts[2], "content": packed}


def prepare_tables(url: DatabaseUrl) -> bool:
    """Create or update the tables. False if they were current."""
    with closing(Database(url)) as database:
        return database.prepare()


@contextmanager
def open_database(url: DatabaseUrl, *, retention: Retention | None = None) -> Iterator[SqlHistory]:
    with closing(Database(url)) as database:
        yield SqlHistory(database, retention=retention)
