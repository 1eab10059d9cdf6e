"""The schemas of a table: their storage, and schema changes."""
