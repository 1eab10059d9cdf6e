"""Codecs that convert between bytes of the format and facts of the model. Pure."""
