"""Alembic runs this: in the transaction that holds the lock (`bot.history.sql.database`)."""

from alembic import context

from bot.history.sql.tables import VERSION_TABLE

# SQLite's tables, too, are made within a transaction or not at all.
context.configure(
    connection=context.config.attributes["connection"], version_table=VERSION_TABLE, transactional_ddl=True
)
context.run_migrations()
