"""Input rows: Arrow, pandas or polars, checked against the schema and cast without loss."""
