"""Which files of a snapshot a read needs: manifests and entries pruned by partition, bucket, level and statistics."""
