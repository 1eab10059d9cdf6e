"""The world of files: one protocol, its stores, and the only maker of paths."""
