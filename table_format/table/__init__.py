"""Tables: scans, writes, commits and maintenance."""
