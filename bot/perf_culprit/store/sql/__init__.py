"""A history in a database: SQLite's file or PostgreSQL, by SQLAlchemy Core; loaded when one is opened."""
