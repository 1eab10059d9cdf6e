"""Which partition and bucket a row goes to: by hash, by a hash index, or by where its key lies now."""
