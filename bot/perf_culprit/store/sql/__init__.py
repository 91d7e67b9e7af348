"""A history in a database (SQLite or PostgreSQL, by SQLAlchemy Core). It is imported only when one is opened."""
