"""What may be deleted, and its deletion: snapshots, changelogs, tags, and files that nothing reaches."""
