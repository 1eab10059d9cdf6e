"""The LSM tree of a bucket: sorted runs, merge read, write buffer, compaction, lookup, changelogs."""
