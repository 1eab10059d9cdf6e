"""A table as a DataFrame: by Spark's own Parquet reader where nothing has to be merged, by our merge elsewhere."""
