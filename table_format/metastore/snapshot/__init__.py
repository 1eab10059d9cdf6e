"""Snapshots, and changelogs that outlive them."""
