"""Arrow in, Arrow out: hashing, sorting, merging, predicates, statistics. Pure."""
