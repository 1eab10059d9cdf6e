"""Facts of the format: frozen values without I/O, clock or behaviour beyond their own consistency."""
