"""Placement: gives rows their partition and bucket, by hash, by a hash index, or by the current place of the key."""
