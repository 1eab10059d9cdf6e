"""Maintenance of a table: compaction, sorting, rescaling, statistics, tags, branches, consumers, cleaning."""
