"""Finds the files of a snapshot that a read needs, with pruning by partition, bucket, level and statistics."""
