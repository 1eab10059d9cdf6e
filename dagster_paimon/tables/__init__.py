"""The selection of tables, and their state from metadata."""
