"""A table as one uses it: scans, writes, commits and maintenance."""
