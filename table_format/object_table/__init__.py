"""Object tables: tables whose rows are the files below a location (Java ``ObjectTable`` of release 1.0)."""
