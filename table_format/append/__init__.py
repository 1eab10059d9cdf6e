"""Append tables: writing files, and compacting small ones."""
