"""A report and its renderings; nothing here decides."""
