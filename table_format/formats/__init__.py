"""Data files: Parquet, ORC and Avro, read in the current schema by field id."""
