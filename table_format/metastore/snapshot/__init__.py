"""Snapshots, and the changelogs that outlive them."""
