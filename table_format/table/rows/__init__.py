"""Rows as callers hand them over: Arrow, pandas or polars in, checked against the schema and cast without loss."""
