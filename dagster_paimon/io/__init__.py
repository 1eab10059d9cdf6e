"""Assets as tables: how a frame of a step becomes one commit, and how an input is read."""
