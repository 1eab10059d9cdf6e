"""Pure functions on Arrow data: hashing, sorting, merging, predicates, statistics."""
