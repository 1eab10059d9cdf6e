"""Bytes of the format and facts of the model, one into the other. Pure."""
