"""Changes of the history itself: branches, fast-forward, rollback, automatic tags."""
