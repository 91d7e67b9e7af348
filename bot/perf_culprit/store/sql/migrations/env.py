"""Alembic runs this: in the transaction that holds the lock (`perf_culprit.store.sql.database`)."""

from alembic import context

from perf_culprit.store.sql.database import VERSION_TABLE

# SQLite's tables, too, are made within a transaction or not at all.
context.configure(
    connection=context.config.attributes["connection"], version_table=VERSION_TABLE, transactional_ddl=True
)
context.run_migrations()
