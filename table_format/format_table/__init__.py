"""Format tables: a directory of CSV, JSON, text, Parquet or ORC files that is a table of a catalog."""
