"""Changes of the history itself: branches, fast-forward, rollback, tags by period."""
