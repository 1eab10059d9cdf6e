"""Metadata of a table: snapshots, schemas, manifests, scans, commits, history and expiry."""
