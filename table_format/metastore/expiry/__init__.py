"""Expiry: deletes old snapshots, changelogs and tags, and orphan files."""
