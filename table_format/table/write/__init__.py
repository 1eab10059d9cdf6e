"""The two phases of a write: rows become files, and their commit messages become a snapshot."""
