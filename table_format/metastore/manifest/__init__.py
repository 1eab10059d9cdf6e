"""Manifests, manifest lists and index manifests: written, read, replayed and merged."""
