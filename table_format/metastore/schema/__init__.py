"""The schemas of a table: stored, numbered without gap, and changed."""
