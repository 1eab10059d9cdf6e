"""Which tables are meant, and what their metadata says of their state."""
