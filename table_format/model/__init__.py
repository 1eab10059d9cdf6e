"""Facts of the format: frozen values that use neither I/O nor the clock, and only check their own consistency."""
