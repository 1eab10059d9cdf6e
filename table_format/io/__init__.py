"""Files: one protocol, its stores, and the only module that makes paths."""
