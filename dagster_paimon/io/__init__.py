"""Assets as tables: writes the frame of a step in one commit, and reads inputs."""
