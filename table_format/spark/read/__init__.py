"""A table as a DataFrame: Spark's Parquet reader reads files that need no merge, this library reads the others."""
