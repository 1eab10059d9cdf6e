"""Metadata of tables for the Dagster UI: plots, and the report of one write."""
