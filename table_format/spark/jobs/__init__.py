"""Maintenance as Spark jobs: compaction, sort compaction and rescaling, one task for each bucket or key range."""
