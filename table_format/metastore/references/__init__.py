"""What keeps a snapshot readable: tags and consumers, and the files that a snapshot refers to."""
