"""Alembic's environment, run in the transaction that holds the lock (`perf_culprit.store.sql.database`)."""

from alembic import context

from perf_culprit.store.sql.database import VERSION_TABLE

# SQLite's tables are also created within a transaction or not at all.
context.configure(
    connection=context.config.attributes["connection"], version_table=VERSION_TABLE, transactional_ddl=True
)
context.run_migrations()
