"""Writes a DataFrame to a table: rows are shuffled to the tasks of their buckets, which write the files."""
