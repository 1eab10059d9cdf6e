"""The commit: proposals, conflict checks, the attempt loop, and the link to the earlier history."""
