"""References: tags and consumers, which keep snapshots readable, and the files to which a snapshot refers."""
