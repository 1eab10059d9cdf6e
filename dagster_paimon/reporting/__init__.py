"""What the Dagster UI shows of a table: metadata, plots, and the report of one write."""
